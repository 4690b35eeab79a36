//! GPUs by the number of their device node, from the driver's own folder in /proc.

use super::{ProcFs, fields};

/// A GPU as `/proc/driver/nvidia/gpus/*/information` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// N of `/dev/nvidiaN`.
    pub minor: u32,
    /// Product name.
    pub model: String,
    /// `GPU-…`; `None` where the driver hides it.
    pub uuid: Option<String>,
}

/// Every GPU that the driver shows, by minor; empty without the driver.
pub fn cards(proc: &ProcFs) -> Vec<Card> {
    let Ok(folders) = std::fs::read_dir(proc.root.join("driver/nvidia/gpus")) else { return Vec::new() };
    let mut cards: Vec<Card> = folders
        .flatten()
        .filter_map(|folder| card(&std::fs::read_to_string(folder.path().join("information")).ok()?))
        .collect();
    cards.sort_by_key(|card| card.minor);
    cards
}

fn card(information: &str) -> Option<Card> {
    let fields = fields(information);
    Some(Card {
        minor: fields.get("Device Minor")?.parse().ok()?,
        model: (*fields.get("Model")?).to_owned(),
        uuid: fields.get("GPU UUID").filter(|uuid| uuid.starts_with("GPU-")).map(|uuid| (*uuid).to_owned()),
    })
}
