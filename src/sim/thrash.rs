//! Thrashing mitigation of one block: detect pages that bounce, make one side wait, at last pin and map remotely.

use super::pages::{PAGES, PageSet};
use super::params::Params;
use super::side::{Side, Sides, Topology};

/// What a fault on a page is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing special.
    None,
    /// Wait until this virtual time (ns).
    Throttle(u64),
    /// Live here; the others map it remotely if they can.
    Pin(Side),
}

/// A fault about which thrashing mitigation is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The driver's settings.
    pub params: &'a Params,
    /// Who can map whose memory.
    pub topology: Topology,
    /// The page within the block.
    pub at: usize,
    /// Who faulted.
    pub who: Side,
    /// The range's preferred location.
    pub preferred: Option<Side>,
    /// Where the page lives, as near to `who` as it does; `None` if nowhere.
    pub lives: Option<Side>,
    /// Virtual time, ns.
    pub now: u64,
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
    /// Who has moved or asked for it.
    sides: Sides,
    throttled: Sides,
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

/// Events of one page that are counted at most: the driver's counter has three bits.
const MOST_EVENTS: u8 = 7;

impl BlockThrash {
    /// Takes note that a fault moved pages to a processor, or took its mapping away; returns the pages that are found to
    /// thrash by it.
    pub fn moved(&mut self, params: &Params, moved: PageSet, to: Side, now: u64) -> PageSet {
        if params.thrashing_enable == 0 {
            return PageSet::EMPTY;
        }
        let lapse = params.lapse_ns();
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
            let quiet = page.last != 0 && now - page.last > params.lapse_ns();
            if quiet && page.thrashes(params) && page.pinned.is_none() {
                *page = Page { last: now, throttles: page.throttles, ..Page::default() };
                page.sides.set(to, true);
                self.thrashing -= PageSet::one(at);
                continue;
            }
            if page.met(params, to, now) {
                found.insert(at);
            }
            if !quiet && page.thrashes(params) {
                self.last_thrash = now;
            }
        }
        self.thrashing |= found;
        found
    }

    /// Takes note that a write took the mappings of `loser` away over a span of pages; returns the pages that are found to thrash by it.
    pub fn revoked(&mut self, params: &Params, span: PageSet, loser: Side, now: u64) -> PageSet {
        if span.is_empty() || params.thrashing_enable == 0 {
            return PageSet::EMPTY;
        }
        // Both sides of a revocation have just used the block, so the driver watches its pages from now on. A pause does
        // not start the count anew: on a real card each page is found to thrash about once between two reads.
        let pages = self.pages.get_or_insert_with(|| Box::new([Page::default(); PAGES]));
        self.last = Some((loser, now));
        let mut found = PageSet::EMPTY;
        for at in span.iter() {
            if pages[at].met(params, loser, now) {
                found.insert(at);
            }
        }
        if !found.is_empty() {
            self.last_thrash = now;
        }
        self.thrashing |= found;
        found
    }

    /// What a fault of `who` on a page is to do; `preferred` is the range's preferred location, `lives` where the page is.
    pub fn hint(&mut self, ask: &Ask) -> Answer {
        let Ask { params, at, who, now, .. } = *ask;
        let Some(pages) = &mut self.pages else { return Answer::NONE };
        if params.thrashing_enable == 0 || !pages[at].thrashes(params) {
            return Answer::NONE;
        }
        let quiet = now - self.last_thrash > params.epoch_ns() && u64::from(self.resets) < params.thrashing_max_resets;
        if quiet && pages.iter().all(|p| p.pinned.is_none()) {
            self.pages = None;
            self.thrashing = PageSet::EMPTY;
            self.resets += 1;
            return Answer::NONE;
        }
        let page = &mut pages[at];
        let mut answer = Answer::NONE;
        if page.throttled.contains(who) {
            if now < page.until && page.spared != Some(who) {
                return Answer { hint: Hint::Throttle(page.until), ..answer };
            }
            page.throttled.set(who, false);
            answer.ended = true;
            if page.throttled.is_empty() {
                page.until = 0;
            }
        }
        if page.pinned.is_none() && now - page.last > params.lapse_ns() {
            return answer;
        }
        page.sides.set(who, true);
        if now > page.until {
            page.until = now + params.nap_ns();
            page.spared = if page.spared == Some(who) { None } else { Some(who) };
        } else if page.spared.is_none() {
            page.spared = Some(who);
        }
        match page.verdict(ask) {
            Hint::Throttle(_) => {
                answer.hint = Hint::Throttle(page.until);
                answer.began = !page.throttled.contains(who);
                page.throttled.set(who, true);
                if answer.began && page.pinned.is_none() {
                    page.throttles = page.throttles.saturating_add(1);
                }
            }
            Hint::Pin(side) => {
                answer.hint = Hint::Pin(side);
                let until = page.pinned.map_or(now.saturating_add(params.pin_ns()), |(_, until)| until);
                if page.pinned.replace((side, until)).is_none() {
                    answer.pinned = Some(until);
                    page.throttles = 0;
                    page.throttled = Sides::default();
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
    /// Counts an event; says whether the page thrashes by it.
    fn met(&mut self, params: &Params, side: Side, now: u64) -> bool {
        let soon = self.last != 0 && now - self.last <= params.lapse_ns();
        self.last = now;
        self.sides.set(side, true);
        let before = self.events;
        self.events = (self.events + u8::from(soon)).min(MOST_EVENTS);
        before != self.events && u64::from(self.events) == params.thrashing_threshold
    }

    fn thrashes(&self, params: &Params) -> bool {
        u64::from(self.events) >= params.thrashing_threshold
    }

    /// The driver's choice, its rules in its order.
    fn verdict(&self, ask: &Ask) -> Hint {
        let Ask { topology, who, preferred, .. } = *ask;
        let throttle = Hint::Throttle(self.until);
        let spared = self.spared == Some(who);
        let ripe = u64::from(self.throttles) >= ask.params.thrashing_pin_threshold;
        let all_reach = |place: Side| self.sides.iter().all(|side| topology.reaches(side, place));
        if let Some(home) = preferred.filter(|home| all_reach(*home)) {
            return Hint::Pin(home);
        }
        let foreign = preferred.is_none_or(|home| !self.sides.contains(home));
        let native = |place| self.sides.iter().all(|side| topology.native_atomics(side, place));
        if let Some(lives) = ask.lives.filter(|&place| foreign && native(place)) {
            return Hint::Pin(lives);
        }
        if preferred == Some(who) {
            return match self.pinned {
                Some((side, _)) if side == who || spared => Hint::Pin(who),
                Some(_) => throttle,
                None if !spared => throttle,
                None if ripe => Hint::Pin(who),
                None => Hint::None,
            };
        }
        match self.pinned {
            Some(_) if spared => Hint::Pin(if all_reach(who) { who } else { Side::CPU }),
            Some((side, _)) if topology.reaches(who, side) => Hint::Pin(side),
            Some(_) => throttle,
            None if !spared => throttle,
            None if ripe => Hint::Pin(who),
            None => Hint::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PCIE: Topology = Topology { gpus: 1, peers: false };

    fn bounce(block: &mut BlockThrash, between: [Side; 2], times: u64, every_us: u64) -> Option<u64> {
        (1..=times).find(|&n| {
            let to = between[(n % 2) as usize];
            !block.moved(&Params::default(), PageSet::one(0), to, n * every_us * 1000).is_empty()
        })
    }

    const BOTH: [Side; 2] = [Side::GPU, Side::CPU];

    fn hint(block: &mut BlockThrash, topology: Topology, who: Side, preferred: Option<Side>, now: u64) -> Answer {
        let params = Params::default();
        block.hint(&Ask { params: &params, topology, at: 0, who, preferred, lives: Some(who), now })
    }

    #[test]
    fn the_fifth_move_of_a_fresh_page_is_thrashing() {
        assert_eq!(bounce(&mut BlockThrash::default(), BOTH, 20, 50), Some(5));
    }

    #[test]
    fn slow_bouncing_is_none() {
        assert_eq!(bounce(&mut BlockThrash::default(), BOTH, 20, 501), None);
    }

    #[test]
    fn a_side_that_is_not_spared_waits_and_the_other_goes_on() {
        let mut block = BlockThrash::default();
        bounce(&mut block, BOTH, 5, 50);
        let gpu = hint(&mut block, PCIE, Side::GPU, None, 260_000);
        assert_eq!(gpu.hint, Hint::None);
        let cpu = hint(&mut block, PCIE, Side::CPU, None, 270_000);
        assert_eq!(cpu.hint, Hint::Throttle(760_000));
        assert!(cpu.began);
        assert!(hint(&mut block, PCIE, Side::CPU, None, 760_000).ended);
        assert!(!block.thrashing.is_empty());
        block.forget(PageSet::one(0));
        assert!(block.thrashing.is_empty());
        assert_eq!(hint(&mut block, PCIE, Side::CPU, None, 761_000), Answer::NONE);
    }

    #[test]
    fn a_preferred_host_is_pinned_at_once() {
        let mut block = BlockThrash::default();
        bounce(&mut block, BOTH, 5, 50);
        assert_eq!(hint(&mut block, PCIE, Side::GPU, Some(Side::CPU), 260_000).hint, Hint::Pin(Side::CPU));
        assert_eq!(block.expire(260_000 + 150_000_000), PageSet::one(0));
    }

    #[test]
    fn gpus_with_a_link_share_a_page_where_it_lives() {
        let second = Side::of(crate::event::Proc::Gpu(1)).unwrap();
        let linked = Topology { gpus: 2, peers: true };
        let mut block = BlockThrash::default();
        bounce(&mut block, [Side::GPU, second], 5, 50);
        assert_eq!(hint(&mut block, linked, second, None, 260_000).hint, Hint::Pin(second));
        let mut block = BlockThrash::default();
        bounce(&mut block, [Side::GPU, second], 5, 50);
        let apart = Topology { peers: false, ..linked };
        assert_eq!(hint(&mut block, apart, second, None, 260_000).hint, Hint::None, "the first who asks is spared");
    }

    #[test]
    fn mitigation_can_be_switched_off() {
        let off = Params { thrashing_enable: 0, ..Params::default() };
        let mut block = BlockThrash::default();
        let found = (1..20).any(|n| !block.moved(&off, PageSet::one(0), BOTH[n as usize % 2], n * 50_000).is_empty());
        assert!(!found);
    }
}
