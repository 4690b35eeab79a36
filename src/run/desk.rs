//! Does what the dashboard asks for and has no time for: saves pictures and reports, on a thread of its own.

use super::Failure;
use super::metrics::Published;
use super::output::whole_and_new;
use super::report::write_report;
use crate::render::{self, Picture, caption};
use crate::ui::{Desk, Errand, Model, Shot};
use crossbeam_channel::{bounded, never};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most names that are tried when files of that name exist.
const TRIES: u32 = 1_000;

/// The desk of a dashboard: files go into the directory that umtop was started in.
pub(super) fn desk(published: Option<Published>) -> Result<Desk, Failure> {
    let (errands, wanted) = bounded::<Errand>(1);
    let (answer, answers) = bounded::<String>(8);
    let work = move || {
        for errand in &wanted {
            let done = match errand {
                Errand::Picture(shot) => picture(&shot, Path::new(".")),
                Errand::Report(mut model) => report(&mut model, Path::new(".")),
            };
            let line = done.unwrap_or_else(|failed| failed);
            // Nobody listens any more: the dashboard has ended.
            if answer.try_send(line).is_err() {
                return;
            }
        }
    };
    let spawned = std::thread::Builder::new().name("umtop-desk".to_owned()).spawn(work);
    spawned.map_err(|e| Failure::failed(format!("cannot start the thread that saves pictures: {e}")))?;
    Ok(Desk { errands: Some(errands), answers, watcher: published.map(Published::watcher), opened: never() })
}

/// Saves a picture twice, as SVG and as PNG, under the same new name. Gives a line that says where, or why not.
fn picture(shot: &Shot, folder: &Path) -> Result<String, String> {
    let picture = Picture::new(&shot.cells, caption(&shot.session, shot.mode));
    let png = render::png(&picture).map_err(|error| error.to_string())?;
    let svg = render::svg(&picture);
    let name = name(shot.session.header.as_ref().map(|h| h.started.as_str()), shot.session.now.seconds());
    let stem = fresh(folder, &name, |stem| {
        let first = added(stem, "svg");
        whole_and_new(&first, svg.as_bytes())?;
        // One without the other is not what was asked for.
        whole_and_new(&added(stem, "png"), &png).inspect_err(|_| drop(std::fs::remove_file(&first)))
    })?;
    Ok(format!("saved {}.svg and .png", stem.display()))
}

fn report(model: &mut Model, folder: &Path) -> Result<String, String> {
    let started = model.session.header.as_ref().map(|h| h.started.as_str());
    let name = format!("{}-report", name(started, model.session.now.seconds()));
    let stem = fresh(folder, &name, |stem| std::fs::create_dir(stem))?;
    write_report(&stem, model, &[]).map_err(|failure| failure.line)?;
    Ok(format!("saved {}", stem.join("report.md").display()))
}

/// A name from the session's start and the moment within it: `umtop-2026-11-30T10.08.46Z+12.5s`.
fn name(started: Option<&str>, seconds: f64) -> String {
    let started = started.unwrap_or("session");
    let safe = started.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' });
    format!("umtop-{}+{seconds:.1}s", safe.take(40).collect::<String>())
}

/// Makes something under a name that is not taken: the name itself, or with `-2` and so on behind it.
fn fresh(folder: &Path, name: &str, mut make: impl FnMut(&Path) -> std::io::Result<()>) -> Result<PathBuf, String> {
    for n in 1..=TRIES {
        let stem = folder.join(if n == 1 { name.to_owned() } else { format!("{name}-{n}") });
        match make(&stem) {
            Ok(()) => return Ok(stem),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot save {}: {error}", stem.display())),
        }
    }
    Err(format!("{name} and {TRIES} names like it are taken: nothing was saved"))
}

/// The name has a dot of its own, which is no extension.
fn added(stem: &Path, extension: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use crate::ui::Mode;
    use ratatui::buffer::Buffer;

    #[test]
    fn pictures_never_overwrite_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let shot =
            |text: &str| Shot { cells: Buffer::with_lines([text]), session: Session::default(), mode: Mode::Live };
        let first = picture(&shot("one"), folder.path()).unwrap();
        let second = picture(&shot("two"), folder.path()).unwrap();
        assert!(first.contains("umtop-session+0.0s.svg") && second.contains("+0.0s-2.svg"), "{first}\n{second}");
        let svg = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(svg("umtop-session+0.0s.svg").contains(">one<") && svg("umtop-session+0.0s-2.svg").contains(">two<"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
        std::fs::write(folder.path().join("umtop-session+0.0s-3.png"), "not ours").unwrap();
        let third = picture(&shot("three"), folder.path()).unwrap();
        assert!(third.contains("-4.svg"), "half of a name that is taken is not used: {third}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 7);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told() {
        let shot = Shot { cells: Buffer::with_lines(["x"]), session: Session::default(), mode: Mode::Live };
        let told = picture(&shot, Path::new("/nonexistent")).unwrap_err();
        assert!(told.starts_with("cannot save /nonexistent/umtop-session"), "{told}");
    }

    #[test]
    fn names_are_safe_whatever_a_recording_says() {
        assert_eq!(name(Some("2026-11-30T10:08:46Z"), 12.54), "umtop-2026-11-30T10.08.46Z+12.5s");
        assert!(!name(Some("../../etc/passwd"), 0.0).contains('/'));
    }
}
