//! Which of several GPUs holds what a block has on the GPUs' side.
//!
//! A block's activity says how many pages went to a GPU, and where the last of them went. Recordings of before that was told
//! have the window's sums only: where all that went to GPUs in a window went to one of them, so did each block's pages;
//! where it went to several, nothing tells.

use crate::event::{BlockActivity, Proc, UvmEvents};

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
        let (mut several, mut any) = (false, false);
        for way in ways {
            all.only = all.only.filter(|only| *only == way);
            if let Proc::Gpu(to) = way.1 {
                any = true;
                several |= all.to.is_some_and(|known| known != to);
                all.to = Some(to);
                all.from_gpus &= way.0 != Proc::Cpu;
            }
        }
        all.to = all.to.filter(|_| !several);
        all.from_gpus &= any;
        all
    }

    /// The only way that anything went.
    pub fn only(&self) -> Option<Way> {
        self.only
    }

    /// The only GPU that pages went to.
    pub fn gpu(&self) -> Option<u16> {
        self.to
    }

    /// Whether all pages that went to a GPU left another one.
    pub fn only_from_gpus(&self) -> bool {
        self.from_gpus
    }
}

/// The GPU to which a block's pages went last, and how many of them in a row.
fn last_to_gpu(a: &BlockActivity) -> Option<(u16, u32)> {
    match a.last.map(|last| (last.dst, last.pages)) {
        Some((Proc::Gpu(gpu), pages)) => Some((gpu, pages)),
        _ => None,
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

    /// Pages of a block went, and `on_gpu` are on GPUs now; duplicated ones stayed where they were, too.
    pub(super) fn moved(&mut self, a: &BlockActivity, on_gpu: u16, ways: &Ways) {
        let (to_gpu, to_cpu, duplicated) = (a.to_gpu_pages, a.to_cpu_pages, a.duplicated > 0);
        if to_cpu > 0 {
            self.came = None;
        }
        if on_gpu == 0 {
            *self = Self::default();
        } else if let Some((gpu, pages)) = last_to_gpu(a) {
            if pages < to_gpu.saturating_add(to_cpu) {
                // What went elsewhere before may have left pages there.
                let sure = ways.to == Some(gpu) && self.holder.is_none_or(|known| known == Holder::One(gpu));
                self.left(sure.then_some(gpu));
            }
            self.came_to(gpu, pages, duplicated, on_gpu);
        } else if to_gpu > 0 {
            match ways.to {
                // Of pages that came and pages that left, nothing tells which came first.
                Some(gpu) if to_cpu > 0 => {
                    let sure = self.holder.is_none_or(|known| known == Holder::One(gpu));
                    self.left(sure.then_some(gpu));
                }
                Some(gpu) => self.came_to(gpu, to_gpu, duplicated, on_gpu),
                None => self.left(None),
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
    pub(super) fn counted_anew(&mut self) {
        self.came = None;
    }

    /// One of several copies remains.
    pub(super) fn dropped_copies(&mut self) {
        if self.holder == Some(Holder::Several) {
            self.left(None);
        }
    }

    /// What is on a GPU is on this one, or on one that nothing tells.
    pub(super) fn left(&mut self, only: Option<u16>) {
        *self = Self { holder: Some(only.map_or(Holder::Untold, Holder::One)), came: None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Cause, LastMove, Migrated};

    fn ways(all: &[(Proc, Proc)]) -> Ways {
        let migrated =
            |(src, dst): &(Proc, Proc)| Migrated { src: *src, dst: *dst, cause: Cause::Fault, bytes: 1, copies: 1 };
        Ways::of(&UvmEvents { migrated: all.iter().map(migrated).collect(), ..UvmEvents::default() })
    }

    /// As recordings of before the last move was told have it.
    fn pages(to_gpu: u32, to_cpu: u32, duplicated: bool) -> BlockActivity {
        let duplicated = if duplicated { to_gpu } else { 0 };
        BlockActivity { to_gpu_pages: to_gpu, to_cpu_pages: to_cpu, duplicated, ..BlockActivity::default() }
    }

    fn last(to_gpu: u32, to_cpu: u32, dst: Proc, pages: u32) -> BlockActivity {
        let last = LastMove { src: None, dst, pages };
        BlockActivity { last: Some(last), ..self::pages(to_gpu, to_cpu, false) }
    }

    const CPU: Proc = Proc::Cpu;
    const A: Proc = Proc::Gpu(0);
    const B: Proc = Proc::Gpu(1);

    #[test]
    fn windows_with_one_destination_name_the_holder_and_others_do_not() {
        let mut held = Held::default();
        held.moved(&pages(512, 0, false), 512, &ways(&[(CPU, A)]));
        assert_eq!(held.holder(), Some(Holder::One(0)));
        held.moved(&pages(200, 0, false), 512, &ways(&[(A, B)]));
        assert_eq!(held.holder(), Some(Holder::Several));
        held.moved(&pages(312, 0, false), 512, &ways(&[(A, B)]));
        assert_eq!(held.holder(), Some(Holder::One(1)), "all have come");
        held.moved(&pages(700, 0, false), 512, &ways(&[(A, B), (B, A)]));
        assert_eq!(held.holder(), Some(Holder::Untold));
        held.moved(&pages(500, 0, false), 512, &ways(&[(B, A)]));
        assert_eq!(held.holder(), Some(Holder::Untold), "twelve may be elsewhere");
        held.moved(&pages(12, 0, false), 512, &ways(&[(B, A), (A, CPU)]));
        assert_eq!(held.holder(), Some(Holder::One(0)));
        held.moved(&pages(0, 512, false), 0, &ways(&[(A, CPU)]));
        assert_eq!(held.holder(), None);
    }

    #[test]
    fn a_copy_for_reading_leaves_the_first_where_it_is() {
        let mut held = Held::default();
        held.moved(&pages(512, 0, true), 512, &ways(&[(CPU, A)]));
        held.moved(&pages(512, 0, true), 512, &ways(&[(A, B)]));
        assert_eq!(held.holder(), Some(Holder::Several));
        held.dropped_copies();
        assert_eq!(held.holder(), Some(Holder::Untold));
    }

    #[test]
    fn what_came_and_left_in_one_window_is_not_told() {
        let mut held = Held::default();
        held.moved(&pages(512, 0, false), 512, &ways(&[(CPU, A)]));
        held.moved(&pages(300, 100, false), 412, &ways(&[(A, B), (B, CPU)]));
        assert_eq!(held.holder(), Some(Holder::Untold));
    }

    #[test]
    fn within_a_window_the_last_move_tells() {
        let both = ways(&[(CPU, A), (A, B), (B, A)]);
        let mut held = Held::default();
        held.moved(&last(1536, 0, A, 512), 512, &both);
        assert_eq!(held.holder(), Some(Holder::One(0)), "all of it came here last");
        held.moved(&last(712, 0, B, 200), 512, &both);
        assert_eq!(held.holder(), Some(Holder::Untold), "of the other pages nothing tells");
        held.moved(&last(312, 0, B, 312), 512, &both);
        assert_eq!(held.holder(), Some(Holder::One(1)), "those of the window before count");
        held.moved(&last(100, 0, A, 100), 512, &both);
        assert_eq!(held.holder(), Some(Holder::Several));
        held.moved(&last(512, 512, B, 512), 512, &both);
        assert_eq!(held.holder(), Some(Holder::One(1)), "to the CPU, and whole to the other");
        held.moved(&last(512, 100, CPU, 100), 412, &both);
        assert_eq!(held.holder(), Some(Holder::Untold));
        held.moved(&last(512, 512, CPU, 512), 0, &both);
        assert_eq!(held.holder(), None);
    }
}
