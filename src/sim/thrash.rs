//! Thrashing mitigation of one block: detect pages that bounce, make one side wait, at last pin and map remotely.

use super::pages::{PAGES, PageSet};
use super::side::{Both, Side};
use serde::Deserialize;

/// Settings, named as the driver's module parameters are, times in µs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thrashing {
    /// Events within the lapse that make a page thrash (`uvm_perf_thrashing_threshold`).
    pub threshold: u8,
    /// Throttles after which a page is pinned (`uvm_perf_thrashing_pin_threshold`).
    pub pin_threshold: u8,
    /// Longest pause between two events of a bouncing page (`uvm_perf_thrashing_lapse_usec`).
    pub lapse_us: u64,
    /// How long a throttled side waits (`uvm_perf_thrashing_nap` × lapse).
    pub nap_us: u64,
    /// Quiet time after which a block is forgiven (`uvm_perf_thrashing_epoch` × lapse).
    pub epoch_us: u64,
    /// How long a page stays pinned (`uvm_perf_thrashing_pin` × lapse).
    pub pin_us: u64,
    /// How often a block is forgiven (`uvm_perf_thrashing_max_resets`).
    pub max_resets: u8,
}

/// What a fault on a page is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing special.
    None,
    /// Wait until this virtual time (ns).
    Throttle(u64),
    /// Live here; the other side maps it remotely if it can.
    Pin(Side),
}

/// A hint and what changed by asking for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The hint.
    pub hint: Hint,
    /// A throttling period of the asker began.
    pub began: bool,
    /// A throttling period of the asker ended.
    pub ended: bool,
    /// The page was pinned by this very question, until this time (ns).
    pub pinned: Option<u64>,
}

impl Answer {
    const NONE: Self = Self { hint: Hint::None, began: false, ended: false, pinned: None };
}

/// What is remembered of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    last: u64,
    events: u8,
    sides: Both<bool>,
    throttled: Both<bool>,
    throttles: u8,
    until: u64,
    /// The side that is not to be throttled.
    spared: Option<Side>,
    pinned: Option<(Side, u64)>,
}

/// What is remembered of a block; pages only once two sides met in it.
#[derive(Clone, Debug, Default)]
pub struct BlockThrash {
    last: Option<(Side, u64)>,
    pages: Option<Box<[Page; PAGES]>>,
    /// Pages that thrash now.
    pub thrashing: PageSet,
    last_thrash: u64,
    resets: u8,
}

impl BlockThrash {
    /// Takes note that a fault moved pages to a side; returns those that are found to thrash by it.
    pub fn moved(&mut self, rule: &Thrashing, moved: PageSet, to: Side, now: u64) -> PageSet {
        let lapse = rule.lapse_us * 1000;
        let met = self.last.is_some_and(|(side, at)| side != to && now - at <= lapse);
        self.last = Some((to, now));
        if self.pages.is_none() && met {
            self.pages = Some(Box::new([Page::default(); PAGES]));
        }
        let Some(pages) = &mut self.pages else { return PageSet::EMPTY };
        let mut found = PageSet::EMPTY;
        for at in moved.iter() {
            let page = &mut pages[at];
            if page.pinned.is_some_and(|(side, _)| side == to) {
                continue;
            }
            let gap = now - page.last;
            let first = page.last == 0;
            page.last = now;
            *page.sides.of(to) = true;
            if first {
                continue;
            }
            if gap <= lapse {
                page.events = (page.events + 1).min(7);
                if page.events == rule.threshold {
                    found.insert(at);
                }
                if page.events >= rule.threshold {
                    self.last_thrash = now;
                }
            } else if page.events >= rule.threshold && page.pinned.is_none() {
                *page = Page { last: now, throttles: page.throttles, ..Page::default() };
                self.thrashing -= PageSet::one(at);
            }
        }
        self.thrashing |= found;
        found
    }

    /// What a fault of `who` on a page is to do; `preferred` is the range's preferred location.
    pub fn hint(&mut self, rule: &Thrashing, at: usize, who: Side, preferred: Option<Side>, now: u64) -> Answer {
        let (nap, epoch) = (rule.nap_us * 1000, rule.epoch_us * 1000);
        let Some(pages) = &mut self.pages else { return Answer::NONE };
        if pages[at].events < rule.threshold {
            return Answer::NONE;
        }
        let quiet = now - self.last_thrash > epoch && self.resets < rule.max_resets;
        if quiet && pages.iter().all(|p| p.pinned.is_none()) {
            self.pages = None;
            self.thrashing = PageSet::EMPTY;
            self.resets += 1;
            return Answer::NONE;
        }
        let page = &mut pages[at];
        let mut answer = Answer::NONE;
        if *page.throttled.of(who) {
            if now < page.until && page.spared != Some(who) {
                return Answer { hint: Hint::Throttle(page.until), ..answer };
            }
            *page.throttled.of(who) = false;
            answer.ended = true;
            if !*page.throttled.of(who.other()) {
                page.until = 0;
            }
        }
        if page.pinned.is_none() && now - page.last > rule.lapse_us * 1000 {
            return answer;
        }
        *page.sides.of(who) = true;
        if now > page.until {
            page.until = now + nap;
            page.spared = if page.spared == Some(who) { None } else { Some(who) };
        } else if page.spared.is_none() {
            page.spared = Some(who);
        }
        match page.verdict(rule, who, preferred) {
            Hint::Throttle(_) => {
                answer.hint = Hint::Throttle(page.until);
                answer.began = !std::mem::replace(page.throttled.of(who), true);
                if answer.began && page.pinned.is_none() {
                    page.throttles = page.throttles.saturating_add(1);
                }
            }
            Hint::Pin(side) => {
                answer.hint = Hint::Pin(side);
                let until = page.pinned.map_or(now + rule.pin_us * 1000, |(_, until)| until);
                if page.pinned.replace((side, until)).is_none() {
                    answer.pinned = Some(until);
                    page.throttles = 0;
                    page.throttled = Both::default();
                }
            }
            Hint::None => {}
        }
        answer
    }

