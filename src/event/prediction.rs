//! What a workload's file predicts of the figures, so that a bench can say whether it came out so.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure of a run: the median over its passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The time that the workload counts.
    Time,
    /// Bytes from the host to the device.
    BytesHtod,
    /// Bytes from the device to the host.
    BytesDtoh,
    /// Bytes between the two GPUs, both ways together (trace level full).
    BytesBetweenGpus,
    /// Counted GPU faults.
    GpuFaults,
    /// CPU faults.
    CpuFaults,
    /// Thrashing, throttling and remote maps together.
    Thrash,
}

impl Figure {
    /// Whether it counts bytes, which are said in footprints.
    pub fn is_bytes(self) -> bool {
        matches!(self, Figure::BytesHtod | Figure::BytesDtoh | Figure::BytesBetweenGpus)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Figure::Time => "time",
            Figure::BytesHtod => "bytes HtoD",
            Figure::BytesDtoh => "bytes DtoH",
            Figure::BytesBetweenGpus => "bytes between GPUs",
            Figure::GpuFaults => "GPU faults",
            Figure::CpuFaults => "CPU faults",
            Figure::Thrash => "thrash events",
        })
    }
}

/// A bound on one figure, or on the ratio of one to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Which figure.
    pub what: Figure,
    /// Of which compared variant; none for the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Divided by the figure of this variant. Without it, bytes are divided by the footprint, and counts are absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

impl Prediction {
    /// Whether a value is within the bounds.
    pub fn holds(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least) && self.at_most.is_none_or(|most| value <= most)
    }
}

/// For people: `time of on demand ÷ explicit copy, at least 3`.
impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if let Some(of) = &self.of {
            write!(f, " of {of}")?;
        }
        match &self.over {
            Some(over) => write!(f, " ÷ {over}")?,
            None if self.what.is_bytes() => f.write_str(" ÷ footprint")?,
            None => {}
        }
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => write!(f, ", from {least} to {most}"),
            (Some(least), None) => write!(f, ", at least {least}"),
            (None, Some(most)) => write!(f, ", at most {most}"),
            (None, None) => Ok(()),
        }
    }
}
