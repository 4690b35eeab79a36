//! Opening a device with its probes: the GPU, or the simulator where there is none or where it is asked for.

use super::Failure;
use super::header::header;
use crate::cli::{DEFAULT_PROFILE, DeviceArgs, DeviceChoice, EXIT_NO_DEVICE, EXIT_USAGE};
use crate::clock::Clock;
use crate::device::cuda::{CudaDevice, GpuChoice};
use crate::device::{DRIVER_HANGS, Device, DeviceError, Faulty, MemoryFree, Overdue, Rule, STILL_SIMULATES, Watchdog};
use crate::event::{Body, Can, Event, Header, Level, Notice, Origin, ProbeInfo, TraceLevel};
use crate::probe::{Probe, Sampler, Tracer, host, nvml, pagemap, uvm};
use crate::sim::{self, Simulation};
use crate::source::{Live, Sink};
use crate::units::Stamp;
use crate::workload::Library;

/// A device that is ready to run, and what keeps its probes going.
pub(super) struct Opened {
    pub live: Live,
    pub header: Header,
    /// Memory that was free before anything was allocated; `None` if the device did not say.
    pub free: Option<MemoryFree>,
    /// Sampler threads: they end when this is dropped.
    pub samplers: Samplers,
    /// Whether a call into the driver does not return.
    pub overdue: Overdue,
}

/// Probes that run on threads of their own.
#[derive(Default)]
pub(super) struct Samplers {
    nvml: Option<nvml::NvmlProbe>,
    host: Option<Sampler>,
    pagemap: Option<pagemap::PagemapProbe>,
}

impl Samplers {
    fn start(&mut self, ranges: &pagemap::Ranges, probes: &mut Vec<ProbeInfo>, clock: Clock, sink: &Sink) {
        let host = host::HostProbe::new();
        probes.push(host.info());
        self.host = Sampler::start("umtop-host", host, clock, sink.emitter()).ok();
        match pagemap::PagemapProbe::start(ranges.clone(), clock, sink.emitter()) {
            Ok(probe) => {
                probes.push(pagemap::info());
                self.pagemap = Some(probe);
            }
            Err(error) => warn(sink, "pagemap", format!("/proc/self/pagemap cannot be read: {error}")),
        }
    }
}

/// Which probes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probing {
    /// All of them.
    All,
    /// The driver's events and counters only. For figures that nobody draws: on an H200 a prefetch takes up to 4 % longer
    /// while page tables and NVML are polled beside it.
    Driver,
}

/// Opens what the flags say. Probes start to send to the sink, which holds their events back until the header.
pub(super) fn open(args: &DeviceArgs, probing: Probing, library: Library, sink: &Sink) -> Result<Opened, Failure> {
    let mut opened = unwatched(args, probing, library, sink)?;
    let simulated = matches!(opened.header.origin, Origin::Simulated { .. });
    let meaning = if simulated { STILL_SIMULATES } else { DRIVER_HANGS };
    let (device, overdue) = Watchdog::new(opened.live.device, args.watchdog, meaning, sink.emitter())
        .map_err(|error| Failure::failed(format!("cannot start the watchdog's thread: {error}")))?;
    opened.live.device = Box::new(device);
    opened.overdue = overdue;
    Ok(opened)
}

fn unwatched(args: &DeviceArgs, probing: Probing, library: Library, sink: &Sink) -> Result<Opened, Failure> {
    let choice = match &args.gpu {
        Some(text) => text.parse::<GpuChoice>().map_err(|e| Failure::new(EXIT_USAGE, e))?,
        None => GpuChoice::default(),
    };
    let allow = args.allow_oversubscription;
    if let DeviceChoice::Sim(profile) = &args.device {
        // What was set by hand comes first, so that a narrow picture says it too.
        let set = args.sim_param.iter().map(|text| format!("{text}, ")).collect::<String>();
        let faults = args.fault.iter().map(|text| format!("fault {text}, ")).collect::<String>();
        let reason = format!("{faults}{set}chosen with --device sim");
        let rules = args.fault.iter().map(|text| text.parse()).collect::<Result<_, _>>();
        let rules = rules.map_err(|error| Failure::new(EXIT_USAGE, format!("--fault {error}")))?;
        return simulator(profile, &args.sim_param, rules, &reason, library, allow);
    }
    if !args.fault.is_empty() {
        return Err(Failure::new(EXIT_USAGE, "--fault is for the simulator: add --device sim"));
    }
    // A parameter that would silently have no effect is a mistake.
    if !args.sim_param.is_empty() {
        let line =
            "--sim-param is for the simulated driver: add --device sim, or set the parameter of the nvidia-uvm module";
        return Err(Failure::new(EXIT_USAGE, line));
    }
    // Who names a GPU wants that GPU, not a simulation of another.
    let required = args.device == DeviceChoice::Cuda || args.gpu.is_some();
    match gpu(&choice, probing, library.clone(), allow, sink) {
        Ok(opened) => Ok(opened),
        Err(error) if required => Err(Failure::new(EXIT_NO_DEVICE, error)),
        Err(error) => simulator(DEFAULT_PROFILE, &[], Vec::new(), &error.to_string(), library, allow),
    }
}

