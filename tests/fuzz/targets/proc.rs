//! What /proc says: maps as text, pagemap as entries.
#![no_main]

mod file;

use libfuzzer_sys::fuzz_target;
use umtop::probe::process::{mapped_pages, parse_maps};

fuzz_target!(|bytes: &[u8]| {
    let mappings = parse_maps(&String::from_utf8_lossy(bytes));
    assert!(mappings.iter().all(|mapping| mapping.start < mapping.end));
    let (Some(start), Some(length)) = (bytes.first_chunk::<8>(), bytes.get(8..11)) else { return };
    let length = u64::from(u32::from_le_bytes([length[0], length[1], length[2], 0]));
    let start = u64::from_le_bytes(*start);
    let pagemap = std::fs::File::open(file::with(&bytes[11..])).expect("it was just written");
    let _ = mapped_pages(&pagemap, start, start.saturating_add(length << 12));
    let _ = mapped_pages(&pagemap, start % (1 << 20), (start % (1 << 20)).saturating_add(length));
});
