//! From the start of the program to its first frame, on the simulator: `cargo bench --bench startup`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use support::dashboard::Dashboard;
use support::percentiles;
use umtop::units::Nanos;

const STARTS: usize = 40;

fn main() {
    let time = |wanted: &dyn Fn(&str) -> bool| -> Vec<Nanos> {
        let one = |_| {
            let mut dashboard = Dashboard::start("--device sim");
            let time = dashboard.until(wanted);
            dashboard.quit();
            time
        };
        (0..STARTS).map(one).collect()
    };
    percentiles("start to first frame", time(&|screen| screen.contains("F1 Live")));
    percentiles("start to the machine's name", time(&|screen| screen.contains("SIMULATED")));
    // The least that a start costs here: another program of this size that prints and ends.
    let version = |_| {
        let mut program = Dashboard::start("--version");
        program.until(|screen| screen.contains("umtop"))
    };
    percentiles("start to umtop --version", (0..STARTS).map(version).collect());
}
