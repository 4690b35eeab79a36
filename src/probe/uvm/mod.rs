//! The UVM driver's events: decoded records and their folding into windows. The real reader and the simulator share both.
//!
//! The reader ([`attach`]) is a thread over the driver's tools device; it needs no toolkit and no privilege.

mod abi;
mod decode;
mod error;
mod filled;
mod fold;
mod memory;
mod numbers;
mod params;
mod reader;
mod record;
mod ring;
mod sites;
mod space;
mod thread;
mod tracker;
mod window;

pub use error::UvmError;
#[doc(hidden)]
pub use filled::FilledRing;
pub use fold::TickFold;
pub use params::module_parameters;
pub use record::Record;
pub use thread::{UvmTracer, attach, attach_to, await_spaces};
pub use tracker::{gpu_uuids, node_status, own_uvm_fds};

use crate::event::ProbeInfo;
use crate::units::Nanos;

/// How the driver is watched, for the list of probes.
pub fn info() -> ProbeInfo {
    ProbeInfo {
        name: "uvm".to_owned(),
        method: "/dev/nvidia-uvm-tools: counter page and event queue, folded into 10 ms windows".to_owned(),
        period: Nanos::millis(10),
        note: "only this process's managed memory".to_owned(),
        cost: "a flush of 35 µs each 10 ms; level full doubles a fault-bound sweep".to_owned(),
    }
}

/// Decodes and folds entries as the driver's queue holds them, for tests that bring bytes of their own. Gives how many made
/// no sense.
#[doc(hidden)]
pub fn fold_entries(bytes: &[u8]) -> u64 {
    let (mut fold, numbers) = (TickFold::default(), numbers::Numbers::default());
    fold.set_level(crate::event::TraceLevel::Full);
    let (entries, _) = bytes.as_chunks::<{ abi::ENTRY_BYTES }>();
    for entry in entries {
        match decode::decode(entry, &numbers).filter(Record::plausible) {
            Some(record) => fold.add(&record),
            None => fold.malformed(),
        }
    }
    fold.take().map_or(0, |events| events.malformed)
}
