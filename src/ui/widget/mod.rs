//! Widgets over plain slices: they know nothing of the session.

pub mod bars;
pub mod chart;
pub mod scale;
