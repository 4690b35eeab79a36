//! How fast the driver's queue is emptied: 64-byte entries a second on one core, through the real ring, decoder and fold.
//! `cargo bench --bench drain`. A drain is of a whole queue of 2^20 entries, and ends a window as every 10 ms does.
#![allow(clippy::panic)]

#[path = "support/entries.rs"]
mod entries;

use divan::counter::{BytesCount, ItemsCount};
use entries::sweep;
use umtop::probe::uvm::FilledRing;

/// As the reader opens it.
const POWER: u32 = 20;
fn main() {
    divan::main();
}

fn drained(bencher: divan::Bencher, full: bool) {
    let Ok(mut ring) = FilledRing::new(POWER, &sweep(full)) else { panic!("no memory for the queue") };
    let entries = ring.put(u32::MAX);
    ring.drain();
    let known = ring.take().is_some_and(|events| events.malformed == 0 && events.batches > 0);
    assert!(known, "entries that the decoder does not know");
    bencher.counter(ItemsCount::new(entries)).counter(BytesCount::new(u64::from(entries) * 64)).bench_local(|| {
        ring.put(u32::MAX);
        ring.drain();
        ring.take()
    });
}

#[divan::bench(sample_size = 1, sample_count = 30)]
fn level_faults(bencher: divan::Bencher) {
    drained(bencher, false);
}

#[divan::bench(sample_size = 1, sample_count = 30)]
fn level_full(bencher: divan::Bencher) {
    drained(bencher, true);
}
