//! The checked-in PTX is what `kernels/build.py` made of the source beside it, loads on the drivers that we promise,
//! and has the entry points that the device calls.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const SOURCE: &str = include_str!("../kernels/touch.cu");
const PTX: &str = include_str!("../kernels/touch.ptx");
const TABLE: &str = include_str!("../kernels/kernels.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    source_sha256: String,
    ptx_sha256: String,
    compiler: String,
    flags: String,
    entries: BTreeMap<String, usize>,
}

fn touch() -> Kernel {
    toml::from_str::<BTreeMap<String, Kernel>>(TABLE).unwrap().remove("touch").unwrap()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Name and number of parameters of each entry point.
fn entries(ptx: &str) -> BTreeMap<String, usize> {
    ptx.split(".entry ")
        .skip(1)
        .map(|entry| {
            let (name, rest) = entry.split_once('(').unwrap();
            let parameters = rest.split_once(')').unwrap().0;
            (name.trim().to_owned(), parameters.matches(".param").count())
        })
        .collect()
}

#[test]
fn the_ptx_was_made_from_this_source() {
    let kernel = touch();
    let stale = "run kernels/build.py and commit what it writes";
    assert_eq!(kernel.source_sha256, sha256(SOURCE), "{stale}");
    assert_eq!(kernel.ptx_sha256, sha256(PTX), "{stale}");
    assert!(kernel.compiler.contains("11.8"), "a newer compiler makes PTX that older drivers refuse");
    assert!(kernel.flags.contains("compute_60"));
}

#[test]
fn the_ptx_loads_on_old_drivers_and_old_gpus() {
    let directive = |name: &str| PTX.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    assert_eq!(directive(".version "), Some("7.8"), "CUDA 11.8, driver 520");
    assert_eq!(directive(".target "), Some("sm_60"), "Pascal");
    assert_eq!(directive(".address_size "), Some("64"));
}

#[test]
fn the_entry_points_are_those_that_the_device_calls() {
    let called = ["touch_block", "touch_one_warp", "touch_random", "touch_sequential", "touch_strided"];
    let mut expected: BTreeMap<String, usize> = called.iter().map(|name| ((*name).to_owned(), 9)).collect();
    expected.extend([("add".to_owned(), 5), ("work".to_owned(), 6)]);
    assert_eq!(entries(PTX), expected);
    assert_eq!(touch().entries, expected);
}
