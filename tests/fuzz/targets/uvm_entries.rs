//! Entries of the driver's event queue.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    umtop::probe::uvm::fold_entries(bytes);
});
