//! The host by sysinfo: memory, processor use, and umtop's own.

use super::Probe;
use super::threads::{Spent, Threads};
use crate::event::{Body, Event, HostInfo, Metric, ProbeInfo, Reading, Sample, Why};
use crate::units::{Bytes, Nanos, Stamp};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Period of polling; processor use is a mean over it.
const PERIOD: Nanos = Nanos::millis(1_000);
/// Polls that come sooner than this after another are passed over: the simulator's clock may move by microseconds.
const LEAST: Nanos = Nanos::millis(900);
const METRICS: &[Metric] = &[Metric::HostAvailable, Metric::OwnMemory, Metric::HostCpu, Metric::OwnCpu];
const THREADS: &[Metric] = &[Metric::ScreenCpu, Metric::DriverCpu, Metric::ProbesCpu];

/// Reads host figures.
pub struct HostProbe {
    system: Option<System>,
    own: Option<Pid>,
    threads: Threads,
    before: Option<Stamp>,
    polled: Option<Stamp>,
}

impl HostProbe {
    /// A probe whose first poll gives memory only: processor use is a difference.
    pub fn new() -> Self {
        Self {
            system: System::new().ok(),
            own: sysinfo::get_current_pid().ok(),
            threads: Threads::default(),
            before: None,
            polled: None,
        }
    }
}

/// What umtop's threads spent, each with its metric.
fn shares(spent: Option<Spent>, over: Nanos) -> Vec<(Metric, Reading)> {
    let Some(spent) = spent else {
        let absent = Reading::Absent(Why::NotSupported("this kernel has no /proc/self/task/*/schedstat".to_owned()));
        return THREADS.iter().map(|metric| (*metric, absent.clone())).collect();
    };
    let percent = |ns: Nanos| Reading::measured(100.0 * ns.0 as f64 / over.0.max(1) as f64);
    let driver = spent
        .driver
        .map_or_else(|| Reading::Absent(Why::NotSupported("no driver's queue is read here".to_owned())), percent);
    THREADS.iter().copied().zip([percent(spent.screen), driver, percent(spent.other)]).collect()
}

/// A figure of umtop itself.
fn own(system: &System, own: Option<Pid>, pick: fn(&sysinfo::Process) -> f64) -> Reading {
    match own.and_then(|pid| system.process(pid)) {
        Some(process) => Reading::measured(pick(process)),
        None => Reading::Absent(Why::NotSupported("/proc does not show umtop itself".to_owned())),
    }
}

impl Default for HostProbe {
    fn default() -> Self {
        Self::new()
    }
}

impl Probe for HostProbe {
    fn info(&self) -> ProbeInfo {
        ProbeInfo {
            name: "host".to_owned(),
            method: "sysinfo (/proc), and schedstat of umtop's own threads".to_owned(),
            period: PERIOD,
            note: "umtop's own figures include the workload that it runs".to_owned(),
            cost: String::new(),
        }
    }

    fn poll(&mut self, now: Stamp, out: &mut Vec<Event>) {
        if self.polled.is_some_and(|polled| now.since(polled) < LEAST) {
            return;
        }
        self.polled = Some(now);
        let Some(system) = &mut self.system else {
            let absent = Reading::Absent(Why::NotSupported("sysinfo does not know this system".to_owned()));
            let all = METRICS.iter().chain(THREADS);
            out.push(sample(now, None, all.map(|metric| (*metric, absent.clone())).collect()));
            return;
        };
        system.refresh_memory();
        system.refresh_cpu_usage();
        let kind = ProcessRefreshKind::nothing().with_cpu().with_memory();
        if let Some(pid) = self.own {
            system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
        }
        let available = match system.available_memory() {
            0 => Reading::Absent(Why::NotSupported("/proc/meminfo has no MemAvailable".to_owned())),
            bytes => Reading::measured(bytes as f64),
        };
        let own_memory = own(system, self.own, |process| process.memory() as f64);
        out.push(sample(now, None, vec![(Metric::HostAvailable, available), (Metric::OwnMemory, own_memory)]));
        // Looked at with the first poll too, so that the second has a difference.
        let threads = self.threads.look();
        if let Some(before) = self.before.replace(now) {
            let host = Reading::measured(f64::from(system.global_cpu_usage()));
            let own = own(system, self.own, |process| f64::from(process.cpu_usage()));
            let over = now.since(before);
            let mut readings = vec![(Metric::HostCpu, host), (Metric::OwnCpu, own)];
            readings.extend(shares(threads, over));
            out.push(sample(now, Some(over), readings));
        }
    }
}

fn sample(at: Stamp, window: Option<Nanos>, readings: Vec<(Metric, Reading)>) -> Event {
    Event { at, body: Body::Sample(Sample { source: "host".to_owned(), window, readings }) }
}

/// Who the host is; what sysinfo does not know is "unknown" or 0.
pub fn host_info() -> HostInfo {
    let unknown = || "unknown".to_owned();
    let kernel = System::kernel_long_version().unwrap_or_else(|_| unknown());
    let Ok(mut system) = System::new() else {
        return HostInfo { kernel, cpu: unknown(), cores: 0, memory: Bytes(0) };
    };
    system.refresh_memory();
    system.refresh_cpu_all();
    let cpu = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).filter(|brand| !brand.is_empty());
    HostInfo {
        kernel,
        cpu: cpu.unwrap_or_else(unknown),
        cores: u32::try_from(system.cpus().len()).unwrap_or(u32::MAX),
        memory: Bytes(system.total_memory()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(events: &[Event]) -> Vec<(Metric, Option<f64>)> {
        let samples = events.iter().map(|event| match &event.body {
            Body::Sample(sample) => sample,
            other => panic!("{other:?} from the host probe"),
        });
        samples.flat_map(|s| &s.readings).map(|(metric, reading)| (*metric, reading.value())).collect()
    }

    #[test]
    fn processor_use_comes_with_the_second_poll() {
        let mut probe = HostProbe::new();
        let mut out = Vec::new();
        probe.poll(Stamp(0), &mut out);
        let first = readings(&out);
        assert_eq!(first.iter().map(|r| r.0).collect::<Vec<_>>(), [Metric::HostAvailable, Metric::OwnMemory]);
        assert!(first.iter().all(|(_, value)| value.is_some_and(|v| v > 0.0)), "{first:?}");
        out.clear();
        probe.poll(Stamp(1_000_000_000), &mut out);
        let second = readings(&out);
        assert_eq!(second.len(), 7);
        assert!(second[2].1.is_some_and(|cpu| (0.0..=100.0).contains(&cpu)), "{second:?}");
        assert_eq!(second[4..].iter().map(|r| r.0).collect::<Vec<_>>(), THREADS);
    }

    #[test]
    fn a_thread_s_share_is_of_one_core_and_what_does_not_run_has_none() {
        let spent = Spent { screen: Nanos::millis(20), driver: None, other: Nanos::millis(5) };
        let read = |spent| shares(spent, Nanos::millis(1_000)).iter().map(|r| r.1.value()).collect::<Vec<_>>();
        assert_eq!(read(Some(spent)), [Some(2.0), None, Some(0.5)]);
        assert_eq!(read(None), [None; 3]);
    }

    #[test]
    fn the_host_is_known() {
        let host = host_info();
        assert!(host.cores > 0 && host.memory.0 > 1 << 20 && !host.cpu.is_empty() && !host.kernel.is_empty());
    }
}
