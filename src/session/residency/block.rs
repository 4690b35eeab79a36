//! One block: what is known of its pages, and its history.

use super::holder::{Held, Holder, Way, Ways};
use crate::event::{BlockActivity, LastMove, Proc};
use crate::units::{Nanos, Stamp};
use std::collections::VecDeque;

/// Entries of the history that are kept, and the time that one covers.
const KEPT: usize = 12;
const ENTRY: Nanos = Nanos::millis(100);
/// In this time the heat of faults falls to 1/e.
const COOLING: Nanos = Nanos::millis(400);

/// Where the pages of a block live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Nobody has touched it.
    Untouched,
    /// On the host.
    Cpu,
    /// On the GPU.
    Gpu,
    /// Most of it on both sides: duplicated for reading.
    Both,
    /// Some pages here, some there.
    Split,
    /// The GPU works on it over the link, where it lies.
    Remote,
    /// Nothing tells.
    Unknown,
}

impl Place {
    /// Every place, in the order of the legend.
    pub const ALL: [Place; 7] =
        [Place::Gpu, Place::Cpu, Place::Both, Place::Split, Place::Remote, Place::Untouched, Place::Unknown];
}

/// Where the pages that are not on the GPU live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nowhere,
    Cpu,
    Unknown,
}

/// Sums over the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Raw GPU faults.
    pub gpu_faults: u64,
    /// CPU faults.
    pub cpu_faults: u64,
    /// Pages of 4 KiB migrated to a GPU.
    pub to_gpu_pages: u64,
    /// Pages migrated to the CPU.
    pub to_cpu_pages: u64,
    /// Pages by cause: fault, driver's prefetch, the program, eviction.
    pub by_cause: [u64; 4],
    /// Pages duplicated for reading.
    pub duplicated: u64,
    /// Thrashing, throttling and remote-map events.
    pub thrash: u64,
    /// Remote mappings.
    pub remote_maps: u64,
    /// GPUs that faulted, as far as it was told: bit n for GPU n.
    pub faulted_by: u32,
    /// GPU faults of which it was not told.
    pub of_untold_gpu: u64,
}

impl Totals {
    /// Faults of both sides.
    pub fn faults(&self) -> u64 {
        self.gpu_faults + self.cpu_faults
    }

    fn add(&mut self, a: &BlockActivity) {
        self.gpu_faults += u64::from(a.gpu_faults);
        self.faulted_by |= a.faulted_by;
        if a.faulted_by == 0 {
            self.of_untold_gpu += u64::from(a.gpu_faults);
        }
        self.cpu_faults += u64::from(a.cpu_faults);
        self.to_gpu_pages += u64::from(a.to_gpu_pages);
        self.to_cpu_pages += u64::from(a.to_cpu_pages);
        self.duplicated += u64::from(a.duplicated);
        self.thrash += u64::from(a.thrash);
        self.remote_maps += u64::from(a.remote_maps);
        let causes = [a.by_fault, a.by_prefetch, a.by_user, a.by_eviction];
        self.by_cause.iter_mut().zip(causes).for_each(|(sum, pages)| *sum += u64::from(pages));
    }
}

/// What is known beyond the block's own activity.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// Remote mappings were made, and of blocks with thrash events this can be the only one meant.
    pub remote: bool,
    /// Pages were duplicated or copies dropped, and the recording does not say where.
    pub unplaced_copies: bool,
    /// Every migration of the window is told.
    pub itemised: bool,
    /// From where to where pages went in the window.
    pub ways: Ways,
    /// The only way of the window, where pages have been on more GPUs than one.
    pub way: Option<Way>,
}

/// What happened in up to 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lately {
    /// From when on.
    pub at: Stamp,
    /// Sums.
    pub sum: BlockActivity,
    /// From where to where all the pages went, where there are several GPUs and it is known.
    pub way: Option<Way>,
}

/// A block of a managed range.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Pages of the range in it, 1–512.
    pub pages: u16,
    /// Pages that the CPU maps; `None` if nobody has looked.
    pub cpu_mapped: Option<u16>,
    /// Sums over the session.
    pub totals: Totals,
    /// What happened lately, oldest first.
    pub recent: VecDeque<Lately>,
    /// The newest fault of either side.
    pub faulted: Option<Stamp>,
    /// The newest copy, and to which side it went.
    pub copied: Option<(Stamp, Proc)>,
    heat: (f64, Stamp),
    gpu: u16,
    both: u16,
    rest: Rest,
    remote: bool,
    held: Held,
    proved: Stamp,
}

impl Block {
    pub(super) fn untouched(pages: u16) -> Self {
        Self {
            pages: pages.max(1),
            cpu_mapped: None,
            totals: Totals::default(),
            recent: VecDeque::new(),
            faulted: None,
            copied: None,
            heat: (0.0, Stamp(0)),
            gpu: 0,
            both: 0,
            rest: Rest::Nowhere,
            remote: false,
            held: Held::default(),
            proved: Stamp(0),
        }
    }

