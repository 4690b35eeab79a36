//! NVML: PCIe throughput, memory, utilisation, power, clocks.
//!
//! Every call is made on a thread of its own kind, since one can hang in the driver: `umtop-nvml` reads the values of the
//! moment, `umtop-nvml-pcie` the throughput, and `umtop-nvml-relay`, which calls nothing, passes their samples on and
//! tells when one of them is silent.

mod card;
mod carrier;
mod error;
mod gauges;
mod gpm;
mod open;
mod pcie;
mod relay;
mod watchdog;
mod workers;

pub use card::card;
pub use error::NvmlError;
pub use open::{NvmlSurvey, survey};
pub use pcie::PcieSource;

use crate::clock::Clock;
use crate::event::{Carrier, Metric, ProbeInfo, Why};
use crate::probe::Emit;
use crate::units::Nanos;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use open::{Opened, open};
use relay::{Link, Relay};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use workers::Asked;

/// How long the start may take, the choice of a PCIe source included.
const START: Duration = Duration::from_secs(5);

/// A running probe. Dropping it stops it without waiting for a call that hangs.
pub struct NvmlProbe {
    facts: Facts,
    stop: Option<Sender<()>>,
    relay: Option<JoinHandle<()>>,
}

/// What is found once, at the start.
#[derive(Clone, Debug)]
struct Facts {
    driver: Option<String>,
    link_max: Option<(u32, u32)>,
    pcie: Result<PcieSource, Why>,
    /// What carries copies to the second GPU, where there is one.
    carrier: Option<Carrier>,
    /// Whether the GPU is divided, so that what is read is not what one program has.
    mig: bool,
}

/// Starts sampling the GPU of that UUID, and asks what joins it with that of UUID `second`.
pub fn start(uuid: &str, second: Option<&str>, clock: Clock, emit: Emit) -> Result<NvmlProbe, NvmlError> {
    start_with(None, (uuid, second), None, clock, emit)
}

