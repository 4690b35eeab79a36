//! The UVM driver's events: decoded records and their folding into windows. The real reader and the simulator share both.

mod fold;
mod record;

pub use fold::TickFold;
pub use record::Record;