    /// Lets go of pages whose pin has run out; returns them.
    pub fn expire(&mut self, now: u64) -> PageSet {
        let mut gone = PageSet::EMPTY;
        for (at, page) in self.pages.iter_mut().flat_map(|pages| pages.iter_mut().enumerate()) {
            if page.pinned.is_some_and(|(_, until)| until <= now) {
                *page = Page::default();
                gone.insert(at);
            }
        }
        self.thrashing -= gone;
        gone
    }

    /// Forgets everything about some pages, as the driver does when the program itself moves or duplicates them.
    pub fn forget(&mut self, pages: PageSet) {
        for (at, page) in self.pages.iter_mut().flat_map(|p| p.iter_mut().enumerate()) {
            if pages.contains(at) {
                *page = Page::default();
            }
        }
        self.thrashing -= pages;
    }
}

impl Page {
    /// The driver's choice for PCIe machines: the GPU can map host memory, the CPU cannot map the GPU's, no side has
    /// native atomics on the other.
    fn verdict(&self, rule: &Thrashing, who: Side, preferred: Option<Side>) -> Hint {
        let throttle = Hint::Throttle(self.until);
        let spared = self.spared == Some(who);
        let all_reach = |place: Side| Side::ALL.iter().all(|&s| !self.sides.get(s) || s.reaches(place));
        if let Some(home) = preferred {
            if all_reach(home) {
                return Hint::Pin(home);
            }
            if who == home {
                return match self.pinned {
                    Some((side, _)) if side == home || spared => Hint::Pin(home),
                    Some(_) => throttle,
                    None if !spared => throttle,
                    None if self.throttles >= rule.pin_threshold => Hint::Pin(home),
                    None => Hint::None,
                };
            }
        }
        match self.pinned {
            Some(_) if spared => Hint::Pin(if all_reach(who) { who } else { Side::Cpu }),
            Some((side, _)) if who.reaches(side) => Hint::Pin(side),
            Some(_) => throttle,
            None if !spared => throttle,
            None if self.throttles >= rule.pin_threshold => Hint::Pin(who),
            None => Hint::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Thrashing = Thrashing {
        threshold: 3,
        pin_threshold: 10,
        lapse_us: 500,
        nap_us: 500,
        epoch_us: 1_000_000,
        pin_us: 150_000,
        max_resets: 4,
    };

    fn bounce(block: &mut BlockThrash, times: u64, every_us: u64) -> Option<u64> {
        (1..=times).find(|&n| {
            let to = if n % 2 == 0 { Side::Gpu } else { Side::Cpu };
            !block.moved(&RULE, PageSet::one(0), to, n * every_us * 1000).is_empty()
        })
    }

    #[test]
    fn the_fifth_move_of_a_fresh_page_is_thrashing() {
        assert_eq!(bounce(&mut BlockThrash::default(), 20, 50), Some(5));
    }

    #[test]
    fn slow_bouncing_is_none() {
        assert_eq!(bounce(&mut BlockThrash::default(), 20, 501), None);
    }

    #[test]
    fn a_side_that_is_not_spared_waits_and_the_other_goes_on() {
        let mut block = BlockThrash::default();
        bounce(&mut block, 5, 50);
        let gpu = block.hint(&RULE, 0, Side::Gpu, None, 260_000);
        assert_eq!(gpu.hint, Hint::None);
        let cpu = block.hint(&RULE, 0, Side::Cpu, None, 270_000);
        assert_eq!(cpu.hint, Hint::Throttle(760_000));
        assert!(cpu.began);
        assert!(block.hint(&RULE, 0, Side::Cpu, None, 760_000).ended);
        assert!(!block.thrashing.is_empty());
        block.forget(PageSet::one(0));
        assert!(block.thrashing.is_empty());
        assert_eq!(block.hint(&RULE, 0, Side::Cpu, None, 761_000), Answer::NONE);
    }

    #[test]
    fn a_preferred_host_is_pinned_at_once() {
        let mut block = BlockThrash::default();
        bounce(&mut block, 5, 50);
        assert_eq!(block.hint(&RULE, 0, Side::Gpu, Some(Side::Cpu), 260_000).hint, Hint::Pin(Side::Cpu));
        assert_eq!(block.expire(260_000 + 150_000_000), PageSet::one(0));
    }
}