    /// Where its pages live; what was proved before pages moved unseen is proved no more.
    pub(super) fn place(&self, unseen: Option<Stamp>) -> Place {
        let stale = unseen.is_some_and(|unseen| self.proved <= unseen);
        match self.rest {
            _ if self.remote => Place::Remote,
            _ if stale => Place::Unknown,
            Rest::Nowhere if self.gpu == 0 => Place::Untouched,
            Rest::Cpu if self.gpu == 0 => Place::Cpu,
            _ if self.both > 0 && self.both * 2 >= self.gpu => Place::Both,
            _ if self.gpu >= self.pages => Place::Gpu,
            Rest::Nowhere => Place::Gpu,
            Rest::Cpu => Place::Split,
            Rest::Unknown => Place::Unknown,
        }
    }

    /// Pages on the GPU and on the CPU, if the block's place is known.
    pub(super) fn pages_by_side(&self) -> (u16, u16) {
        let cpu = match self.rest {
            Rest::Cpu => self.pages - self.gpu + self.both,
            Rest::Nowhere | Rest::Unknown => self.both,
        };
        (self.gpu, cpu)
    }

    /// Pages that migrations or passes put on the GPU.
    pub fn gpu_pages(&self) -> u16 {
        self.gpu
    }

    /// Which GPU holds what is on one; `None` if nothing is.
    pub(super) fn holder(&self) -> Option<Holder> {
        self.held.holder().filter(|_| self.gpu > 0)
    }

    /// Pages may have gone from GPU to GPU unseen.
    pub(super) fn unwatched(&mut self) {
        self.held.left(None);
    }

    /// Faults lately, each counting less the longer ago it was.
    pub fn heat(&self, now: Stamp) -> f64 {
        let (heat, at) = self.heat;
        heat * (-(now.since(at).0 as f64) / COOLING.0 as f64).exp()
    }

    pub(super) fn may_be_touched(&mut self) {
        if self.rest == Rest::Nowhere && self.gpu == 0 {
            self.rest = Rest::Unknown;
        }
    }

    /// A pass left all of it on the CPU, or on a GPU, if only one comes into question on that one.
    pub(super) fn pass_left(&mut self, at: Stamp, on_gpu: Option<Option<u16>>) {
        self.gpu = if on_gpu.is_some() { self.pages } else { 0 };
        self.held.left(on_gpu.flatten());
        self.both = 0;
        self.rest = Rest::Cpu;
        self.remote = false;
        self.proved = at;
    }

    pub(super) fn mapped(&mut self, at: Stamp, pages: u16, read_mostly: bool, coherent: bool) {
        let pages = pages.min(self.pages);
        let before = self.cpu_mapped.replace(pages);
        // A copy that may be newer than the look knows better.
        if coherent || self.copied.is_some_and(|(copied, _)| copied >= at) {
            return;
        }
        if pages == 0 {
            // It was there and is there no more, and no migration has said so: it may have gone anywhere.
            if before.is_some_and(|n| n > 0) && self.gpu == 0 && self.rest == Rest::Cpu && !self.told_to_cpu_since(at) {
                self.rest = Rest::Unknown;
            }
            return;
        }
        if read_mostly {
            self.both = (self.gpu + pages).saturating_sub(self.pages).max(self.both.min(pages));
        } else {
            if self.gpu > self.pages - pages {
                self.gpu = self.pages - pages;
                self.held.counted_anew();
            }
            self.both = 0;
        }
        if self.rest == Rest::Nowhere || pages + self.gpu >= self.pages {
            self.rest = Rest::Cpu;
        }
        self.proved = at;
    }

    /// Whether the newest copy went to the CPU: then the driver has told where the pages are, mapped or not.
    fn told_to_cpu_since(&self, at: Stamp) -> bool {
        self.copied.is_some_and(|(when, to)| to == Proc::Cpu && at.since(when) < Nanos::millis(1_000))
    }

    pub(super) fn happened(&mut self, at: Stamp, a: &BlockActivity, hints: Hints) {
        self.totals.add(a);
        let moved = a.to_gpu_pages > 0 || a.to_cpu_pages > 0;
        self.remember(at, a, only_way(a).or(hints.way).filter(|_| moved));
        let faults = a.gpu_faults + a.cpu_faults;
        if faults > 0 {
            self.heat = (self.heat(at) + f64::from(faults), at);
            self.faulted = Some(at);
        }
        self.moved(at, a, hints);
        if a.remote_maps > 0 || (hints.remote && a.thrash > 0) {
            self.remote = true;
            self.proved = at;
        }
    }

    fn moved(&mut self, at: Stamp, a: &BlockActivity, hints: Hints) {
        let (to_gpu, to_cpu) = (narrow(a.to_gpu_pages), narrow(a.to_cpu_pages));
        if to_gpu + to_cpu > 0 {
            self.remote = false;
            let most = if to_cpu > to_gpu { Proc::Cpu } else { Proc::Gpu(hints.ways.gpu().unwrap_or(0)) };
            self.copied = Some((at, a.last.map_or(most, |last| last.dst)));
        }
        if hints.unplaced_copies {
            (self.gpu, self.both, self.rest) = (0, 0, Rest::Unknown);
            return;
        }
        if a.cpu_faults > 0 && self.gpu == 0 {
            self.rest = Rest::Cpu;
            self.proved = at;
        } else if a.gpu_faults > 0 && to_gpu == 0 && self.rest == Rest::Nowhere && self.gpu == 0 {
            // A first touch moves nothing, so nothing tells where the page came to be.
            self.rest = Rest::Unknown;
        }
        if to_gpu + to_cpu > 0 {
            self.copy(at, a, &hints);
            self.held.moved(a, self.gpu, &hints.ways);
        }
        self.drop_copies(a);
    }

