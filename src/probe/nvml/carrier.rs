//! What carries copies between two GPUs.

use super::error::why;
use super::open::Opened;
use crate::event::{Carrier, Why};
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus};

/// Asks whether NVLink joins a GPU with that of UUID `second`, by way of switches too. What it does not carry goes over PCIe.
pub(super) fn carrier(opened: &Opened, first: &Device<'_>, second: &str) -> Carrier {
    let other = match opened.device(second) {
        Ok(other) => other,
        Err(error) => return Carrier::Unknown(error.why()),
    };
    match first.p2p_status(&other, P2pCapabilitiesIndex::NvLink) {
        Ok(P2pStatus::Ok) => Carrier::NvLink,
        Ok(P2pStatus::Unknown) => {
            Carrier::Unknown(Why::NotSupported("NVML does not know whether NVLink joins the GPUs".to_owned()))
        }
        Ok(_) => Carrier::Pcie,
        Err(raw) => Carrier::Unknown(why("link between GPUs", &raw)),
    }
}
