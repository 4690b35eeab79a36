//! Which GPU: an index, a UUID or a PCI address, looked up in a survey.

use crate::device::{GpuSurvey, Survey};
use std::fmt;
use std::str::FromStr;

/// How the user names a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GpuChoice {
    /// The first one in CUDA's order.
    #[default]
    First,
    /// CUDA's index, which need not be that of `nvidia-smi` (it puts the fastest GPU first).
    Index(u32),
    /// A UUID or the beginning of one, `GPU-…` or `MIG-…`.
    Uuid(String),
    /// A PCI address.
    Pci(PciAddress),
}

/// A PCI address, whatever its spelling: CUDA writes the domain with four digits, NVML with eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
}

/// What is neither an index nor a UUID nor a PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no GPU: give an index such as 0, a UUID such as GPU-1a2b3c4d-…, or a PCI address such as 0000:65:00.0"
)]
pub struct ChoiceError(String);

impl FromStr for PciAddress {
    type Err = ChoiceError;

    /// `0000:65:00.0`, `00000000:65:00.0`, `65:00.0`, `65:00`; in either case. GPUs are function 0, so that is not kept.
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let parse = || {
            let (place, function) = text.split_once('.').unwrap_or((text, "0"));
            u8::from_str_radix(function, 16).ok()?;
            let fields: Vec<&str> = place.split(':').collect();
            let (domain, bus, device) = match fields[..] {
                [domain, bus, device] => (domain, bus, device),
                [bus, device] => ("0", bus, device),
                _ => return None,
            };
            Some(PciAddress {
                domain: u32::from_str_radix(domain, 16).ok()?,
                bus: u8::from_str_radix(bus, 16).ok()?,
                device: u8::from_str_radix(device, 16).ok()?,
            })
        };
        parse().ok_or_else(|| ChoiceError(text.to_owned()))
    }
}

impl FromStr for GpuChoice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let text = text.trim();
        if let Ok(index) = text.parse() {
            return Ok(GpuChoice::Index(index));
        }
        let upper = text.to_ascii_uppercase();
        if upper.starts_with("GPU-") || upper.starts_with("MIG-") {
            return Ok(GpuChoice::Uuid(text.to_owned()));
        }
        text.parse().map(GpuChoice::Pci)
    }
}

impl fmt::Display for GpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuChoice::First => f.write_str("the first GPU"),
            GpuChoice::Index(index) => write!(f, "GPU {index}"),
            GpuChoice::Uuid(uuid) => f.write_str(uuid),
            GpuChoice::Pci(at) => write!(f, "the GPU at {:04x}:{:02x}:{:02x}.0", at.domain, at.bus, at.device),
        }
    }
}

impl GpuChoice {
    /// The one GPU that this names; else a line that says why there is none, with those that there are.
    pub fn pick<'s>(&self, survey: &'s Survey) -> Result<&'s GpuSurvey, String> {
        survey.library.clone()?;
        survey.init.clone()?;
        let mut found = survey.gpus.iter().filter(|gpu| self.names(gpu));
        match (found.next(), found.next()) {
            (Some(gpu), None) => Ok(gpu),
            (Some(gpu), Some(_)) if *self == GpuChoice::First => Ok(gpu),
            (Some(_), Some(_)) => Err(format!("{self} could be more than one GPU{}", list(&survey.gpus))),
            (None, _) => Err(format!("{self} is not here{}", list(&survey.gpus))),
        }
    }

    fn names(&self, gpu: &GpuSurvey) -> bool {
        match self {
            GpuChoice::First => true,
            GpuChoice::Index(index) => gpu.index == *index,
            GpuChoice::Uuid(uuid) => gpu.uuid.to_ascii_lowercase().starts_with(&uuid.to_ascii_lowercase()),
            GpuChoice::Pci(at) => gpu.pci.parse() == Ok(*at),
        }
    }
}

fn list(gpus: &[GpuSurvey]) -> String {
    if gpus.is_empty() {
        return ": the driver shows no GPU".to_owned();
    }
    let lines: Vec<String> =
        gpus.iter().map(|gpu| format!("{} = {} {} at {}", gpu.index, gpu.name, gpu.uuid, gpu.pci)).collect();
    format!(": there is {}", lines.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn gpu(index: u32, uuid: &str, pci: &str) -> GpuSurvey {
        GpuSurvey {
            index,
            name: "Test GPU".to_owned(),
            uuid: uuid.to_owned(),
            pci: pci.to_owned(),
            compute: "9.0".to_owned(),
            vram: Bytes::mib(1),
            managed: true,
            concurrent: true,
            pageable: false,
            host_page_tables: false,
            map_host: true,
        }
    }

    fn survey() -> Survey {
        let gpus = vec![
            gpu(0, "GPU-11112222-3333-4444-5555-666677778888", "0000:0a:00.0"),
            gpu(1, "GPU-1111aaaa-3333-4444-5555-666677778888", "0001:b3:00.0"),
        ];
        Survey { library: Ok(()), init: Ok(()), cuda_version: None, gpus }
    }

    fn picked(text: &str) -> Result<u32, String> {
        let choice: GpuChoice = text.parse().map_err(|e: ChoiceError| e.to_string())?;
        choice.pick(&survey()).map(|gpu| gpu.index)
    }

    #[test]
    fn every_spelling_finds_its_gpu() {
        for (text, index) in [
            ("0", 0),
            ("1", 1),
            ("GPU-1111aaaa-3333-4444-5555-666677778888", 1),
            ("gpu-11112", 0),
            ("0000:0A:00.0", 0),
            ("00000001:B3:00.0", 1),
            ("0a:00.0", 0),
        ] {
            assert_eq!(picked(text), Ok(index), "{text}");
        }
        assert_eq!(GpuChoice::First.pick(&survey()).map(|gpu| gpu.index), Ok(0));
    }

    #[test]
    fn a_missing_gpu_is_answered_with_those_there_are() {
        for text in ["7", "GPU-ffff", "0000:b3:00.0"] {
            let line = picked(text).unwrap_err();
            assert!(line.contains("not here") && line.contains("0000:0a:00.0") && line.contains("1 = "), "{line}");
        }
        assert!(picked("GPU-1111").unwrap_err().contains("more than one"));
        assert!(picked("fastest").unwrap_err().contains("names no GPU"));
        assert!(picked("-1").is_err() && picked("a:b:c:d").is_err() && picked("").is_err());
    }

    #[test]
    fn a_machine_without_driver_says_so_whatever_is_asked() {
        let none = Survey { library: Err("no libcuda".to_owned()), init: Ok(()), cuda_version: None, gpus: vec![] };
        assert_eq!(GpuChoice::First.pick(&none).unwrap_err(), "no libcuda");
        let empty = Survey { gpus: vec![], ..survey() };
        assert!(GpuChoice::First.pick(&empty).unwrap_err().contains("shows no GPU"));
    }
}
