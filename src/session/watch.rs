//! The fold of a watched process: who it is, what became of it, where it faults.

use crate::event::{CpuSite, SiteName, Subject, TraceLevel, UvmTick, Watched};
use crate::units::{Nanos, Stamp};
use std::collections::{BTreeMap, VecDeque};

/// Sites kept; faults of further ones are counted together.
const MAX_SITES: usize = 4_096;
/// Threads of a site that are counted apart.
const MAX_THREADS: usize = 64;
/// Lines of output kept.
const MAX_LINES: usize = 500;

/// CPU faults of one instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Faults in all.
    pub faults: u64,
    /// By thread; threads past the 64th are in the sum only.
    pub threads: BTreeMap<u32, u64>,
}

/// What was seen at a trace level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtLevel {
    /// For how long the driver was watched at it.
    pub watched: Nanos,
    /// For how long bytes moved meanwhile: windows of 10 ms in which some did.
    pub busy: Nanos,
    /// Bytes that moved, both ways.
    pub bytes: u64,
}

/// Everything known about a watched process. Empty if none is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchState {
    /// Who it is.
    pub subject: Option<Subject>,
    /// The level asked for last that could be had, and since when.
    pub level: Option<(Stamp, TraceLevel)>,
    /// Address spaces watched now.
    pub spaces: u32,
    /// Since when at least one is.
    pub attached: Option<Stamp>,
    /// Whether one ever was, and what may have been missed before the first; see [`Watched::Attached`].
    pub first: Option<Option<Nanos>>,
    /// Why the newest one was let go, while none is watched.
    pub released: Option<String>,
    /// When it ended, with its exit code if that is known.
    pub ended: Option<(Stamp, Option<u8>)>,
    /// Newest lines of its output.
    pub output: VecDeque<String>,
    /// CPU faults by process and instruction.
    pub sites: BTreeMap<(u32, u64), Site>,
    /// CPU faults at sites that are not told apart.
    pub elsewhere: u64,
    /// Names of instructions.
    pub names: BTreeMap<(u32, u64), SiteName>,
    /// Names of threads by process and thread.
    pub threads: BTreeMap<(u32, u32), String>,
    /// By trace level.
    pub by_level: BTreeMap<TraceLevel, AtLevel>,
}

impl WatchState {
    /// Takes in something about the process.
    pub fn apply(&mut self, at: Stamp, watched: &Watched) {
        match watched {
            Watched::Subject(subject) => self.subject = Some(subject.clone()),
            Watched::Level(level) => self.level = Some((at, *level)),
            Watched::Attached { spaces, missed, .. } => {
                self.spaces = *spaces;
                self.attached.get_or_insert(at);
                self.first.get_or_insert(*missed);
                self.released = None;
            }
            Watched::Released { spaces, why, .. } => {
                self.spaces = *spaces;
                if *spaces == 0 {
                    (self.attached, self.released) = (None, Some(why.clone()));
                }
            }
            Watched::Site(name) => keep(&mut self.names, (name.pid, name.pc), name.clone()),
            Watched::Thread { pid, tid, name } => keep(&mut self.threads, (*pid, *tid), name.clone()),
            Watched::Output { lines, skipped } => self.output(lines, *skipped),
            Watched::Ended { code } => self.ended = Some((at, *code)),
        }
    }

    /// Takes in a window of the driver's.
    pub fn tick(&mut self, tick: &UvmTick) {
        if self.subject.is_none() {
            return;
        }
        if let Some(counters) = &tick.counters {
            let sum = self.by_level.entry(tick.level).or_default();
            let bytes = counters.bytes_htod + counters.bytes_dtoh;
            sum.watched.0 += tick.window.0;
            sum.bytes += bytes;
            sum.busy.0 += if bytes > 0 { tick.window.0 } else { 0 };
        }
        if let Some(events) = &tick.events {
            events.cpu_sites.iter().for_each(|site| self.fault(site));
            self.elsewhere += events.cpu_sites_elsewhere;
        }
    }

    /// For how long the driver has been watched.
    pub fn watched(&self) -> Nanos {
        Nanos(self.by_level.values().map(|at| at.watched.0).sum())
    }

    /// Sites by faults, most frequent first.
    pub fn top(&self) -> Vec<(&(u32, u64), &Site)> {
        let mut sites: Vec<_> = self.sites.iter().collect();
        sites.sort_by_key(|(key, site)| (std::cmp::Reverse(site.faults), **key));
        sites
    }

    fn fault(&mut self, at: &CpuSite) {
        let key = (at.pid, at.pc);
        if self.sites.len() >= MAX_SITES && !self.sites.contains_key(&key) {
            self.elsewhere += at.faults;
            return;
        }
        let site = self.sites.entry(key).or_default();
        site.faults += at.faults;
        if site.threads.len() < MAX_THREADS || site.threads.contains_key(&at.tid) {
            *site.threads.entry(at.tid).or_default() += at.faults;
        }
    }

