//! A value, or why there is none.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A measured value or the reason for its absence. There is no default: unknown is never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// In the metric's unit.
    Value(f64),
    /// No value.
    Absent(Why),
}

/// Why a value is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// This hardware, driver or mode does not have it; the text says which.
    NotSupported(String),
    /// It exists but we may not read it; the text says what to do.
    Denied(String),
    /// It was there and was lost.
    Lost(String),
    /// The source has not answered within its deadline.
    Stalled(String),
    /// It answered, but the answer contradicts what is known.
    Suspect(String),
}

impl Reading {
    /// A measured value; suspect if it is no number or infinite, which no recording can hold.
    pub fn measured(value: f64) -> Self {
        if value.is_finite() {
            Reading::Value(value)
        } else {
            Reading::Absent(Why::Suspect(format!("the source answered {value}")))
        }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Reading::Value(v) => Some(*v),
            Reading::Absent(_) => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match self {
            Why::NotSupported(t) => ("not supported", t),
            Why::Denied(t) => ("denied", t),
            Why::Lost(t) => ("lost", t),
            Why::Stalled(t) => ("stalled", t),
            Why::Suspect(t) => ("suspect", t),
        };
        if text.is_empty() { f.write_str(word) } else { write!(f, "{word}: {text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_no_value() {
        assert_eq!(Reading::measured(-0.5), Reading::Value(-0.5));
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(Reading::measured(odd), Reading::Absent(Why::Suspect(_))), "{odd}");
        }
    }
}
