//! Workloads: what a file says, whether this machine can run it, and how a pass is run.

mod expected;
mod file;
mod guard;
mod library;
mod pass;
mod plan;
mod step;
mod tally;
mod variant;

pub use file::{Workload, WorkloadError};
pub use guard::{GuardError, check_footprint, vram_room};
pub use library::Library;
pub use pass::{Observe, PassError, PassResult, Runner};
pub use plan::{Plan, PlanStep, plan};
pub use step::{Side, Step};
pub use variant::{Choice, Member, Variant};

#[cfg(test)]
pub(crate) use plan::tests as plan_tests;
