//! Where events come from: a live device with its probes, or a recording. Both feed one sink.

mod batch;
mod live;
mod pace;
mod replay;
mod sink;
pub mod watch;

pub use batch::Batch;
pub use live::{Live, Work};
pub use pace::Pace;
pub use replay::Replay;
pub use sink::Sink;
