//! Where to run: the flags that every command with a device has.

use clap::Args;
use std::str::FromStr;
use std::time::Duration;

/// Where to run.
#[derive(Clone, Debug, Args)]
pub struct DeviceArgs {
    /// auto (GPU, else simulator), cuda, sim, or sim:PROFILE
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// GPU by index, UUID or PCI address
    #[arg(long, value_name = "INDEX|UUID|PCI")]
    pub gpu: Option<String>,
    /// Allow managed memory above the GPU's free memory
    #[arg(long)]
    pub allow_oversubscription: bool,
    /// Set a parameter of the simulated driver, such as uvm_perf_prefetch_threshold=75; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub sim_param: Vec<String>,
    /// Say so when a call into the driver takes longer than this
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = patience)]
    pub watchdog: Duration,
    /// Let the simulated device fail as scripted: for tests, see CONTRIBUTING.md
    #[arg(long, hide = true, value_name = "RULE,…", value_delimiter = ',')]
    pub fault: Vec<String>,
}

/// Which device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The GPU if it is usable, else the simulator.
    Auto,
    /// The GPU or nothing.
    Cuda,
    /// The simulator with this profile.
    Sim(String),
}

/// The simulator's profile if none is named.
pub const DEFAULT_PROFILE: &str = "h200";

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda),
            "sim" => Ok(Self::Sim(DEFAULT_PROFILE.to_owned())),
            _ => match text.strip_prefix("sim:") {
                Some(profile) if !profile.is_empty() => Ok(Self::Sim(profile.to_owned())),
                _ => Err("choose one of auto, cuda, sim, sim:PROFILE".to_owned()),
            },
        }
    }
}

fn patience(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("choose a time above zero, such as 10s".to_owned()),
    }
}
