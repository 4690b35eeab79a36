//! The UVM driver's events: decoded records and their folding into windows. The real reader and the simulator share both.

mod record;

pub use record::Record;
