//! Flags of what makes files out of recordings: pictures and exports.

use crate::units::Nanos;
use clap::{Args, ValueEnum};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where a file goes.
#[derive(Clone, Debug, Args)]
pub struct OutputArgs {
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Overwrite the file if it exists
    #[arg(long)]
    pub force: bool,
}

/// Making pictures of a recording.
#[derive(Clone, Debug, Args)]
pub struct RenderArgs {
    /// The recording
    pub file: PathBuf,
    /// The moment to show, such as 12.5s, counted from the session's start [default: the end]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"])]
    pub at: Option<Moment>,
    /// Where an animation begins [default: the recording's start]
    #[arg(long, value_name = "TIME")]
    pub from: Option<Moment>,
    /// Where an animation ends [default: the recording's end]
    #[arg(long, value_name = "TIME")]
    pub to: Option<Moment>,
    /// Frames a second of an animation
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub fps: u8,
    /// Times real time at which an animation plays
    #[arg(long, value_name = "X", default_value = "1", value_parser = super::speed)]
    pub speed: f64,
    /// The screen to show
    #[arg(long, value_name = "NAME", default_value = "live")]
    pub screen: String,
    /// Columns and rows of the terminal
    #[arg(long, value_name = "WxH", default_value = "160x48")]
    pub size: Size,
    /// What to write [default: what OUT ends in]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<PictureFormat>,
    /// Where to.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Making tables and traces of a recording.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The recording
    pub file: PathBuf,
    /// What to write [default: what OUT ends in: .csv, .jsonl, .json for perfetto]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,
    /// Where to.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Where metrics are served.
#[derive(Clone, Debug, Default, Args)]
pub struct MetricsArgs {
    /// Serve OpenMetrics at http://ADDR:PORT/metrics; PORT alone is on this machine only (127.0.0.1), other machines need
    /// an address that they can reach, such as 0.0.0.0:9400
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = address)]
    pub metrics: Option<SocketAddr>,
}

/// `9400`, `:9400`, `0.0.0.0:9400`, `[::1]:9400`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>().ok();
    port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .or_else(|| text.parse().ok())
        .ok_or_else(|| "write a port, such as 9400, or an address and a port, such as 0.0.0.0:9400".to_owned())
}

/// Playing a bundled recording.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Which; without it, the list
    pub name: Option<String>,
    /// Times real time
    #[arg(long, value_name = "X", default_value = "1", value_parser = super::speed)]
    pub speed: f64,
    /// Colours and characters [default: what the terminal can do]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<super::ThemeChoice>,
}

/// Kinds of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureFormat {
    /// Scalable, with its font.
    Svg,
    /// 12 × 24 pixels a cell.
    Png,
    /// Text with colours for a terminal.
    Ansi,
    /// Plain text.
    Txt,
    /// An animation.
    Gif,
    /// An animation for asciinema (asciicast version 2).
    Cast,
}

/// Kinds of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Long form: time, metric, value, unit, source.
    Csv,
    /// The same rows as JSON, one a line.
    Json,
    /// A trace for ui.perfetto.dev and chrome://tracing.
    Perfetto,
}

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u16, pub u16);

/// Most columns and rows: a poster, and still few enough to be held as pixels.
const MAX_SIDE: u16 = 500;

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |part: &str| part.parse::<u16>().ok().filter(|n| (1..=MAX_SIDE).contains(n));
        text.split_once('x')
            .and_then(|(columns, rows)| Some(Self(side(columns)?, side(rows)?)))
            .ok_or_else(|| format!("write columns x rows, such as 160x48, each from 1 to {MAX_SIDE}"))
    }
}

/// A moment of a session: time since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Nanos);

impl FromStr for Moment {
    type Err = String;

    /// `12.5s`, `12.5`, `800ms`, `2m`.
    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let scale = match unit {
            "" | "s" => Some(1e9),
            "ms" => Some(1e6),
            "m" | "min" => Some(60e9),
            _ => None,
        };
        scale
            .zip(number.parse::<f64>().ok())
            .map(|(scale, number)| Self(Nanos((number * scale).round() as u64)))
            .ok_or_else(|| format!("'{text}' is no time: write 12.5s, 800ms or 2m"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_served_to_this_machine_only() {
        for text in ["9400", ":9400"] {
            let address = address(text).unwrap();
            assert!(address.ip().is_loopback() && address.port() == 9400, "{text}");
        }
        assert!(!address("0.0.0.0:9400").unwrap().ip().is_loopback());
        assert!(address("localhost").is_err() && address("99999").is_err());
    }

    #[test]
    fn moments_and_sizes_are_read() {
        assert_eq!("12.5s".parse(), Ok(Moment(Nanos::millis(12_500))));
        assert_eq!("0".parse(), Ok(Moment(Nanos(0))));
        assert_eq!("800ms".parse(), Ok(Moment(Nanos::millis(800))));
        assert_eq!("160x48".parse(), Ok(Size(160, 48)));
        for bad in ["-1s", "soon", "1h", "", "."] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
        for bad in ["160", "0x5", "9999x9", "ax4"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }
}
