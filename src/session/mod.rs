//! The fold: everything that is known, from events alone. No clock, no I/O, nothing of the view.
//!
//! `apply` is the only way in, so the session that a recording folds to equals the live one.

mod compare;
mod facts;
mod insight;
mod link;
mod observer;
mod residency;
mod runs;
mod series;
mod story;
mod tally;
mod uvm;
mod watch;

pub use compare::{Comparison, Measure, comparable, compare};
pub use facts::{CounterMeans, EventMeans, Facts, Migration};
pub use insight::{Insight, Rule, insights};
pub use link::{LinkCeiling, link_ceiling};
pub use observer::{LevelCost, Observer, observer, observers};
pub use residency::{Block, BlockAt, Evidence, Holder, Lately, Place, RangeMap, Residency, Totals, Way};
pub use runs::{Accounted, MAX_LASTING, MAX_PASSES, MAX_RUNS, Marker, Run, Runs, difference, differences, phase_ns};
pub use series::{Point, Reading, Series};
pub use story::story;
pub use tally::{Distribution, Tally};
pub use uvm::{CAUSES, EventPoint, UvmHistory, UvmPoint};
pub use watch::{AtLevel, Site, WatchState, site_name};

use crate::event::{self, Body, Event, Header, Mapped, Metric, Notice, Proc, Range, RunEvent, Sample, Why};
use crate::units::{BLOCK, Nanos, PAGE, Stamp};
use std::collections::{BTreeMap, VecDeque};

/// Notices kept.
const MAX_NOTICES: usize = 200;

/// A gauge holds until the next reading, but no longer than this: after that it is a gap.
const GAUGE_HOLDS: Nanos = Nanos::millis(3_000);

/// Ranges whose newest page-table presence is kept. A program with more of them is shown by the first ones.
pub const MAX_MAPPED: usize = 65_536;

/// Pages of 4 KiB of a range, and how many of them the CPU maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuMapped {
    /// Mapped by the CPU.
    pub mapped: u64,
    /// In the blocks that were looked at, whole ones.
    pub pages: u64,
}

impl CpuMapped {
    fn of(mapped: &Mapped) -> Self {
        let sum = mapped.pages.iter().map(|n| u64::from(*n)).sum();
        Self { mapped: sum, pages: mapped.pages.len() as u64 * (BLOCK / PAGE) }
    }
}

/// What is known of one sampled metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// History.
    pub series: Series<Reading>,
    /// Why the newest reading is absent; `None` if it has a value.
    pub absent: Option<Why>,
    /// Probe and method of the newest reading.
    pub source: String,
    /// Window of the newest reading; `None` for a value of the moment.
    pub window: Option<Nanos>,
}

impl Sampled {
    /// The newest value.
    pub fn value(&self) -> Option<f64> {
        self.series.last().and_then(|r| r.value)
    }
}

/// Everything known about a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Who, where, with what.
    pub header: Option<Header>,
    /// Time of the newest event.
    pub now: Stamp,
    /// Sampled metrics.
    pub metrics: BTreeMap<Metric, Sampled>,
    /// What the UVM driver told.
    pub uvm: UvmHistory,
    /// Runs, passes, markers.
    pub runs: Runs,
    /// Ranges that are allocated.
    pub ranges: Vec<Range>,
    /// What the CPU's page tables said last of each range that is alive, at most [`MAX_MAPPED`] of them; [`Self::residency`]
    /// has it block by block.
    pub mapped: BTreeMap<u64, CpuMapped>,
    /// Whether a range's page tables were read and not kept, because there are too many.
    pub mapped_capped: bool,
    /// Where the pages of managed ranges live.
    pub residency: Residency,
    /// The process that is watched, if one is.
    pub watch: WatchState,
    /// Notices, oldest first.
    pub notices: VecDeque<(Stamp, Notice)>,
}

impl Session {
    /// A session that may last for days: old runs keep few of their passes, at most [`MAX_LASTING`] are kept of all.
    pub fn lasting() -> Self {
        let mut session = Self::default();
        session.runs.lasting = true;
        session
    }

