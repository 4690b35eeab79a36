//! PCIe throughput by the best of three sources. TX is device to host, RX host to device.

use super::error::why;
use super::gpm::{self, Verdict};
use super::metrics;
use crate::clock::Clock;
use crate::event::{ProbeInfo, Reading, Sample, Why};
use crate::probe::counter::{Count, RateWindow, Unsure};
use crate::units::{Nanos, Stamp};
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::PcieUtilCounter;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError as Raw;
use nvml_wrapper::gpm::GpmSample;
use nvml_wrapper::structs::device::FieldId;

/// `NVML_FI_DEV_PCIE_COUNT_RX_BYTES` and `…_TX_BYTES`.
const FIELDS: [FieldId; 2] = [FieldId(198), FieldId(197)];

/// Which source is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcieSource {
    /// GPM metrics 20 and 21.
    Gpm,
    /// Byte counters, fields 197 and 198.
    Counters,
    /// The call that watches for 20 ms.
    Window,
}

impl PcieSource {
    /// Every source, best first.
    pub const ALL: [PcieSource; 3] = [PcieSource::Gpm, PcieSource::Counters, PcieSource::Window];

    /// Name of its samples.
    pub fn name(self) -> &'static str {
        match self {
            PcieSource::Gpm => "nvml gpm",
            PcieSource::Counters => "nvml counters",
            PcieSource::Window => "nvml window",
        }
    }

    /// Period at which it is asked.
    pub fn period(self) -> Nanos {
        match self {
            PcieSource::Gpm => gpm::CLOSEST,
            // Far below the 78 ms in which a 32-bit counter wraps at 55 GB/s.
            PcieSource::Counters => Nanos::millis(10),
            // The two calls take 42 ms themselves.
            PcieSource::Window => Nanos::millis(60),
        }
    }

    /// Method and limits, for people.
    pub fn info(self) -> ProbeInfo {
        let (method, note, cost) = match self {
            PcieSource::Gpm => (
                "GPM metrics 20/21, pairs 100 ms apart",
                "means over 100 ms; silence takes 500 ms to be sure of",
                "1.4 ms a pair",
            ),
            PcieSource::Counters => {
                ("fields 197/198, differences every 10 ms", "means over 100 ms; protocol included, about 8 %", "0.4 ms")
            }
            PcieSource::Window => (
                "throughput call, 20 ms a direction",
                "two directions one after the other; protocol included, about 8 %",
                "waits 42 ms",
            ),
        };
        ProbeInfo {
            name: self.name().to_owned(),
            method: method.to_owned(),
            period: self.period(),
            note: note.to_owned(),
            cost: cost.to_owned(),
        }
    }
}

/// Finds the best source that works; takes up to 100 ms, or what the last one answered.
pub fn choose(device: &Device<'_>, wait: &mut dyn FnMut(Nanos)) -> Result<PcieSource, Why> {
    let mut last = Why::NotSupported("this GPU or driver gives no PCIe throughput".to_owned());
    for source in PcieSource::ALL {
        match works(device, source, wait) {
            Ok(()) => return Ok(source),
            Err(error) => last = why("PCIe throughput", &error),
        }
    }
    Err(last)
}

/// Whether a source works.
pub fn works(device: &Device<'_>, source: PcieSource, wait: &mut dyn FnMut(Nanos)) -> Result<(), Raw> {
    match source {
        PcieSource::Gpm => {
            // The wrapper frees samples by a call that panics where the library lacks it.
            if device.nvml().lib().nvmlGpmSampleFree.is_err() || !device.gpm_support()? {
                return Err(Raw::NotSupported);
            }
            let first = device.gpm_sample()?;
            wait(gpm::CLOSEST);
            gpm::between(&first, &device.gpm_sample()?, false).map(drop)
        }
        PcieSource::Counters => counts(device).map(drop),
        PcieSource::Window => device.pcie_throughput(PcieUtilCounter::Receive).map(drop),
    }
}

/// Whether GPM gives numbers, and does not only answer. Takes 500 ms.
pub fn speaks(device: &Device<'_>, wait: &mut dyn FnMut(Nanos)) -> Result<(), Why> {
    let mut ask = || {
        let first = device.gpm_sample()?;
        wait(gpm::SETTLED);
        gpm::between(&first, &device.gpm_sample()?, false)
    };
    let between = ask().map_err(|raw| why(PcieSource::Gpm.name(), &raw))?;
    match gpm::judge(between.pcie, false, gpm::SETTLED) {
        Verdict::Rates(Some(_), Some(_)) => Ok(()),
        _ => Err(Why::Suspect("GPM answers and gives no number".to_owned())),
    }
}

/// What to read by instead of a source that gives no numbers: a later one that works, or the same one if it has `failed`
/// and works again.
pub fn instead(
    device: &Device<'_>,
    source: PcieSource,
    failed: bool,
    wait: &mut dyn FnMut(Nanos),
) -> Option<PcieSource> {
    let from = PcieSource::ALL.into_iter().skip_while(|other| *other != source).skip(usize::from(!failed));
    from.into_iter().find(|other| works(device, *other, wait).is_ok())
}

/// Reads one source again and again.
pub struct PcieReader<'n> {
    device: Device<'n>,
    source: PcieSource,
    clock: Clock,
    /// Whether NVLink is read too, where the source can.
    nvlink: bool,
    pair: Option<(Stamp, GpmSample<'n>)>,
    window: RateWindow,
}

