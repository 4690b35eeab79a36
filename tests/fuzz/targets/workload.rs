//! Workload files: refused in words, or planned for a machine, or refused by the plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umtop::device::Device;
use umtop::event::TraceLevel;
use umtop::sim;
use umtop::workload::{Workload, plan};

fuzz_target!(|text: &str| {
    let Ok(workload) = Workload::parse("fuzz.toml", text) else { return };
    let machine = sim::open("h200-x2").expect("a bundled profile");
    for variant in workload.variants() {
        for size in [workload.memory.min, workload.memory.size, workload.memory.max.unwrap_or(workload.memory.size)] {
            if let Ok(plan) = plan(&workload, &workload.settings(variant, size, TraceLevel::Off), machine.device.caps())
            {
                // A pass may be as long as the file says: its beginning is enough.
                assert!(plan.steps().take(1_000).all(|step| step.count > 0));
            }
        }
    }
});