    /// Takes in one fact.
    pub fn apply(&mut self, event: &Event) {
        self.now = self.now.max(event.at);
        match &event.body {
            Body::Header(header) => {
                self.residency.coherent(header.caps.host_page_tables.yes());
                self.header = Some((**header).clone());
            }
            Body::Sample(sample) => self.sample(event.at, sample),
            Body::Uvm(tick) => {
                self.uvm.apply(event.at, tick);
                self.residency.tick(event.at, tick);
                self.watch.tick(tick);
            }
            // A probe may have looked just before the range went.
            Body::Mapped(mapped) if self.ranges.iter().any(|range| range.address == mapped.address) => {
                self.residency.mapped(event.at, mapped);
                self.map(mapped);
            }
            Body::Mapped(_) => {}
            Body::Allocated(range) => {
                self.residency.allocated(range, self.watch.subject.is_none());
                self.ranges.push(range.clone());
            }
            Body::Freed { address } => {
                self.ranges.retain(|r| r.address != *address);
                self.mapped.remove(address);
                self.mapped_capped &= !self.mapped.is_empty();
                self.residency.freed(*address);
            }
            Body::Run(run) => self.run(event.at, run),
            Body::Notice(notice) => self.notice(event.at, notice.clone()),
            Body::Watched(watched) => self.watch.apply(event.at, watched),
        }
    }

    /// Everything known about a metric; `None` if nothing ever read it.
    pub fn metric(&self, metric: Metric) -> Option<&Sampled> {
        self.metrics.get(&metric)
    }

    /// The newest notice.
    pub fn last_notice(&self) -> Option<&(Stamp, Notice)> {
        self.notices.back()
    }

    /// Whether the present run uses more GPUs than one, by its plan or by what migrated.
    pub fn on_several_gpus(&self) -> bool {
        let handed = || self.uvm.run.migrated.keys().any(|(src, dst, _)| *src != Proc::Cpu && *dst != Proc::Cpu);
        self.runs.current().is_some_and(|run| run.start.gpus > 1) || handed()
    }

    fn sample(&mut self, at: Stamp, sample: &Sample) {
        for (metric, reading) in &sample.readings {
            let known = self.metrics.entry(*metric).or_default();
            let gap = known.series.last().map_or(GAUGE_HOLDS, |last| at.since(last.at));
            let window = sample.window.unwrap_or(gap.min(GAUGE_HOLDS));
            known.series.push(Reading { at, window, value: reading.value() });
            known.absent = match reading {
                event::Reading::Absent(why) => Some(why.clone()),
                event::Reading::Value(_) => None,
            };
            known.source.clone_from(&sample.source);
            known.window = sample.window;
        }
    }

    fn run(&mut self, at: Stamp, run: &RunEvent) {
        if let RunEvent::Ended { outcome: event::Outcome::Failed(text), .. } = run {
            let notice = Notice { level: event::Level::Error, source: "workload".to_owned(), text: text.clone() };
            self.notice(at, notice);
        }
        self.runs.apply(at, run);
        match run {
            RunEvent::Started(start) => {
                self.uvm.run_began();
                self.residency.started(&start.settings);
            }
            RunEvent::PassBegan { index, .. } => {
                if let Some(run) = self.runs.current() {
                    self.residency.pass_began(run.start.trace, run.start.settings.prefetch, *index == 0);
                }
            }
            RunEvent::PassEnded(pass) => {
                if let Some(run) = self.runs.find(pass.run) {
                    self.residency.pass_ended(at, run, pass);
                }
            }
            RunEvent::Paused(_) | RunEvent::Ended { .. } => {}
        }
    }

    fn map(&mut self, mapped: &Mapped) {
        if self.mapped.len() >= MAX_MAPPED && !self.mapped.contains_key(&mapped.address) {
            self.mapped_capped = true;
            return;
        }
        self.mapped.insert(mapped.address, CpuMapped::of(mapped));
    }

    fn notice(&mut self, at: Stamp, notice: Notice) {
        if self.notices.len() == MAX_NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back((at, notice));
    }
}

#[cfg(test)]
mod tests;
