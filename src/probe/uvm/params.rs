//! The UVM module's live parameters.

use std::collections::BTreeMap;

const FOLDER: &str = "/sys/module/nvidia_uvm/parameters";

/// Every parameter that can be read, by name; empty if the module is not loaded (or this is WSL2).
pub fn module_parameters() -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(FOLDER) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let value = std::fs::read_to_string(entry.path()).ok()?;
            Some((entry.file_name().into_string().ok()?, value.trim().to_owned()))
        })
        .collect()
}
