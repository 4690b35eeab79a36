//! Quantities and the only code that formats them.
//!
//! Memory is binary (KiB, MiB, GiB), rates are decimal (GB/s), time is in nanoseconds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A moment: nanoseconds since the session's start, on the session's one clock
/// (`CLOCK_MONOTONIC_RAW` on a real machine, the virtual clock in the simulator).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub u64);

/// 4 KiB: the page that the driver tracks on x86-64.
pub const PAGE: u64 = 4 << 10;
/// 2 MiB: the driver's VA block, its unit of decision and of physical GPU allocation.
pub const BLOCK: u64 = 2 << 20;

impl Bytes {
    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }
}

impl Nanos {
    /// `n` microseconds.
    pub const fn micros(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// Seconds as a float, for rates.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Stamp {
    /// Time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Stamp) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This moment plus `by`.
    pub fn plus(self, by: Nanos) -> Stamp {
        Stamp(self.0.saturating_add(by.0))
    }

    /// Seconds since the session's start.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Bytes per second over a window; `None` if the window is empty.
pub fn bytes_per_second(bytes: Bytes, over: Nanos) -> Option<f64> {
    (over.0 > 0).then(|| bytes.0 as f64 / over.seconds())
}

impl fmt::Display for Bytes {
    /// `256 MiB`, `1.5 GiB`, `4 KiB`, `17 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n >= 1 << 30 => scaled(n, 30, "GiB"),
            n if n >= 1 << 20 => scaled(n, 20, "MiB"),
            n if n >= 1 << 10 => scaled(n, 10, "KiB"),
            n => format!("{n} B"),
        };
        f.pad(&text)
    }
}

fn scaled(n: u64, shift: u32, unit: &str) -> String {
    let value = n as f64 / (1u64 << shift) as f64;
    if n.trailing_zeros() >= shift || value >= 100.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

impl fmt::Display for Nanos {
    /// `41.2 ms`, `75 µs`, `1.25 s`: three significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let text = match self.0 {
            n if n >= 1_000_000_000 => format!("{} s", three(ns / 1e9)),
            n if n >= 1_000_000 => format!("{} ms", three(ns / 1e6)),
            n if n >= 1_000 => format!("{} µs", three(ns / 1e3)),
            n => format!("{n} ns"),
        };
        f.pad(&text)
    }
}

fn three(x: f64) -> String {
    if x >= 99.95 {
        format!("{x:.0}")
    } else if x >= 9.995 {
        format!("{x:.1}")
    } else {
        format!("{x:.2}")
    }
}

/// A rate in GB/s (decimal), from bytes per second: `6.12`, `55.3`.
pub fn gb_per_s(bytes_per_second: f64) -> String {
    let gb = bytes_per_second / 1e9;
    if gb >= 99.95 {
        format!("{gb:.0}")
    } else if gb >= 9.995 {
        format!("{gb:.1}")
    } else {
        format!("{gb:.2}")
    }
}

/// A count with a decimal suffix: `412 k`, `1.20 M`, `17`.
pub fn count(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{} G", three(n / 1e9)),
        n if n >= 1e6 => format!("{} M", three(n / 1e6)),
        n if n >= 1e4 => format!("{} k", three(n / 1e3)),
        n => format!("{n:.0}"),
    }
}

/// Why a size could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SizeError {
    /// Not a number with a unit.
    #[error("'{0}' is not a size: write a number and a unit, such as 64KiB, 256MiB or 1GiB")]
    NotASize(String),
    /// Zero or negative.
    #[error("size must be above zero, not '{0}'")]
    NotPositive(String),
    /// Does not fit in 64 bits.
    #[error("size '{0}' is too large")]
    TooLarge(String),
}

impl FromStr for Bytes {
    type Err = SizeError;

    /// `256MiB`, `1 GiB`, `4k`, `1.5G`, `1048576`; K, M, G are binary, as are KiB, MiB, GiB; KB, MB, GB are decimal.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let bad = || SizeError::NotASize(text.to_owned());
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(SizeError::NotPositive(text.to_owned()));
        }
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number: f64 = number.parse().map_err(|_| bad())?;
        let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            _ => return Err(bad()),
        };
        let bytes = number * scale as f64;
        if bytes < 1.0 {
            return Err(SizeError::NotPositive(text.to_owned()));
        }
        if bytes >= u64::MAX as f64 {
            return Err(SizeError::TooLarge(text.to_owned()));
        }
        Ok(Bytes(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_usual_spelling() {
        for (text, bytes) in [
            ("256MiB", 256 << 20),
            ("1 GiB", 1 << 30),
            ("4k", 4096),
            ("1.5G", 3 << 29),
            ("10MB", 10_000_000),
            ("17", 17),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn bad_sizes_say_what_is_wrong() {
        assert!(matches!("0".parse::<Bytes>(), Err(SizeError::NotPositive(_))));
        assert!(matches!("-1MiB".parse::<Bytes>(), Err(SizeError::NotPositive(_))));
        assert!(matches!("many".parse::<Bytes>(), Err(SizeError::NotASize(_))));
        assert!(matches!("12 parsecs".parse::<Bytes>(), Err(SizeError::NotASize(_))));
        assert!(matches!("99999999999999999TiB".parse::<Bytes>(), Err(SizeError::TooLarge(_))));
    }

    #[test]
    fn quantities_are_short_and_carry_their_unit() {
        assert_eq!(Bytes::mib(256).to_string(), "256 MiB");
        assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
        assert_eq!(Nanos::micros(75).to_string(), "75.0 µs");
        assert_eq!(Nanos(41_230_000).to_string(), "41.2 ms");
        assert_eq!(gb_per_s(55.31e9), "55.3");
        assert_eq!(count(412_345.0), "412 k");
    }

    #[test]
    fn a_rate_needs_time() {
        assert_eq!(bytes_per_second(Bytes(10), Nanos(0)), None);
        assert_eq!(bytes_per_second(Bytes(10), Nanos(1_000_000_000)), Some(10.0));
    }
}