/// As [`start`], with the library of that path (the system's if `None`) and, if given, with that PCIe source instead of
/// the best one.
pub fn start_with(
    library: Option<&Path>,
    (uuid, second): (&str, Option<&str>),
    source: Option<PcieSource>,
    clock: Clock,
    emit: Emit,
) -> Result<NvmlProbe, NvmlError> {
    let (stop, stopped) = bounded(0);
    let (link, relay) = Relay::new(clock, emit, stopped.clone());
    let (ready, started) = bounded(1);
    let library = library.map(|path| path.as_os_str().to_owned());
    let (uuid, second) = (uuid.to_owned(), second.map(str::to_owned));
    spawn("umtop-nvml", move || {
        let opened = open(library.as_deref().unwrap_or(OsStr::new(open::LIBRARY)));
        let begun = opened.and_then(|opened| {
            let opened = Arc::new(opened);
            let facts = begin(&opened, (&uuid, second.as_deref()), source, clock, &link, &stopped)?;
            Ok((opened, facts))
        });
        match begun {
            Ok((opened, facts)) => {
                let _ = ready.send(Ok(facts));
                workers::gauges(&Asked { opened, uuid, nvlink: false, clock, link, stopped });
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    })?;
    let facts = started.recv_timeout(START).map_err(|_| NvmlError::Stalled)??;
    let relay = spawn("umtop-nvml-relay", {
        let facts = facts.clone();
        move || relay.run(&facts)
    })?;
    Ok(NvmlProbe { facts, stop: Some(stop), relay: Some(relay) })
}

impl NvmlProbe {
    /// What is read, how, how often.
    pub fn info(&self) -> Vec<ProbeInfo> {
        let gauges = ProbeInfo {
            name: gauges::NAME.to_owned(),
            method: "NVML memory, utilisation, power, clock, link".to_owned(),
            period: gauges::PERIOD,
            note: String::new(),
            cost: "10 µs a value".to_owned(),
        };
        let pcie = match &self.facts.pcie {
            Ok(source) => source.info(),
            Err(why) => ProbeInfo {
                name: "nvml pcie".to_owned(),
                method: "none works".to_owned(),
                period: Nanos(0),
                note: why.to_string(),
                cost: String::new(),
            },
        };
        vec![gauges, pcie]
    }

    /// PCIe generation and lanes at best.
    pub fn link_max(&self) -> Option<(u32, u32)> {
        self.facts.link_max
    }

    /// Version of the driver, such as `580.159`.
    pub fn driver_version(&self) -> Option<&str> {
        self.facts.driver.as_deref()
    }

    /// What carries copies to the second GPU; `None` if none was named.
    pub fn carrier(&self) -> Option<&Carrier> {
        self.facts.carrier.as_ref()
    }

    /// The PCIe source in use, or why there is none.
    pub fn pcie_source(&self) -> Result<PcieSource, Why> {
        self.facts.pcie.clone()
    }
}

impl Drop for NvmlProbe {
    fn drop(&mut self) {
        self.stop = None;
        // The relay calls nothing that can hang; the workers end by themselves when their call returns.
        if let Some(relay) = self.relay.take() {
            let _ = relay.join();
        }
    }
}

/// Finds the GPU and the PCIe source, and starts the worker that reads it.
fn begin(
    opened: &Arc<Opened>,
    (uuid, second): (&str, Option<&str>),
    source: Option<PcieSource>,
    clock: Clock,
    link: &Link,
    stopped: &Receiver<()>,
) -> Result<Facts, NvmlError> {
    let device = opened.device(uuid)?;
    let mut wait = |time| {
        pause(stopped, time);
    };
    let pcie = match source {
        Some(source) => {
            let works = pcie::works(&device, source, &mut wait);
            works.map(|()| source).map_err(|error| error::why(source.name(), &error))
        }
        None => pcie::choose(&device, &mut wait),
    };
    let mig = device.mig_mode().is_ok_and(|mode| mode.current != 0);
    let pcie = match pcie {
        Err(_) if mig => Err(Why::NotSupported("MIG is on, and PCIe is known of whole GPUs only".to_owned())),
        pcie => pcie,
    };
    let link_max = card::link_max(&device);
    let carrier = second.map(|second| carrier::carrier(opened, &device, second));
    if let Ok(best) = pcie {
        let asked = Asked {
            opened: Arc::clone(opened),
            uuid: uuid.to_owned(),
            clock,
            nvlink: carrier == Some(Carrier::NvLink),
            link: link.clone(),
            stopped: stopped.clone(),
        };
        spawn("umtop-nvml-pcie", move || workers::pcie(&asked, best, source.is_some()))?;
    }
    Ok(Facts { driver: opened.driver_version(), link_max, pcie, carrier, mig })
}

/// Waits; `false` if the probe is to stop.
fn pause(stopped: &Receiver<()>, time: Nanos) -> bool {
    stopped.recv_timeout(Duration::from_nanos(time.0)) == Err(RecvTimeoutError::Timeout)
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, NvmlError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(NvmlError::Thread)
}

/// The metrics of the PCIe worker, which reads NVLink with it where NVLink joins two GPUs.
fn metrics(nvlink: bool) -> &'static [Metric] {
    const ALL: [Metric; 4] = [Metric::PcieHtoD, Metric::PcieDtoH, Metric::NvLinkRx, Metric::NvLinkTx];
    if nvlink { &ALL } else { &ALL[..2] }
}

/// Why nothing is read of NVLink; `None` if it is.
fn without_nvlink(carrier: Option<&Carrier>) -> Option<Why> {
    match carrier {
        Some(Carrier::NvLink) => None,
        Some(Carrier::Pcie) => Some(Why::NotSupported("NVLink does not join the two GPUs".to_owned())),
        Some(Carrier::Unknown(why)) => Some(why.clone()),
        None => Some(Why::NotSupported("one GPU is used".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> Emit {
        Box::new(|_| {})
    }

    #[test]
    fn a_missing_library_is_a_clean_error() {
        let path = Path::new("/nonexistent/libnvidia-ml.so.1");
        let error = start_with(Some(path), ("GPU-0", None), None, Clock::start(), nowhere()).err();
        assert!(matches!(error, Some(NvmlError::LibraryMissing)), "{error:?}");
    }

    #[test]
    fn a_library_that_is_not_nvml_is_a_clean_error() {
        // Any library without NVML's functions will do: the C library is always there.
        let error = start_with(Some(Path::new("libc.so.6")), ("GPU-0", None), None, Clock::start(), nowhere()).err();
        assert!(matches!(error, Some(NvmlError::NotTheDrivers(_))), "{error:?}");
    }
}
