//! How fast events become a session: `cargo bench --bench fold`. A recording of an H200 is folded again and again, each time
//! into a new session. Counted are events, and the entries of the driver's queue that their windows stand for.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use divan::counter::ItemsCount;
use support::events;
use umtop::event::{Body, Event, UvmEvents};
use umtop::session::Session;

/// Level full: a sweep on demand, many small pages in random order, a fight over one block, two GPUs.
const RECORDINGS: [&str; 4] = ["sequential", "random", "ping-pong-block", "peer"];

fn main() {
    for name in RECORDINGS {
        let all = events(name);
        let entries: u64 = all.iter().map(entries).sum();
        println!("{name}: {} events stand for {entries} entries of the driver's queue", all.len());
    }
    divan::main();
}

/// Entries that a window sums up: faults, a replay for each batch, copies, and what else is counted.
fn entries(event: &Event) -> u64 {
    let Body::Uvm(tick) = &event.body else { return 0 };
    let of = |e: &UvmEvents| {
        let faults: u64 = e.gpu_faults.iter().map(|(_, n)| n).sum();
        let copies: u64 = e.migrated.iter().map(|m| m.copies).sum();
        let remote: u64 = e.remote_maps.iter().map(|(_, n)| n).sum();
        faults + copies + remote + e.batches + e.cpu_faults + e.thrashing + e.throttled
    };
    tick.events.as_deref().map_or(0, of)
}

fn folded(all: &[Event]) -> Session {
    let mut session = Session::default();
    all.iter().for_each(|event| session.apply(event));
    session
}

#[divan::bench(args = RECORDINGS, sample_count = 30, sample_size = 1)]
fn events_a_second(bencher: divan::Bencher, name: &str) {
    let all = events(name);
    bencher.counter(ItemsCount::new(all.len())).bench_local(|| folded(&all));
}

#[divan::bench(args = RECORDINGS, sample_count = 30, sample_size = 1)]
fn driver_entries_a_second(bencher: divan::Bencher, name: &str) {
    let all = events(name);
    bencher.counter(ItemsCount::new(all.iter().map(entries).sum::<u64>())).bench_local(|| folded(&all));
}
