//! From a key to the picture that it changes, at 200×60, while the simulator faults as fast as it can: `cargo bench --bench
//! keys`. The help is opened and closed; between keys pass other parts of a frame's period.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::time::Duration;
use support::dashboard::Dashboard;
use support::percentiles;
use umtop::units::Nanos;

const KEYS: u64 = 300;
/// Only the help's frame says this.
const MARK: &str = "Esc closes";

fn measured(args: &str) -> Vec<Nanos> {
    let mut dashboard = Dashboard::start(args);
    dashboard.until(|screen| screen.contains("Residency"));
    dashboard.rest(Duration::from_secs(2));
    let times = (0..KEYS)
        .map(|i| {
            dashboard.rest(Duration::from_millis(50 + i * 7 % 33));
            dashboard.press("?");
            let open = i % 2 == 0;
            dashboard.until(|screen| screen.contains(MARK) == open)
        })
        .collect();
    dashboard.quit();
    times
}

fn main() {
    percentiles("key to picture, 256 MiB random, full", measured("--device sim --workload random --trace full"));
    percentiles("key to picture, ping-pong, full", measured("--device sim --workload ping-pong-block --trace full"));
}
