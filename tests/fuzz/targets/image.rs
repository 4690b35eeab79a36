//! A program file with symbols and debug information, as a watched process maps it.
#![no_main]

mod file;

use libfuzzer_sys::fuzz_target;
use umtop::probe::symbols::Image;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(image) = Image::open(&file::with(bytes)) {
        for offset in [0, 1, 0x40, 0x1000, bytes.len() as u64 / 2, u64::MAX] {
            image.at(offset);
        }
    }
});