impl<'n> PcieReader<'n> {
    /// A reader of a source.
    pub fn new(device: Device<'n>, source: PcieSource, nvlink: bool, clock: Clock) -> Self {
        // 30 ms: a 32-bit counter wraps in 35 ms on PCIe 6.0 x16 (121 GB/s), the fastest link of today.
        let window = RateWindow::new(Nanos::millis(100), Nanos::millis(30));
        Self { device, source, clock, nvlink, pair: None, window }
    }

    /// The GPU that it reads.
    pub fn device(&self) -> &Device<'n> {
        &self.device
    }

    /// Asks once. `None` while there is nothing new.
    pub fn poll(&mut self) -> Option<(Stamp, Sample)> {
        let read = match self.source {
            PcieSource::Gpm => self.by_gpm(),
            PcieSource::Counters => self.by_counters(),
            PcieSource::Window => self.by_window().map(Some),
        };
        match read {
            Ok(read) => read.map(|means| (means.at, self.sample(Some(means.window), means.pcie, means.nvlink))),
            Err(error) => {
                self.pair = None;
                let absent = Reading::Absent(why("PCIe throughput", &error));
                let nvlink = vec![Reading::Absent(why("NVLink throughput", &error)); 2];
                Some((self.clock.now(), self.sample(None, [absent.clone(), absent], nvlink)))
            }
        }
    }

    fn by_gpm(&mut self) -> Result<Option<Means>, Raw> {
        let sample = self.device.gpm_sample()?;
        let now = self.clock.now();
        let Some((begun, first)) = &self.pair else {
            self.pair = Some((now, sample));
            return Ok(None);
        };
        let apart = now.since(*begun);
        if apart < gpm::CLOSEST {
            return Ok(None);
        }
        let between = gpm::between(first, &sample, self.nvlink)?;
        let Verdict::Rates(htod, dtoh) = gpm::judge(between.pcie, between.fresh(), apart) else { return Ok(None) };
        self.pair = Some((now, sample));
        let reading = |rate: gpm::Rate| match rate {
            Some(rate) => Reading::measured(rate),
            None => Reading::Absent(Why::Suspect("GPM gave no number for 500 ms".to_owned())),
        };
        let nvlink = between.nvlink.into_iter().map(|rate| match rate {
            Ok(rate) => reading(rate.filter(|rate| *rate >= 0.0)),
            Err(error) => Reading::Absent(why("NVLink throughput", &error)),
        });
        Ok(Some(Means { at: now, window: apart, pcie: [reading(htod), reading(dtoh)], nvlink: nvlink.collect() }))
    }

    fn by_counters(&mut self) -> Result<Option<Means>, Raw> {
        let counts = counts(&self.device)?;
        let now = self.clock.now();
        Ok(self.window.add(now, counts).map(|window| match window {
            Ok(rates) => Means::of_pcie(now, rates.window, rates.per_second.map(Reading::measured)),
            Err(unsure) => {
                let (gap, text) = match unsure {
                    Unsure::TooLate(gap) => (gap, format!("counters read {gap} apart may have wrapped twice")),
                    Unsure::Jumped(gap) => (gap, "the counters jumped".to_owned()),
                };
                let absent = Reading::Absent(Why::Suspect(text));
                Means::of_pcie(now, gap, [absent.clone(), absent])
            }
        }))
    }

    fn by_window(&mut self) -> Result<Means, Raw> {
        let begun = self.clock.now();
        let htod = self.device.pcie_throughput(PcieUtilCounter::Receive)?;
        let dtoh = self.device.pcie_throughput(PcieUtilCounter::Send)?;
        let now = self.clock.now();
        // NVML gives KB/s.
        Ok(Means::of_pcie(now, now.since(begun), [htod, dtoh].map(|kb| Reading::measured(f64::from(kb) * 1e3))))
    }

    fn sample(&self, window: Option<Nanos>, pcie: [Reading; 2], nvlink: Vec<Reading>) -> Sample {
        let by_gpm = || Reading::Absent(Why::NotSupported("NVLink is read by GPM only (Hopper and later)".to_owned()));
        let nvlink = nvlink.into_iter().chain(std::iter::repeat_with(by_gpm));
        let readings = metrics(self.nvlink).iter().copied().zip(pcie.into_iter().chain(nvlink)).collect();
        Sample { source: self.source.name().to_owned(), window, readings }
    }
}

/// Means over a window.
struct Means {
    /// Its end.
    at: Stamp,
    /// Its length.
    window: Nanos,
    /// Host to device and device to host.
    pcie: [Reading; 2],
    /// Into the GPU and out of it; empty where the source does not read it.
    nvlink: Vec<Reading>,
}

impl Means {
    fn of_pcie(at: Stamp, window: Nanos, pcie: [Reading; 2]) -> Self {
        Self { at, window, pcie, nvlink: Vec::new() }
    }
}

fn counts(device: &Device<'_>) -> Result<[Count; 2], Raw> {
    // By position: the wrapper may translate the ids that it returns.
    let mut fields = device.field_values_for(&FIELDS)?.into_iter();
    let mut count = || match fields.next().ok_or(Raw::NotSupported)??.value? {
        SampleValue::U32(n) => Ok(Count::Narrow(n)),
        SampleValue::U64(n) => Ok(Count::Wide(n)),
        _ => Err(Raw::NotSupported),
    };
    Ok([count()?, count()?])
}
