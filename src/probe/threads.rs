//! Processor time of umtop's own threads, so that its cost can be told from that of the workload which it runs.

use crate::units::Nanos;
use std::collections::HashMap;
use std::path::Path;

/// Processor time of umtop's threads between two looks, by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The main thread: folding events and drawing.
    pub screen: Nanos,
    /// `umtop-uvm`: reading the driver's queue; `None` if it does not run.
    pub driver: Option<Nanos>,
    /// Everything else that umtop runs, but the workload.
    pub other: Nanos,
}

/// What a thread is for, by its name (of which the kernel keeps 15 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Screen,
    Driver,
    Other,
    /// The worker, and threads that CUDA or a workload has started.
    Workload,
}

fn role(thread: u32, process: u32, name: &str) -> Role {
    match name.trim_end() {
        _ if thread == process => Role::Screen,
        "umtop-uvm" => Role::Driver,
        "umtop-worker" => Role::Workload,
        name if name.starts_with("umtop-") => Role::Other,
        _ => Role::Workload,
    }
}

/// The threads of this process at the last look.
#[derive(Debug, Default)]
pub struct Threads {
    before: HashMap<u32, u64>,
}

impl Threads {
    /// What was spent since the last look (at the first, since each thread began). `None` if this kernel does not count it:
    /// `/proc/self/task/*/schedstat`, ns on a processor.
    pub fn look(&mut self) -> Option<Spent> {
        let tasks = Path::new("/proc/self/task");
        let mut now = HashMap::new();
        let mut spent = Spent::default();
        for task in tasks.read_dir().ok()?.flatten() {
            let Some(thread) = task.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // A thread may end between the listing and the reading.
            let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
            let Some((name, total)) = read("comm").zip(read("schedstat").as_deref().and_then(on_cpu)) else { continue };
            now.insert(thread, total);
            let since = Nanos(total.saturating_sub(self.before.get(&thread).copied().unwrap_or(0)));
            match role(thread, std::process::id(), &name) {
                Role::Screen => spent.screen.0 += since.0,
                Role::Driver => spent.driver.get_or_insert_default().0 += since.0,
                Role::Other => spent.other.0 += since.0,
                Role::Workload => {}
            }
        }
        self.before = now;
        (!self.before.is_empty()).then_some(spent)
    }
}

/// The first of the three numbers of a `schedstat`: ns on a processor.
fn on_cpu(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_thread_is_known_by_its_name() {
        for (name, is) in [
            ("umtop-uvm\n", Role::Driver),
            ("umtop-worker\n", Role::Workload),
            ("umtop-nvml-gpm\n", Role::Other),
            ("cuda-EvtHandlr\n", Role::Workload),
        ] {
            assert_eq!(role(8, 7, name), is, "{name}");
        }
        assert_eq!(role(7, 7, "umtop\n"), Role::Screen);
        assert_eq!((on_cpu("12 34 5\n"), on_cpu("")), (Some(12), None));
    }

    #[test]
    fn what_the_driver_s_thread_spends_is_seen_apart() {
        let mut threads = Threads::default();
        if threads.look().is_none() {
            // This kernel does not count; the probe says so.
            return;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let burn = move || while !seen.load(Ordering::Relaxed) {};
        let thread = std::thread::Builder::new().name("umtop-uvm".to_owned()).spawn(burn).unwrap();
        // Until the kernel has given it a millisecond: there is nothing to wait on but that.
        let mut spent = 0;
        while spent < 1_000_000 {
            spent += threads.look().unwrap().driver.unwrap_or_default().0;
        }
        stop.store(true, Ordering::Relaxed);
        thread.join().unwrap();
        threads.look().unwrap();
        assert_eq!(threads.look().unwrap().driver, None, "it has ended");
    }
}