    /// Pages that were copied and duplicated stay where they were too.
    fn copy(&mut self, at: Stamp, a: &BlockActivity, hints: &Hints) {
        let (to_gpu, to_cpu, duplicated) = (narrow(a.to_gpu_pages), narrow(a.to_cpu_pages), narrow(a.duplicated));
        let pages = i32::from(self.pages);
        let doubled_on_gpu = duplicated.min(to_gpu);
        let doubled_on_cpu = (duplicated - doubled_on_gpu).min(to_cpu);
        // What came from another GPU is no more on GPUs than it was.
        let before = i32::from(self.gpu);
        let handed = if hints.ways.only_from_gpus() { to_gpu } else { last_between_gpus(a) };
        let on_gpus = (before + to_gpu - handed).max(handed.min(pages));
        let gpu = on_gpus - (to_cpu - doubled_on_cpu);
        // A block that came whole is known whatever was known of it before.
        let whole = to_gpu >= pages || to_cpu >= pages;
        if to_cpu > 0 || self.rest == Rest::Nowhere || whole {
            self.rest = Rest::Cpu;
        }
        self.gpu = gpu.clamp(0, pages) as u16;
        self.both = (i32::from(self.both) + duplicated).clamp(0, i32::from(self.gpu)) as u16;
        if hints.itemised {
            self.proved = at;
        }
    }

    /// A write leaves one copy, on the side whose faults are seen with it; if both faulted, nothing tells.
    fn drop_copies(&mut self, a: &BlockActivity) {
        if a.invalidated == 0 {
            return;
        }
        self.held.dropped_copies();
        let dropped = (narrow(a.invalidated) as u16).min(self.both);
        match (a.gpu_faults > 0, a.cpu_faults > 0) {
            (true, false) => self.both -= dropped,
            (false, true) => {
                self.both -= dropped;
                self.gpu = self.gpu.saturating_sub(dropped);
                self.rest = Rest::Cpu;
            }
            _ => (self.gpu, self.both, self.rest) = (0, 0, Rest::Unknown),
        }
    }

    fn remember(&mut self, at: Stamp, a: &BlockActivity, way: Option<Way>) {
        // Faults go with either way, copies only with their own.
        let moved = |a: &BlockActivity| a.to_gpu_pages > 0 || a.to_cpu_pages > 0;
        let goes =
            |last: &&mut Lately| at.since(last.at) < ENTRY && (last.way == way || !moved(a) || !moved(&last.sum));
        if let Some(last) = self.recent.back_mut().filter(goes) {
            if moved(a) {
                last.way = way;
            }
            return add(&mut last.sum, a);
        }
        if self.recent.len() == KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(Lately { at, sum: *a, way });
    }
}

/// From where to where all pages of a window went, where the block itself tells.
fn only_way(a: &BlockActivity) -> Option<Way> {
    let last = a.last.filter(|last| last.pages == a.to_gpu_pages.saturating_add(a.to_cpu_pages))?;
    Some((last.src?, last.dst))
}

/// Pages that went from GPU to GPU at the end of a window, as far as the block itself tells.
fn last_between_gpus(a: &BlockActivity) -> i32 {
    let between = |last: &LastMove| matches!((last.src, last.dst), (Some(Proc::Gpu(_)), Proc::Gpu(_)));
    a.last.filter(between).map_or(0, |last| narrow(last.pages).min(narrow(a.to_gpu_pages)))
}

fn narrow(pages: u32) -> i32 {
    // Far more than a block can move in a window of 10 ms, and far from overflow.
    pages.min(1 << 15) as i32
}

fn add(sum: &mut BlockActivity, a: &BlockActivity) {
    let pairs = [
        (&mut sum.gpu_faults, a.gpu_faults),
        (&mut sum.cpu_faults, a.cpu_faults),
        (&mut sum.to_gpu_pages, a.to_gpu_pages),
        (&mut sum.to_cpu_pages, a.to_cpu_pages),
        (&mut sum.thrash, a.thrash),
        (&mut sum.remote_maps, a.remote_maps),
        (&mut sum.by_fault, a.by_fault),
        (&mut sum.by_prefetch, a.by_prefetch),
        (&mut sum.by_user, a.by_user),
        (&mut sum.by_eviction, a.by_eviction),
        (&mut sum.duplicated, a.duplicated),
        (&mut sum.invalidated, a.invalidated),
    ];
    for (sum, more) in pairs {
        *sum = sum.saturating_add(more);
    }
    sum.last = a.last.or(sum.last);
    sum.faulted_by |= a.faulted_by;
}
