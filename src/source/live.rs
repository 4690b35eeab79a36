//! The live source: a device that runs the workload, and the handle on its tracing.
//!
//! Probes of real hardware run on their own threads and send by themselves. Probes of a simulated machine live on its
//! virtual clock: they are polled here after every step, and their events are paced to the wall where somebody watches.

mod bench;
mod interactive;
mod lane;
mod link;

use super::batch::Batch;
use super::pace::Pace;
use super::sink::Sink;
use crate::device::{Buffer, Device, DeviceError, Recovery};
use crate::event::{
    Body, Check, Event, Header, Level, MemoryKind, Notice, Pass, Range, RunEvent, RunId, RunStart, Settings,
    TraceLevel, UvmTotals,
};
use crate::probe::{Probe, Tracer};
use crate::units::Stamp;
use crate::workload::{Library, PassError, Plan, check_footprint, plan, vram_room};
use lane::{Lane, totals_between};

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Run these settings until others are asked for.
    Interactive(Settings),
    /// The same, but only once they (or others) are asked for.
    OnRequest(Settings),
    /// Measure these and end.
    Batch(Batch),
}

/// Told of what the worker says, from its thread.
pub type Told = Box<dyn FnMut(&Body) + Send>;

/// A device with everything that observes it.
pub struct Live {
    /// Runs the steps.
    pub device: Box<dyn Device>,
    /// Traces its memory; `None` where the tools device cannot be used.
    pub tracer: Option<Box<dyn Tracer>>,
    /// Probes on the device's own (virtual) clock; empty on real hardware.
    pub stepped: Vec<Box<dyn Probe>>,
    /// Told of every event of the worker's before it is sent; a probe learns here which ranges there are.
    pub told: Option<Told>,
    /// The workloads.
    pub library: Library,
    /// Whether managed memory may exceed the card's.
    pub allow_oversubscription: bool,
}

impl Live {
    /// Runs until the work is done or the user stops.
    pub fn run(self, header: Header, work: Work, sink: Sink, pace: Pace) {
        let mut worker = Worker { live: self, sink, pace, lanes: Vec::new(), next_run: 1 };
        worker.emit(Body::Header(Box::new(header)));
        match work {
            Work::Interactive(settings) => worker.interact(settings, true),
            Work::OnRequest(settings) => worker.interact(settings, false),
            Work::Batch(batch) => worker.measure_all(&batch),
        }
        worker.drop_lanes();
    }
}

/// The state of the worker thread.
struct Worker {
    live: Live,
    sink: Sink,
    pace: Pace,
    /// One for each set of buffers that is alive.
    lanes: Vec<Lane>,
    next_run: u32,
}

impl Worker {
    fn emit(&mut self, body: Body) {
        let at = self.live.device.now();
        if let Some(told) = &mut self.live.told {
            told(&body);
        }
        self.sink.send(Event { at, body });
    }

    fn say(&mut self, level: Level, source: &str, text: String) {
        self.emit(Body::Notice(Notice { level, source: source.to_owned(), text }));
    }

    /// The plan of settings.
    fn plan(&self, settings: &Settings) -> Result<Plan, Unready> {
        let workload = self.live.library.find(&settings.workload).map_err(Unready::Refused)?;
        plan(workload, settings, self.live.device.caps()).map_err(|reasons| Unready::Refused(reasons.join("; ")))
    }

    /// Sees to it that a lane with fitting buffers exists.
    fn prepare(&mut self, plan: &Plan, fits: impl Fn(&Lane, &Plan) -> bool) -> Result<usize, Unready> {
        if let Some(lane) = self.lanes.iter().position(|l| fits(l, plan)) {
            return Ok(lane);
        }
        let settings = &plan.settings;
        let free = self.live.device.memory()?;
        check_footprint(settings.size, settings.memory, &free, self.live.allow_oversubscription)
            .map_err(|e| Unready::Refused(e.to_string()))?;
        let buffers = self.allocate(plan)?;
        let mut lane = Lane::new(buffers);
        lane.crowded = settings.memory == MemoryKind::Managed && settings.size > vram_room(&free);
        let advised = lane.advise(self.live.device.as_mut(), settings.advice);
        self.lanes.push(lane);
        advised?;
        Ok(self.lanes.len() - 1)
    }

