//! What doctor looks at besides the survey of libcuda.

use crate::device::Survey;
use crate::event::{HostInfo, Metric};
use crate::probe::Probe;
use crate::probe::host::{HostProbe, host_info};
use crate::probe::nvml::{self, NvmlError, NvmlSurvey};
use crate::probe::uvm::{self, UvmError};
use crate::units::{Bytes, Stamp};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::time::Duration;

/// How long NVML may take.
const NVML_DEADLINE: Duration = Duration::from_secs(3);

/// How a device node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Can be opened.
    Opens,
    /// Is not there.
    Missing,
    /// May not be opened.
    Denied,
    /// Fails otherwise.
    Fails(String),
}

/// The terminal, by its environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// `TERM`.
    pub term: Option<String>,
    /// `COLORTERM`.
    pub colour: Option<String>,
    /// `NO_COLOR` is set to something.
    pub no_colour: bool,
    /// The locale that decides about characters.
    pub locale: Option<String>,
}

/// Raw findings.
#[derive(Debug)]
pub struct Machine {
    /// `/dev/nvidia-uvm`.
    pub uvm_node: Node,
    /// `/dev/nvidia-uvm-tools`.
    pub tools_node: Result<(), UvmError>,
    /// Version of the loaded UVM module.
    pub uvm_version: Option<String>,
    /// Its parameters; empty if it is not loaded.
    pub uvm_params: BTreeMap<String, String>,
    /// NVML.
    pub nvml: Result<NvmlSurvey, NvmlError>,
    /// The host.
    pub host: HostInfo,
    /// Memory that can still be had.
    pub available: Option<Bytes>,
    /// The terminal.
    pub terminal: Terminal,
}

/// Looks at this machine.
pub fn look(survey: &Survey) -> Machine {
    Machine {
        uvm_node: node("/dev/nvidia-uvm"),
        tools_node: uvm::node_status(),
        uvm_version: read("/sys/module/nvidia_uvm/version").or_else(|| read("/sys/module/nvidia/version")),
        uvm_params: uvm::module_parameters(),
        nvml: nvml::survey(survey.gpus.first().map(|gpu| gpu.uuid.as_str()), NVML_DEADLINE),
        host: host_info(),
        available: available(),
        terminal: terminal(),
    }
}

fn node(path: &str) -> Node {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Node::Opens,
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Node::Missing,
            ErrorKind::PermissionDenied => Node::Denied,
            _ => Node::Fails(error.to_string()),
        },
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn available() -> Option<Bytes> {
    let mut out = Vec::new();
    HostProbe::new().poll(Stamp(0), &mut out);
    let samples = out.iter().filter_map(|event| match &event.body {
        crate::event::Body::Sample(sample) => Some(sample),
        _ => None,
    });
    let mut readings = samples.flat_map(|sample| &sample.readings);
    let (_, reading) = readings.find(|(metric, _)| *metric == Metric::HostAvailable)?;
    reading.value().map(|bytes| Bytes(bytes as u64))
}

fn terminal() -> Terminal {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    Terminal {
        term: set("TERM"),
        colour: set("COLORTERM"),
        no_colour: set("NO_COLOR").is_some(),
        // In this order by POSIX.
        locale: set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")),
    }
}
