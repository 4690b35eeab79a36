//! Short texts that name something: a GPU, a size, a parameter of the simulated driver, a fault, a kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umtop::device::Rule;
use umtop::device::cuda::{GpuChoice, PciAddress};
use umtop::event::{AccessPattern, Advice, MemoryKind, Piece, TraceLevel};
use umtop::units::Bytes;

fuzz_target!(|text: &str| {
    let _ = text.parse::<PciAddress>();
    let _ = text.parse::<Rule>();
    let _ = (text.parse::<AccessPattern>().is_ok(), text.parse::<Advice>().is_ok(), text.parse::<MemoryKind>().is_ok());
    let _ = (text.parse::<Piece>().is_ok(), text.parse::<TraceLevel>().is_ok());
    if let Ok(choice) = text.parse::<GpuChoice>() {
        assert!(!choice.to_string().is_empty());
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        assert!(bytes.0 > 0, "a size is above zero");
        let _ = bytes.to_string();
    }
    let _ = umtop::sim::open_with("h200", &[text.to_owned()]).map(|_| ());
});