    /// All of a plan's buffers, or none.
    fn allocate(&mut self, plan: &Plan) -> Result<Vec<Buffer>, DeviceError> {
        let settings = &plan.settings;
        let arrays = self.live.library.find(&settings.workload).map(|w| w.memory.arrays.clone()).unwrap_or_default();
        let mut buffers = Vec::with_capacity(plan.buffers);
        for i in 0..plan.buffers {
            match self.live.device.alloc(settings.memory, plan.buffer_bytes) {
                Ok(buffer) => buffers.push(buffer),
                Err(error) => {
                    self.give_back(buffers);
                    return Err(error);
                }
            }
            let label = match arrays.get(i) {
                Some(name) => format!("{} {name}", settings.workload),
                None if plan.buffers == 1 => format!("{} buffer", settings.workload),
                None => format!("{} {}", settings.workload, i + 1),
            };
            let (bytes, memory) = (plan.buffer_bytes, settings.memory);
            self.emit(Body::Allocated(Range { address: buffers[i].address, bytes, memory, label }));
        }
        Ok(buffers)
    }

    /// Frees buffers. A device that has failed may refuse; then the process's end frees them.
    fn give_back(&mut self, buffers: Vec<Buffer>) {
        for buffer in buffers {
            if let Err(error) = self.live.device.free(buffer) {
                self.say(Level::Warning, "cuda", format!("giving back {}: {error}", buffer.bytes));
            }
            self.emit(Body::Freed { address: buffer.address });
        }
    }

    /// Gives a lane managed memory that nobody has touched. The old goes last: until then the new has no pages, and a lane
    /// always has buffers.
    fn renew(&mut self, lane: usize, plan: &Plan) -> Result<(), DeviceError> {
        let buffers = self.allocate(plan)?;
        let mut renewed = Lane::new(buffers);
        renewed.crowded = self.lanes[lane].crowded;
        let old = std::mem::replace(&mut self.lanes[lane], renewed).buffers();
        self.give_back(old);
        Ok(())
    }

    /// Announces a run and puts its trace level in force.
    fn start_run(&mut self, plan: &Plan, lane: usize) -> RunStart {
        let run = RunId(self.next_run);
        self.next_run += 1;
        let trace = self.set_trace(plan.settings.trace);
        let start = RunStart {
            run,
            settings: plan.settings.clone(),
            label: self
                .live
                .library
                .find(&plan.settings.workload)
                .ok()
                .and_then(|w| w.label(&plan.settings))
                .map(str::to_owned),
            trace,
            timed: plan.timed.clone(),
            expected: plan.expected.filter(|_| !self.lanes[lane].crowded),
        };
        self.emit(Body::Run(RunEvent::Started(start.clone())));
        start
    }

    fn set_trace(&mut self, level: TraceLevel) -> TraceLevel {
        let Some(tracer) = &mut self.live.tracer else { return TraceLevel::Off };
        let (now, why) = tracer.set_level(level);
        if let Some(why) = why {
            self.say(Level::Warning, "uvm", format!("trace {level} cannot be had, {now} is in force: {why}"));
        }
        now
    }

