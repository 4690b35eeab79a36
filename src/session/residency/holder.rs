//! Which of several GPUs holds what a block has on the GPUs' side.
//!
//! A block's activity says how many pages went to a GPU, not to which one: that is in the window's sums. Where all that went
//! to GPUs in a window went to one of them, so did each block's pages. Where it went to several, nothing tells.

use crate::event::{Proc, UvmEvents};

/// Who holds the pages of a block that are on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// One GPU, by its number.
    One(u16),
    /// Some pages are on one GPU and some on another, or on both.
    Several,
    /// A GPU, and nothing tells which.
    Untold,
}

/// A way that pages went: from where, to where.
pub type Way = (Proc, Proc);

/// What a window's sums say of the ways in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// The only GPU that pages went to.
    to: Option<u16>,
    /// The only way that anything went.
    only: Option<Way>,
    /// Whether what went to GPUs came from GPUs alone.
    from_gpus: bool,
}

impl Ways {
    /// Of a window.
    pub fn of(events: &UvmEvents) -> Self {
        let mut ways = events.migrated.iter().filter(|m| m.bytes > 0).map(|m| (m.src, m.dst)).peekable();
        let only = ways.peek().copied();
        let mut all = Self { to: None, only, from_gpus: true };
        let mut several = false;
        for way in ways {
            all.only = all.only.filter(|only| *only == way);
            if let Proc::Gpu(to) = way.1 {
                several |= all.to.is_some_and(|known| known != to);
                all.to = Some(to);
                all.from_gpus &= way.0 != Proc::Cpu;
            }
        }
        all.to = all.to.filter(|_| !several);
        all
    }

    /// The only way of a window, if it led from one GPU to another.
    pub fn between(&self) -> Option<Way> {
        self.only.filter(|(from, to)| *from != Proc::Cpu && *to != Proc::Cpu)
    }

    /// Whether all pages that went to a GPU left another one.
    pub fn only_from_gpus(&self) -> bool {
        self.from_gpus
    }
}

/// The holder of a block's pages, and what it follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    holder: Option<Holder>,
    /// The GPU to which pages went last, and how many came since any went elsewhere.
    came: Option<(u16, u32)>,
}

impl Held {
    /// Who holds what is on a GPU; `None` if nothing has ever come to one.
    pub(super) fn holder(&self) -> Option<Holder> {
        self.holder
    }

    /// Pages went to GPUs and to the CPU, and `on_gpu` are on GPUs now; `duplicated` stayed where they were, too.
    pub(super) fn moved(&mut self, (to_gpu, to_cpu): (u32, u32), duplicated: bool, on_gpu: u16, ways: &Ways) {
        if to_cpu > 0 {
            self.came = None;
        }
        if on_gpu == 0 {
            *self = Self::default();
        } else if to_gpu > 0 {
            match ways.to {
                Some(gpu) => self.came_to(gpu, if to_cpu > 0 { 0 } else { to_gpu }, duplicated, on_gpu),
                None => self.lost(),
            }
        }
    }

    fn came_to(&mut self, gpu: u16, pages: u32, duplicated: bool, on_gpu: u16) {
        let before = self.came.filter(|(to, _)| *to == gpu).map_or(0, |(_, pages)| pages);
        let came = before.saturating_add(pages);
        self.came = Some((gpu, came));
        self.holder = Some(match self.holder {
            None => Holder::One(gpu),
            // As many as there are have come, and none has left: there are no others.
            _ if came >= u32::from(on_gpu) && !duplicated => Holder::One(gpu),
            Some(Holder::One(known)) if known == gpu => Holder::One(gpu),
            Some(Holder::Untold) => Holder::Untold,
            Some(_) => Holder::Several,
        });
    }

    /// Pages left for the CPU, and no migration told it.
    pub(super) fn unmapped(&mut self) {
        self.came = None;
    }

    /// Pages may have gone from GPU to GPU, and nothing told it.
    pub(super) fn lost(&mut self) {
        *self = Self { holder: Some(Holder::Untold), came: None };
    }

    /// A pass of one GPU left everything on it, or one of several GPUs on one of them.
    pub(super) fn left(&mut self, only: Option<u16>) {
        *self = Self { holder: Some(only.map_or(Holder::Untold, Holder::One)), came: None };
    }
}