fn gpu(
    choice: &GpuChoice,
    probing: Probing,
    library: Library,
    allow: bool,
    sink: &Sink,
) -> Result<Opened, DeviceError> {
    let clock = Clock::start();
    let mut device = CudaDevice::open(clock, choice)?;
    let (mut gpu, mut second) = (device.gpu_info(), device.second_gpu());
    let free = device.memory().ok();
    let mut probes = Vec::new();
    let ranges = pagemap::Ranges::default();
    let tracer = match uvm::attach(clock, TraceLevel::Off, ranges.tap(sink.emitter())) {
        Ok(tracer) => {
            tracer.name_gpus(device.gpu_uuids());
            device.set_trace(Can::Yes);
            probes.push(uvm::info());
            Some(Box::new(tracer) as Box<dyn Tracer>)
        }
        Err(error) => {
            device.set_trace(Can::No(error.to_string()));
            warn(sink, "uvm", error.to_string());
            None
        }
    };
    let mut samplers = Samplers::default();
    let other = second.as_ref().map(|second| second.uuid.as_str());
    match nvml::start(&gpu.uuid, other, clock, sink.emitter()) {
        Ok(nvml) => {
            if let (Some(second), Some(carrier)) = (&mut second, nvml.carrier()) {
                second.carrier = carrier.clone();
            }
            gpu.link_max = nvml.link_max();
            if probing == Probing::All {
                probes.extend(nvml.info());
                samplers.nvml = Some(nvml);
            }
        }
        Err(error) => warn(sink, "nvml", error.to_string()),
    }
    if probing == Probing::All {
        samplers.start(&ranges, &mut probes, clock, sink);
    }
    let header = header(Origin::Measured, (gpu, second), &device, uvm::module_parameters(), probes);
    let library = fitted(library, free.as_ref());
    let told: Box<dyn FnMut(&Body) + Send> = Box::new(move |body| ranges.note(body));
    let live = Live {
        device: Box::new(device),
        tracer,
        stepped: Vec::new(),
        told: Some(told),
        library,
        allow_oversubscription: allow,
    };
    Ok(Opened { live, header, free, samplers, overdue: Overdue::default() })
}

fn simulator(
    profile: &str,
    params: &[String],
    faults: Vec<Rule>,
    reason: &str,
    library: Library,
    allow: bool,
) -> Result<Opened, Failure> {
    let mut simulation = sim::open_with(profile, params).map_err(|e| Failure::new(EXIT_USAGE, e))?;
    let free = simulation.device.memory().ok();
    let (mut live, mut header) = simulated(simulation, reason, fitted(library, free.as_ref()));
    live.allow_oversubscription = allow;
    if !faults.is_empty() {
        live.device = Box::new(Faulty::new(live.device, faults));
        header.caps = live.device.caps().clone();
    }
    Ok(Opened { live, header, free, samplers: Samplers::default(), overdue: Overdue::default() })
}

/// A live source over a simulated machine, with its header; `reason` says why the simulator runs.
pub fn simulated(simulation: Simulation, reason: &str, library: Library) -> (Live, Header) {
    let probes = simulation.probes.iter().map(|p| p.info()).collect();
    let origin = Origin::Simulated { profile: simulation.profile_name, reason: reason.to_owned() };
    let header = header(origin, (simulation.gpu, simulation.second_gpu), &simulation.device, simulation.params, probes);
    let live = Live {
        device: Box::new(simulation.device),
        tracer: Some(Box::new(simulation.tracer)),
        stepped: simulation.probes,
        told: None,
        library,
        allow_oversubscription: false,
    };
    (live, header)
}

/// Footprints that are a share of the GPU's memory, now that it is known.
fn fitted(mut library: Library, free: Option<&MemoryFree>) -> Library {
    if let Some(free) = free {
        library.fit_to(free.vram_total);
    }
    library
}

pub(super) fn warn(sink: &Sink, source: &str, text: String) {
    let notice = Notice { level: Level::Warning, source: source.to_owned(), text };
    sink.send(Event { at: Stamp(0), body: Body::Notice(notice) });
}
