//! The bytes of a recording's file, as they lie on the disk.
#![no_main]

mod file;

use libfuzzer_sys::fuzz_target;
use umtop::recording::Reader;

fuzz_target!(|bytes: &[u8]| {
    let path = file::with(bytes);
    if let Ok(mut reader) = Reader::open(&path) {
        while let Ok(Some(_)) = reader.next_event() {}
    }
});
