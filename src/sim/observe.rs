//! The simulated machine as something to observe: its tracer and its probes.

use super::device::Shared;
use super::windows::{PERIOD, Window};
use crate::event::{Body, Carrier, Event, Metric, ProbeInfo, Reading, Sample, TraceLevel, UvmTotals, Why};
use crate::probe::{Probe, Tracer};
use crate::units::{Nanos, Stamp};

/// The handle on the tracing of the simulated driver. It begins at level off, and every level can be had.
pub struct SimTracer {
    world: Shared,
}

impl SimTracer {
    pub(super) fn new(world: Shared) -> Self {
        Self { world }
    }
}

impl Tracer for SimTracer {
    fn level(&self) -> TraceLevel {
        self.world.lock().trace.level()
    }

    fn set_level(&mut self, level: TraceLevel) -> (TraceLevel, Option<Why>) {
        let mut world = self.world.lock();
        let now = world.now();
        world.trace.set_level(level, now);
        (level, None)
    }

    fn settle(&mut self) -> Option<UvmTotals> {
        let mut world = self.world.lock();
        if world.trace.level() != TraceLevel::Off {
            let flush = world.profile.trace.flush_us;
            world.spend(flush, Default::default());
            let now = world.now();
            world.trace.deliver(now);
        }
        world.trace.totals()
    }
}

/// What NVML would tell about the card, every 100 ms of virtual time.
pub(super) struct CardProbe {
    world: Shared,
}

impl CardProbe {
    pub(super) fn new(world: Shared) -> Self {
        Self { world }
    }

    fn events(window: &Window, total: u64, link: (u32, u32), carrier: Option<&Carrier>) -> [Event; 2] {
        let rate = |bytes: f64| Reading::measured(bytes / Nanos(window.length).seconds());
        let none = || Reading::Absent(Why::NotSupported("not simulated".to_owned()));
        let mut means = vec![(Metric::PcieHtoD, rate(window.htod)), (Metric::PcieDtoH, rate(window.dtoh))];
        if carrier == Some(&Carrier::NvLink) {
            means.extend([(Metric::NvLinkRx, rate(window.peer_in)), (Metric::NvLinkTx, rate(window.peer_out))]);
        }
        let gauges = vec![
            (Metric::VramUsed, Reading::measured(window.vram_used as f64)),
            (Metric::VramTotal, Reading::measured(total as f64)),
            (Metric::GpuBusy, Reading::measured(window.busy as f64 / window.length as f64 * 100.0)),
            (Metric::PcieGeneration, Reading::measured(f64::from(link.0))),
            (Metric::PcieWidth, Reading::measured(f64::from(link.1))),
            (Metric::Power, none()),
            (Metric::SmClock, none()),
        ];
        let at = Stamp(window.end);
        let event = |source: &str, window, readings| Event {
            at,
            body: Body::Sample(Sample { source: source.to_owned(), window, readings }),
        };
        [event("sim pcie", Some(Nanos(window.length)), means), event("sim card", None, gauges)]
    }
}

impl Probe for CardProbe {
    fn info(&self) -> ProbeInfo {
        ProbeInfo {
            name: "sim card".to_owned(),
            method: "payload over the simulated link, means over 100 ms of virtual time".to_owned(),
            period: Nanos(PERIOD),
            note: "no protocol overhead; power and clocks are not simulated".to_owned(),
            cost: String::new(),
        }
    }

    fn poll(&mut self, now: Stamp, out: &mut Vec<Event>) {
        let mut world = self.world.lock();
        let (total, link) = (world.vram_total(), (world.profile.gpu.link_generation, world.profile.gpu.link_width));
        let carrier = world.profile.second_gpu().map(|second| second.carrier);
        let windows = world.windows.take(now.0);
        drop(world);
        out.extend(windows.iter().flat_map(|window| Self::events(window, total, link, carrier.as_ref())));
    }
}

/// What the UVM tools device would tell, every 10 ms of virtual time in which something happened.
pub(super) struct UvmProbe {
    world: Shared,
}

impl UvmProbe {
    pub(super) fn new(world: Shared) -> Self {
        Self { world }
    }
}

impl Probe for UvmProbe {
    fn info(&self) -> ProbeInfo {
        ProbeInfo {
            name: "sim uvm".to_owned(),
            method: "counters and events of the simulated driver".to_owned(),
            period: Nanos::millis(10),
            note: "loses what umtop_ring_entries do not hold for 10 ms".to_owned(),
            cost: String::new(),
        }
    }

    fn poll(&mut self, now: Stamp, out: &mut Vec<Event>) {
        out.extend(self.world.lock().trace.take(now));
    }
}
