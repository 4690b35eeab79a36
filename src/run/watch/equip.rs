//! What runs beside the tracer: the ranges, the names, the host, and the GPU once it is known which.

use crate::clock::Clock;
use crate::event::{Body, Carrier, Event, GpuInfo, Header, Level, Notice, ProbeInfo, SecondGpu};
use crate::probe::host::HostProbe;
use crate::probe::nvml::{self, NvmlProbe};
use crate::probe::process::{ProcFs, RangesProbe, Watchlist, cards};
use crate::probe::symbols::Namer;
use crate::probe::{Emit, Probe, Sampler, uvm};
use crate::source::Sink;
use crate::source::watch::Found;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long NVML may take to say who a GPU is.
const DEADLINE: Duration = Duration::from_secs(5);

/// The probes. They end when this is dropped.
pub struct Equipment {
    clock: Clock,
    proc: ProcFs,
    sink: Sink,
    watched: Watchlist,
    namer: Option<Namer>,
    nvml: Arc<Mutex<Option<NvmlProbe>>>,
    info: Vec<ProbeInfo>,
    _ranges: Option<Sampler>,
    _host: Option<Sampler>,
}

impl Equipment {
    /// Starts what needs no GPU.
    pub fn start(proc: &ProcFs, clock: Clock, sink: &Sink) -> Self {
        let watched = Watchlist::default();
        let ranges = RangesProbe::new(proc.clone(), clock, watched.clone());
        let host = HostProbe::new();
        let traced = ProbeInfo { note: "the watched program's managed memory".to_owned(), ..uvm::info() };
        let info = vec![traced, ranges.info(), host.info()];
        Self {
            clock,
            proc: proc.clone(),
            sink: sink.clone(),
            watched,
            namer: Namer::start(proc.clone(), clock, sink.emitter()).ok(),
            nvml: Arc::default(),
            info,
            _ranges: Sampler::start("umtop-ranges", ranges, clock, sink.emitter()).ok(),
            _host: Sampler::start("umtop-host", host, clock, sink.emitter()).ok(),
        }
    }

    /// The probes that run from the start.
    pub fn info(&self) -> Vec<ProbeInfo> {
        self.info.clone()
    }

    /// Where the tracer sends: the sink, with a look for what has no name yet.
    pub fn traced(&mut self, sink: &Sink) -> Emit {
        let sink = sink.clone();
        let mut namer = self.namer.clone();
        Box::new(move |event| {
            if let (Body::Uvm(tick), Some(namer)) = (&event.body, &mut namer) {
                namer.see(tick);
            }
            sink.send(event);
        })
    }

    /// What is to be called when an address space is found or let go. `header` is the session's; it is sent again with the
    /// GPU once that is known.
    pub fn finder(&self, header: Header) -> Box<dyn FnMut(&Found) + Send> {
        let (clock, proc, sink) = (self.clock, self.proc.clone(), self.sink.clone());
        let (watched, namer, nvml) = (self.watched.clone(), self.namer.clone(), Arc::clone(&self.nvml));
        let mut header = Some(header);
        Box::new(move |found| {
            watched.set(found.pids.clone());
            if !found.pids.contains(&found.pid) {
                return;
            }
            if let Some(namer) = &namer {
                namer.meet(found.pid);
            }
            // Once: the card is the first address space's.
            let Some(header) = header.take() else { return };
            let gpu = Gpu { clock, proc: proc.clone(), sink: sink.clone(), nvml: Arc::clone(&nvml) };
            let found = found.clone();
            let started =
                std::thread::Builder::new().name("umtop-equip".to_owned()).spawn(move || gpu.find(found, header));
            if let Err(error) = started {
                say(&sink, clock, format!("cannot start the thread that asks for the GPU: {error}"));
            }
        })
    }
}

/// The search for the GPU of a program, which takes a moment and may hang: it has a thread of its own.
struct Gpu {
    clock: Clock,
    proc: ProcFs,
    sink: Sink,
    nvml: Arc<Mutex<Option<NvmlProbe>>>,
}

impl Gpu {
    fn find(self, found: Found, mut header: Header) {
        let uuids = if found.gpus.is_empty() { self.by_node(found.pid) } else { found.gpus };
        let mut gpu = match nvml::card(uuids.first().map(String::as_str), DEADLINE) {
            Ok(gpu) => gpu,
            Err(error) => return say(&self.sink, self.clock, error.to_string()),
        };
        let second = uuids.get(1).map(String::as_str);
        match nvml::start(&gpu.uuid, second, self.clock, self.sink.emitter()) {
            Ok(probe) => {
                gpu.link_max = probe.link_max().or(gpu.link_max);
                header.second_gpu = second.zip(probe.carrier()).and_then(|(uuid, carrier)| second_gpu(uuid, carrier));
                header.probes.extend(probe.info());
                *self.nvml.lock().unwrap_or_else(PoisonError::into_inner) = Some(probe);
            }
            Err(error) => say(&self.sink, self.clock, error.to_string()),
        }
        if uuids.len() > 1 {
            let text = format!("the program sees {} GPUs: PCIe and VRAM are those of {}", uuids.len(), gpu.uuid);
            say(&self.sink, self.clock, text);
        }
        header.caps.gpus = u32::try_from(uuids.len().max(1)).unwrap_or(u32::MAX);
        header.gpu = Some(gpu);
        self.sink.send(Event { at: self.clock.now(), body: Body::Header(Box::new(header)) });
    }

    /// UUIDs by the device nodes that the process holds open.
    fn by_node(&self, pid: u32) -> Vec<String> {
        let minors = self.proc.gpu_minors(pid).unwrap_or_default();
        let used = cards(&self.proc).into_iter().filter(|card| minors.contains(&card.minor));
        used.filter_map(|card| card.uuid).collect()
    }
}

/// The second GPU that the program uses; `None` if NVML does not know it.
fn second_gpu(uuid: &str, carrier: &Carrier) -> Option<SecondGpu> {
    let GpuInfo { name, uuid, pci, .. } = nvml::card(Some(uuid), DEADLINE).ok()?;
    Some(SecondGpu { name, uuid, pci, carrier: carrier.clone() })
}

fn say(sink: &Sink, clock: Clock, text: String) {
    let notice = Notice { level: Level::Warning, source: "nvml".to_owned(), text };
    sink.send(Event { at: clock.now(), body: Body::Notice(notice) });
}
