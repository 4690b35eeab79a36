//! What several benches share: recordings, percentiles, a dashboard in a pseudo-terminal.
#![allow(dead_code, reason = "each bench uses its part")]

pub mod dashboard;

use std::path::Path;
use umtop::event::Event;
use umtop::recording::Reader;
use umtop::units::Nanos;

/// All events of a recording that comes with umtop.
pub fn events(name: &str) -> Vec<Event> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/recordings").join(name).with_extension("umr");
    let mut reader = Reader::open(&path).unwrap();
    std::iter::from_fn(|| reader.next_event().unwrap()).collect()
}

/// Prints a line of percentiles; divan, which does the throughputs, has none above the median.
pub fn percentiles(what: &str, mut times: Vec<Nanos>) {
    times.sort_unstable();
    let n = times.len();
    let at = |q: f64| times[((n as f64 * q).ceil() as usize).clamp(1, n) - 1];
    let [p50, p95, p99, most] = [at(0.5), at(0.95), at(0.99), times[n - 1]].map(|time| time.to_string());
    println!("{what:<34} n {n:>4}   p50 {p50:>8}   p95 {p95:>8}   p99 {p99:>8}   most {most:>8}");
}
