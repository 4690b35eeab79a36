//! What a sampler of the card would see: means over fixed windows of virtual time.

use std::collections::VecDeque;

/// Window length in ns: that of the slowest real method, 100 ms.
pub const PERIOD: u64 = 100_000_000;

/// Windows kept for a sampler that does not come; after that the last one grows instead.
const KEPT: usize = 4096;

/// What goes on while time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Bytes over the link, host to device.
    pub htod: u64,
    /// Bytes over the link, device to host.
    pub dtoh: u64,
    /// Bytes from another GPU to the first.
    pub peer_in: u64,
    /// Bytes from the first GPU to another.
    pub peer_out: u64,
    /// Whether a kernel runs.
    pub busy: bool,
}

/// A finished window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Virtual time at which it ended, ns.
    pub end: u64,
    /// Its length, ns.
    pub length: u64,
    /// Bytes host to device.
    pub htod: f64,
    /// Bytes device to host.
    pub dtoh: f64,
    /// Bytes from another GPU to the first.
    pub peer_in: f64,
    /// Bytes from the first GPU to another.
    pub peer_out: f64,
    /// Time with a kernel running, ns.
    pub busy: u64,
    /// Memory of the card in use at its end, bytes.
    pub vram_used: u64,
}

/// The running window and the finished ones.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    start: u64,
    htod: f64,
    dtoh: f64,
    peer_in: f64,
    peer_out: f64,
    busy: u64,
    /// Up to when the running window has grown because the sampler did not come.
    grown: Option<u64>,
    finished: VecDeque<Window>,
}

impl Windows {
    /// Lets time pass under an even load.
    pub fn pass(&mut self, from: u64, to: u64, load: Load, vram_used: u64) {
        let span = to.saturating_sub(from);
        let mut at = from;
        let room = self.finished.len() < KEPT;
        if let Some(end) = self.grown.take_if(|_| room) {
            self.finish(end, vram_used);
        }
        while self.finished.len() < KEPT && to >= self.start + PERIOD {
            let end = self.start + PERIOD;
            self.add(end.saturating_sub(at), span, load);
            at = end.max(at);
            self.finish(end, vram_used);
        }
        self.add(to.saturating_sub(at), span, load);
        if to >= self.start + PERIOD {
            self.grown = Some(to);
        }
        if span == 0 {
            self.carry(load, 1.0);
        }
    }

    fn carry(&mut self, load: Load, share: f64) {
        self.htod += load.htod as f64 * share;
        self.dtoh += load.dtoh as f64 * share;
        self.peer_in += load.peer_in as f64 * share;
        self.peer_out += load.peer_out as f64 * share;
    }

    fn add(&mut self, part: u64, span: u64, load: Load) {
        if span > 0 {
            self.carry(load, part as f64 / span as f64);
            self.busy += if load.busy { part } else { 0 };
        }
    }

    fn finish(&mut self, end: u64, vram_used: u64) {
        let length = end - self.start;
        let (htod, dtoh, peer_in, peer_out) = (self.htod, self.dtoh, self.peer_in, self.peer_out);
        self.finished.push_back(Window { end, length, htod, dtoh, peer_in, peer_out, busy: self.busy, vram_used });
        (self.start, self.htod, self.dtoh, self.busy) = (end, 0.0, 0.0, 0);
        (self.peer_in, self.peer_out) = (0.0, 0.0);
    }

    /// Takes the windows that ended by `now`, oldest first.
    pub fn take(&mut self, now: u64) -> Vec<Window> {
        let ended = self.finished.iter().take_while(|w| w.end <= now).count();
        self.finished.drain(..ended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_spread_over_the_windows_it_spans() {
        let mut windows = Windows::default();
        windows.pass(0, PERIOD / 2, Load::default(), 0);
        windows.pass(PERIOD / 2, PERIOD * 5 / 2, Load { htod: 400, peer_in: 40, busy: true, ..Load::default() }, 7);
        let seen = windows.take(PERIOD * 3);
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].peer_in, seen[1].peer_in, seen[1].peer_out), (10.0, 20.0, 0.0));
        assert_eq!((seen[0].htod, seen[0].busy, seen[0].end), (100.0, PERIOD / 2, PERIOD));
        assert_eq!((seen[1].htod, seen[1].busy, seen[1].vram_used), (200.0, PERIOD, 7));
        windows.pass(PERIOD * 5 / 2, PERIOD * 3, Load::default(), 0);
        assert_eq!(windows.take(PERIOD * 3 - 1), []);
        assert_eq!(windows.take(PERIOD * 3)[0].htod, 100.0);
    }

    #[test]
    fn an_absent_sampler_costs_bounded_memory_and_loses_no_byte() {
        let mut windows = Windows::default();
        windows.pass(0, PERIOD * 2 * KEPT as u64, Load { htod: 1 << 20, ..Load::default() }, 0);
        assert_eq!(windows.finished.len(), KEPT);
        let first: f64 = windows.take(u64::MAX).iter().map(|w| w.htod).sum();
        let end = PERIOD * 2 * KEPT as u64;
        windows.pass(end, end + 1, Load::default(), 0);
        let late = windows.take(u64::MAX);
        assert_eq!(late.iter().map(|w| w.length).sum::<u64>(), PERIOD * KEPT as u64);
        let rest: f64 = late.iter().map(|w| w.htod).sum();
        assert!((first + rest - (1 << 20) as f64).abs() < 1.0, "{first} + {rest}");
    }
}
