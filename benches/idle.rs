//! What the dashboard costs while nothing happens and while the simulator runs: processor time of all its threads and its
//! memory, from /proc, over 30 s each, at 200×60: `cargo bench --bench idle`. The simulator's own work is the worker's.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::time::Duration;
use support::dashboard::Dashboard;

const LASTS: Duration = Duration::from_secs(30);

fn measured(what: &str, dashboard: &mut Dashboard) {
    let (begun, (before, _)) = (dashboard.now(), dashboard.cost());
    dashboard.rest(LASTS);
    let (after, rss) = dashboard.cost();
    let percent = (after - before) as f64 / dashboard.now().since(begun).seconds();
    println!("{what:<24} {percent:5.2} % of a core, {:.1} MiB resident", rss as f64 / 1024.0);
}

fn main() {
    let mut dashboard = Dashboard::start("--device sim --trace full");
    dashboard.until(|screen| screen.contains("Residency"));
    dashboard.rest(Duration::from_secs(5));
    measured("running, Live", &mut dashboard);
    dashboard.press(" ");
    dashboard.rest(Duration::from_secs(3));
    for (screen, key) in [("Live", "\u{1b}OP"), ("Memory", "\u{1b}OQ"), ("Machine", "\u{1b}[15~")] {
        dashboard.press(key);
        dashboard.rest(Duration::from_secs(1));
        measured(&format!("paused, {screen}"), &mut dashboard);
    }
    dashboard.quit();
}
