//! What a machine can do, each "no" with its reason.

use serde::{Deserialize, Serialize};

/// A capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Can {
    /// Yes.
    Yes,
    /// No, and why.
    No(String),
}

impl Can {
    /// Whether it is a yes.
    pub fn yes(&self) -> bool {
        matches!(self, Can::Yes)
    }

    /// The reason, if it is a no.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Can::Yes => None,
            Can::No(why) => Some(why),
        }
    }

    /// `Yes` if `cond`, else `No(why)`.
    pub fn when(cond: bool, why: &str) -> Self {
        if cond { Can::Yes } else { Can::No(why.to_owned()) }
    }
}

/// What the device can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// `cuMemAllocManaged` works.
    pub managed: Can,
    /// CPU and GPU may touch managed memory at the same time (`concurrentManagedAccess`): pages migrate on fault.
    pub concurrent: Can,
    /// Prefetch works.
    pub prefetch: Can,
    /// Advice works.
    pub advise: Can,
    /// The GPU can read ordinary `malloc` memory (`pageableMemoryAccess`).
    pub pageable: Can,
    /// The GPU uses the host's page tables (hardware coherent, such as Grace Hopper).
    pub host_page_tables: Can,
    /// Mapped pinned memory works.
    pub zero_copy: Can,
    /// The UVM tools device can be used; without it only trace level off works.
    pub trace: Can,
    /// Number of GPUs usable here.
    pub gpus: u32,
}
