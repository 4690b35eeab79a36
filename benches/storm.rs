//! Whether the driver's queue loses anything in a fault storm: so many entries a second come, as many at once as are due when the
//! reader looks, which it does each millisecond as `umtop-uvm` does: `cargo bench --bench storm`. Five seconds for each rate.
#![allow(clippy::panic)]

#[path = "support/entries.rs"]
mod entries;

use entries::sweep;
use std::time::Duration;
use umtop::clock::Clock;
use umtop::probe::uvm::FilledRing;
use umtop::units::Nanos;

/// As the reader opens it.
const POWER: u32 = 20;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(1);
const WINDOW: Nanos = Nanos::millis(10);
const LASTS: Nanos = Nanos::millis(5_000);

/// Rates to try, faults a second. An H200 raises some 300 000.
const RATES: [u32; 4] = [300_000, 1_000_000, 3_000_000, 10_000_000];

fn rest(time: Duration) {
    #[expect(clippy::disallowed_methods, reason = "a bench that keeps a pace")]
    std::thread::sleep(time);
}

fn storm(rate: u32) {
    let Ok(mut ring) = FilledRing::new(POWER, &sweep(false)) else { panic!("no memory for the queue") };
    let clock = Clock::start();
    let (mut put, mut lost, mut folded, mut window, mut busy) = (0u64, 0u64, 0u64, clock.now(), Nanos(0));
    let mut last = false;
    while !last {
        rest(LOOK);
        let begun = clock.now();
        last = begun.0 >= LASTS.0;
        let due = (begun.seconds() * f64::from(rate)) as u64 - put - lost;
        let wanted = u32::try_from(due).unwrap_or(u32::MAX);
        let come = ring.put(wanted);
        (put, lost) = (put + u64::from(come), lost + u64::from(wanted - come));
        ring.drain();
        if last || begun.since(window) >= WINDOW {
            window = begun;
            folded += ring.take().map_or(0, |events| events.gpu_faults.iter().map(|(_, n)| n).sum::<u64>());
        }
        busy = Nanos(busy.0 + clock.now().since(begun).0);
    }
    // Some one entry in 257 is a replay.
    assert!((put - put / 200 - 256..=put).contains(&folded), "{folded} of {put} are folded");
    println!(
        "{:>5.1} M faults/s asked for: {put} put, {lost} lost, reader busy {:.1} % of a core",
        f64::from(rate) / 1e6,
        busy.0 as f64 / LASTS.0 as f64 * 100.0
    );
}

fn main() {
    RATES.into_iter().for_each(storm);
}