    fn output(&mut self, lines: &[String], skipped: u64) {
        if skipped > 0 {
            self.output.push_back(format!("… {skipped} lines are in the file only …"));
        }
        self.output.extend(lines.iter().cloned());
        let excess = self.output.len().saturating_sub(MAX_LINES);
        self.output.drain(..excess);
    }
}

/// Notes a name, unless there are too many.
fn keep<K: Ord, N>(names: &mut BTreeMap<K, N>, key: K, name: N) {
    if names.len() < MAX_SITES || names.contains_key(&key) {
        names.insert(key, name);
    }
}

/// An instruction's name in one line: place, function, file.
pub fn site_name(name: &SiteName) -> String {
    let parts = [name.place.as_deref(), name.function.as_deref(), Some(name.module.as_str())];
    let words: Vec<&str> = parts.into_iter().flatten().collect();
    match name.function {
        Some(_) => words.join("  "),
        None => format!("{}  {:#x}", words.join("  "), name.pc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Counters, UvmEvents};

    fn subject() -> Watched {
        Watched::Subject(Subject { pid: 7, user: "ann".to_owned(), command: "prog".to_owned(), output: None })
    }

    fn tick(level: TraceLevel, htod: u64, sites: &[(u32, u64, u64)]) -> UvmTick {
        let cpu_sites = sites.iter().map(|(tid, pc, faults)| CpuSite { pid: 7, tid: *tid, pc: *pc, faults: *faults });
        UvmTick {
            window: Nanos::millis(10),
            level,
            counters: Some(Counters { bytes_htod: htod, ..Counters::default() }),
            events: Some(Box::new(UvmEvents { cpu_sites: cpu_sites.collect(), ..UvmEvents::default() })),
        }
    }

    #[test]
    fn sites_add_up_over_windows_and_threads_and_stay_bounded() {
        let mut state = WatchState::default();
        state.apply(Stamp(0), &subject());
        state.tick(&tick(TraceLevel::Faults, 0, &[(1, 100, 3), (2, 100, 4), (1, 200, 5)]));
        state.tick(&tick(TraceLevel::Faults, 0, &[(1, 100, 1)]));
        let top = state.top();
        assert_eq!(top.iter().map(|(key, site)| (key.1, site.faults)).collect::<Vec<_>>(), [(100, 8), (200, 5)]);
        assert_eq!(top[0].1.threads, BTreeMap::from([(1, 4), (2, 4)]));
        let many: Vec<_> = (0..10_000u64).map(|pc| (1, 1_000 + pc, 1)).collect();
        state.tick(&tick(TraceLevel::Faults, 0, &many));
        assert_eq!(state.sites.len(), MAX_SITES);
        let kept: u64 = state.sites.values().map(|site| site.faults).sum();
        assert_eq!(kept + state.elsewhere, 10_013);
    }

    #[test]
    fn time_and_bytes_are_kept_by_level() {
        let mut state = WatchState::default();
        state.apply(Stamp(0), &subject());
        for (level, bytes) in [(TraceLevel::Counters, 0), (TraceLevel::Counters, 64), (TraceLevel::Full, 32)] {
            state.tick(&tick(level, bytes, &[]));
        }
        let at = state.by_level[&TraceLevel::Counters];
        assert_eq!((at.watched, at.busy, at.bytes), (Nanos::millis(20), Nanos::millis(10), 64));
        assert_eq!(state.watched(), Nanos::millis(30));
    }

    #[test]
    fn what_was_missed_is_that_of_the_first_and_the_last_release_says_why() {
        let mut state = WatchState::default();
        let attached = |spaces, missed| Watched::Attached { pid: 7, spaces, missed };
        state.apply(Stamp(5), &attached(1, Some(Nanos(3))));
        state.apply(Stamp(9), &attached(2, None));
        assert_eq!((state.first, state.attached, state.spaces), (Some(Some(Nanos(3))), Some(Stamp(5)), 2));
        let released = |spaces| Watched::Released { pid: 7, spaces, why: "closed".to_owned() };
        state.apply(Stamp(10), &released(1));
        assert_eq!((state.attached, state.released.as_deref()), (Some(Stamp(5)), None));
        state.apply(Stamp(11), &released(0));
        assert_eq!((state.attached, state.released.as_deref()), (None, Some("closed")));
    }

    #[test]
    fn output_keeps_its_end() {
        let mut state = WatchState::default();
        let lines = (0..600).map(|n| n.to_string()).collect();
        state.apply(Stamp(0), &Watched::Output { lines, skipped: 5 });
        assert_eq!(state.output.len(), MAX_LINES);
        assert_eq!(state.output.back().map(String::as_str), Some("599"));
    }
}
