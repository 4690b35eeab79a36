//! A session's report in a folder: Markdown, pictures of every screen, every pass as CSV, the figures as JSON.

use super::Failure;
use super::output::whole;
use crate::render::{self, Picture};
use crate::report::{self, Verdict};
use crate::ui::{Model, Screen};
use std::path::Path;

/// Columns and rows of the pictures.
const SIZE: (u16, u16) = (160, 48);

/// Writes into a folder that exists. The model's screen changes.
pub(super) fn write_report(folder: &Path, model: &mut Model, verdicts: &[Verdict]) -> Result<(), Failure> {
    let save = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        whole(&path, bytes).map_err(|e| Failure::failed(format!("cannot write {}: {e}", path.display())))
    };
    let mut pictures = Vec::new();
    for screen in Screen::ALL {
        let picture: Picture = render::shot(model, screen, SIZE);
        let stem = screen.title().to_lowercase();
        save(&format!("{stem}.svg"), render::svg(&picture).as_bytes())?;
        save(&format!("{stem}.png"), &render::png(&picture).map_err(Failure::failed)?)?;
        pictures.push((screen.title().to_owned(), format!("{stem}.png")));
    }
    let session = model.shown();
    save("report.md", report::session_report(session, verdicts, &pictures).as_bytes())?;
    save("passes.csv", report::csv(session).map_err(Failure::failed)?.as_bytes())?;
    save("report.json", format!("{:#}\n", report::json(session, verdicts)).as_bytes())
}

/// A new folder; one that exists must be empty, so that nothing is overwritten.
pub(super) fn new_folder(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("cannot make the folder {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    match std::fs::read_dir(folder).map_err(failed)?.next() {
        None => Ok(()),
        Some(_) => {
            let line = format!("{} is not empty: choose a new folder for --report", folder.display());
            Err(Failure::new(crate::cli::EXIT_USAGE, line))
        }
    }
}