    /// Runs one pass and tells of it.
    fn pass(
        &mut self,
        lane: usize,
        plan: &Plan,
        start: &RunStart,
        index: u32,
        warmup: bool,
    ) -> Result<(), PassFailure> {
        self.emit(Body::Run(RunEvent::PassBegan { run: start.run, index }));
        if plan.fresh && plan.settings.memory == MemoryKind::Managed && self.lanes[lane].used() {
            self.renew(lane, plan).map_err(PassError::from)?;
        }
        self.lanes[lane].advise(self.live.device.as_mut(), plan.settings.advice).map_err(PassError::from)?;
        let before = self.settle();
        let Worker { live: Live { device, stepped, .. }, sink, pace, lanes, .. } = self;
        let mut observe = |device: &mut dyn Device| observe(stepped, device.now(), sink, pace);
        let result = lanes[lane].pass(device.as_mut(), plan, &mut observe)?;
        let after = self.settle();
        let uvm = before.zip(after).map(|(before, after)| totals_between(&before, &after));
        let (timed, check) = (result.time_of(&plan.timed), result.check);
        let pass = Pass { run: start.run, index, warmup, phases: result.phases, timed, uvm, check };
        self.emit(Body::Run(RunEvent::PassEnded(Box::new(pass))));
        match check {
            Some(Check { elements, wrong }) if wrong > 0 => Err(PassFailure::Wrong { wrong, elements }),
            _ => Ok(()),
        }
    }

    fn settle(&mut self) -> Option<UvmTotals> {
        self.live.tracer.as_mut().and_then(|t| t.settle())
    }

    /// Frees every buffer.
    fn drop_lanes(&mut self) {
        for lane in std::mem::take(&mut self.lanes) {
            self.give_back(lane.buffers());
        }
    }

    /// After a sticky error: all buffers are gone. Says whether the device can be used again.
    fn recover(&mut self) -> bool {
        for buffer in std::mem::take(&mut self.lanes).iter().flat_map(Lane::buffers) {
            self.emit(Body::Freed { address: buffer.address });
        }
        if let Some(tracer) = &mut self.live.tracer {
            tracer.set_level(TraceLevel::Off);
        }
        match self.live.device.recover() {
            Ok(Recovery::Verified) => {
                if let Some(Err(why)) = self.live.tracer.as_mut().map(|t| t.reattach()) {
                    self.say(Level::Warning, "uvm", format!("tracing did not come back: {why}"));
                }
                self.say(Level::Info, "cuda", "the context was reset and a known kernel ran: going on".to_owned());
                true
            }
            Ok(Recovery::RestartNeeded) => {
                self.say(
                    Level::Error,
                    "cuda",
                    "the GPU cannot be used again in this process: restart umtop".to_owned(),
                );
                false
            }
            Err(error) => {
                self.say(Level::Error, "cuda", format!("the context could not be reset ({error}): restart umtop"));
                false
            }
        }
    }
}

/// Why nothing can run; each a line for the user.
#[derive(Debug, thiserror::Error)]
enum Unready {
    /// It makes no sense here, or does not fit.
    #[error("{0}")]
    Refused(String),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Unready {
    fn sticky(&self) -> bool {
        matches!(self, Unready::Device(error) if error.sticky())
    }
}

/// Why a pass gave no number.
#[derive(Debug, thiserror::Error)]
enum PassFailure {
    #[error(transparent)]
    Pass(#[from] PassError),
    #[error("wrong result: {wrong} of {elements} elements do not hold what the kernel must have left there")]
    Wrong { wrong: u64, elements: u64 },
}

impl PassFailure {
    fn sticky(&self) -> bool {
        matches!(self, PassFailure::Pass(PassError::Device(e)) if e.sticky())
    }

    fn stopped(&self) -> bool {
        matches!(self, PassFailure::Pass(PassError::Stopped))
    }
}

/// Sends the events of stepped probes up to the device's present, each when its time has come; `false` to stop.
fn observe(stepped: &mut [Box<dyn Probe>], now: Stamp, sink: &Sink, pace: &mut Pace) -> bool {
    let mut events = Vec::new();
    stepped.iter_mut().for_each(|p| p.poll(now, &mut events));
    events.sort_by_key(|e| e.at);
    for event in events {
        if !pace.wait(event.at) {
            return false;
        }
        sink.send(event);
    }
    pace.wait(now)
}
