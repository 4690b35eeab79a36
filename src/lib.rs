//! umtop: a live terminal dashboard for CUDA Unified Memory.
//!
//! ```text
//!  workloads/*.toml ─► workload ─► Plan ─┐                            Control (the only way back)
//!  kernels/*.ptx ────────────────────┐   ▼                        ◄──────────────────┐
//!                      device::Cuda ─► source::Live ─┐                               │
//!                      sim::World   ─►   + probes    ├─► Sink ─► channel ─► Session ─► ui::view
//!  recording ───────► source::Replay ────────────────┘    └─► recording::Writer     ─► report
//! ```
//!
//! Facts flow left to right as [`event::Event`]; only [`event::Control`] flows back. Nothing right of the sink
//! knows which source runs, except through the [`event::Origin`] in the header.

pub mod cli;
pub mod clock;
pub mod device;
pub mod doctor;
pub mod event;
pub mod export;
pub mod metrics;
pub mod probe;
pub mod recording;
pub mod render;
pub mod report;
pub mod run;
pub mod session;
pub mod sim;
pub mod source;
pub mod stats;
pub mod ui;
pub mod units;
pub mod workload;
