//! `umtop demo`: recordings that are part of the program.

use super::dashboard::play;
use super::{Failure, print};
use crate::cli::{DemoArgs, EXIT_USAGE};
use crate::recording::Stored;
use std::fmt::Write as _;
use std::process::ExitCode;

/// A bundled recording.
pub(super) struct Demo {
    name: &'static str,
    title: &'static str,
    look: &'static str,
    bytes: &'static [u8],
}

macro_rules! demos {
    ($($name:literal, $title:literal, $look:literal;)+) => {
        &[$(Demo {
            name: $name,
            title: $title,
            look: $look,
            bytes: include_bytes!(concat!("../../assets/recordings/", $name, ".umr")),
        }),+]
    };
}

/// Every one of them, the best to begin with first.
pub(super) const DEMOS: &[Demo] = demos! {
    "prefetch-switched-on", "a sweep on demand, then with prefetch",
        "at the dashed line p was pressed: faults fall to none, and a pass takes an eighth of the time";
    "sequential", "the GPU reads what the CPU wrote, page by page on demand",
        "every pass faults anew; most bytes move by the driver's own prefetcher, not by faults";
    "sequential-prefetch", "the same sweep, data moved before the kernel",
        "the kernel does not fault once; all bytes are 'yours'";
    "random", "the same data, single elements of it in random order",
        "the GPU wants one element in 4096, yet everything moves: the driver takes whole blocks, in few faults";
    "random-prefetch", "random order after a prefetch",
        "order does not matter once the data is there";
    "ping-pong", "CPU and GPU take turns on one page",
        "a fight of some milliseconds, then nothing moves for 150: the driver has pinned the page";
    "ping-pong-prefetch", "the same turns with a prefetch before each",
        "a prefetch undoes the pin: every turn moves the page, and a pass takes four times as long";
    "read-mostly-trap", "the GPU writes what was called read-mostly",
        "faults by the ten thousand: each written page has to be taken away from the other side";
    "explicit-vs-managed", "one kernel over managed, pinned, pageable and zero-copy memory",
        "at each dashed line m was pressed: see PCIe and the time per pass";
    "overlap", "prefetch and kernel in pieces on two streams, then in one piece",
        "at each dashed line i was pressed: the pieces decide how much of the move hides";
    "peer", "two GPUs change one array in turns, on demand and then with prefetch",
        "on Faults (F3): bytes go from GPU to GPU, and only the first and the last turn cross the host's link";
    "watch-cuda", "another process, watched from outside",
        "the line of its source that makes the CPU fault";
    "watch-cupy", "a CuPy script on managed memory, watched from its start",
        "the function inside NumPy that makes the CPU fault, and what it costs each round";
};

pub(super) fn demo(args: &DemoArgs) -> Result<ExitCode, Failure> {
    let Some(name) = &args.name else {
        print(&list())?;
        return Ok(ExitCode::SUCCESS);
    };
    let names = || DEMOS.iter().map(|demo| demo.name).collect::<Vec<_>>().join(", ");
    match DEMOS.iter().find(|demo| demo.name == *name) {
        Some(demo) => play(&demo.stored(), args.speed, args.theme),
        None => Err(Failure::new(EXIT_USAGE, format!("unknown demo '{name}': choose one of {}", names()))),
    }
}

impl Demo {
    fn stored(&self) -> Stored {
        Stored::Bundled(self.name, self.bytes)
    }
}

fn list() -> String {
    let mut text = String::from("Recordings of an NVIDIA H200; play one with: umtop demo NAME\n\n");
    for Demo { name, title, look, .. } in DEMOS {
        let _ = writeln!(text, "{name} — {title}\n  look   {look}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Body, Origin};

    #[test]
    fn every_bundled_recording_is_a_measured_one_and_in_the_list() {
        for demo in DEMOS {
            let header = demo.stored().open().unwrap().next_event().unwrap().unwrap();
            let Body::Header(header) = header.body else { panic!("{}", demo.name) };
            assert_eq!(header.origin, Origin::Measured, "{}", demo.name);
            // A watched process's GPU is known only once it has a context.
            let card = header.gpu.map(|gpu| gpu.name.contains("H200"));
            assert_eq!(card, (!demo.name.starts_with("watch")).then_some(true), "{}", demo.name);
            assert!(list().contains(demo.name));
        }
    }
}
