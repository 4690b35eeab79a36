//! What the two threads do that call NVML again and again.

use super::open::Opened;
use super::pcie::{self, PcieReader, PcieSource};
use super::relay::Link;
use super::{gauges, metrics, pause};
use crate::clock::Clock;
use crate::event::{Reading, Sample, Why};
use crate::units::{Nanos, Stamp};
use crossbeam_channel::Receiver;
use nvml_wrapper::Device;
use std::sync::Arc;

/// Between two looks for a GPU that is lost.
const RETRY: Nanos = Nanos::millis(1_000);
/// A PCIe source that gives no number for this long is left for the next one. GPM needs 500 ms to be sure of silence.
const PATIENCE: Nanos = Nanos::millis(3_000);

/// Who is asked, and where the answers go.
pub(super) struct Asked {
    pub(super) opened: Arc<Opened>,
    pub(super) uuid: String,
    /// Whether NVLink is read with PCIe.
    pub(super) nvlink: bool,
    pub(super) clock: Clock,
    pub(super) link: Link,
    pub(super) stopped: Receiver<()>,
}

impl Asked {
    /// The GPU, which may be lost; `None` if the probe is to stop.
    fn device(&self, tell: impl Fn(Why)) -> Option<Device<'_>> {
        loop {
            match self.opened.device(&self.uuid) {
                Ok(device) => return Some(device),
                Err(error) => tell(error.why()),
            }
            self.wait(RETRY).then_some(())?;
        }
    }

    fn wait(&self, time: Nanos) -> bool {
        pause(&self.stopped, time)
    }
}

/// Reads the values of the moment until the probe stops.
pub(super) fn gauges(asked: &Asked) {
    let tell = |why: Why| asked.link.gauges(asked.clock.now(), gauges::absent(&why));
    while let Some(device) = asked.device(tell) {
        loop {
            let sample = gauges::read(&device);
            let lost = gauges::lost(&sample);
            asked.link.gauges(asked.clock.now(), sample);
            if !asked.wait(if lost { RETRY } else { gauges::PERIOD }) {
                return;
            }
            if lost {
                break;
            }
        }
    }
}

/// Reads the PCIe throughput until the probe stops. A source that gives no numbers is left for the next one that works,
/// unless it is `fixed`.
pub(super) fn pcie(asked: &Asked, mut source: PcieSource, fixed: bool) {
    let clock = asked.clock;
    let tell = |source, why: Why| asked.link.pcie(clock.now(), Some((clock.now(), absent(source, asked.nvlink, &why))));
    let mut numbers = clock.now();
    // Whether there has been an error since.
    let mut failed = false;
    while let Some(device) = asked.device(|why| tell(source, why)) {
        let mut reader = PcieReader::new(device, source, asked.nvlink, clock);
        loop {
            if !asked.wait(source.period()) {
                return;
            }
            let begun = clock.now();
            let read = reader.poll();
            let now = clock.now();
            let found = Found::of(read.as_ref());
            asked.link.pcie(now, read);
            failed = found == Found::Failed || failed && found != Found::Numbers;
            // After a call that hung, a source needs its time anew.
            if found == Found::Numbers || now.since(begun) >= RETRY {
                numbers = now;
            }
            if !fixed && now.since(numbers) >= PATIENCE {
                numbers = now;
                let failed = std::mem::take(&mut failed);
                let mut wait = |time| {
                    asked.wait(time);
                };
                match pcie::instead(reader.device(), source, failed, &mut wait) {
                    Some(next) if next != source => {
                        let line = format!("{} gives no numbers: PCIe is read by {}", source.name(), next.name());
                        asked.link.says(clock.now(), line);
                        source = next;
                        break;
                    }
                    _ => {}
                }
            }
            if found == Found::Failed {
                if !asked.wait(RETRY) {
                    return;
                }
                break;
            }
        }
    }
}

/// What an answer of a PCIe source is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Both directions.
    Numbers,
    /// Nothing yet, or nothing that can be believed.
    Nothing,
    /// An error.
    Failed,
}

impl Found {
    fn of(read: Option<&(Stamp, Sample)>) -> Self {
        let Some((_, sample)) = read else { return Found::Nothing };
        let pcie = sample.readings.iter().filter(|(metric, _)| metrics(false).contains(metric));
        let mut readings = pcie.map(|(_, reading)| reading);
        if readings.clone().all(|reading| reading.value().is_some()) {
            Found::Numbers
        } else if readings.any(|reading| matches!(reading, Reading::Absent(Why::Suspect(_)))) {
            Found::Nothing
        } else {
            Found::Failed
        }
    }
}

fn absent(source: PcieSource, nvlink: bool, why: &Why) -> Sample {
    let readings = metrics(nvlink).iter().map(|metric| (*metric, Reading::Absent(why.clone()))).collect();
    Sample { source: source.name().to_owned(), window: None, readings }
}
