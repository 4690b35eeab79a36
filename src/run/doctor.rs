//! `umtop doctor`.

use super::{Failure, print};
use crate::device::cuda;
use crate::doctor::{examine, exit_code, to_json, to_text};
use std::process::ExitCode;

pub(super) fn doctor(as_json: bool) -> Result<ExitCode, Failure> {
    let findings = examine(&cuda::survey());
    print(&if as_json { format!("{:#}\n", to_json(&findings)) } else { to_text(&findings) })?;
    Ok(ExitCode::from(exit_code(&findings) as u8))
}
