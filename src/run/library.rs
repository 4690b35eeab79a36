//! The workloads that can be chosen: the bundled ones, those in the user's folder, and files named on the command line.

use super::{Failure, tell};
use crate::cli::EXIT_USAGE;
use crate::workload::{Library, Workload};
use std::path::{Path, PathBuf};

/// Bundled and the user's own. `names` are what the command line calls workloads: a path of a file is read, and stands
/// for the name in it afterwards. A file of the user's folder that makes no sense is told and left out; one that was
/// named is a failure.
pub(super) fn library(names: &mut [String]) -> Result<Library, Failure> {
    let mut library = Library::bundled().map_err(Failure::failed)?;
    for file in folder(|name| std::env::var_os(name).map(PathBuf::from)).map(|f| files(&f)).unwrap_or_default() {
        if let Err(line) = read(&file).and_then(|workload| library.add(workload)) {
            tell(&format!("left out {}: {line}", file.display()));
        }
    }
    for name in names.iter_mut().filter(|name| is_path(name)) {
        let workload = read(Path::new(name)).map_err(|line| Failure::new(EXIT_USAGE, line))?;
        let called = workload.name.clone();
        // The file may lie in the user's folder, too: then it is there already.
        if library.find(&called) != Ok(&workload) {
            library.add(workload).map_err(|line| Failure::new(EXIT_USAGE, format!("{name}: {line}")))?;
        }
        *name = called;
    }
    Ok(library)
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

fn read(file: &Path) -> Result<Workload, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    Workload::parse(&name, &text).map_err(|error| error.to_string())
}

/// `$XDG_CONFIG_HOME/umtop/workloads`, else `~/.config/umtop/workloads` (XDG base directory specification).
fn folder(var: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let config = var("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    Some(config.or_else(|| Some(var("HOME")?.join(".config")))?.join("umtop/workloads"))
}

/// The TOML files of a folder by name; none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_follows_the_xdg_rules() {
        let at = |xdg: Option<&str>| {
            let xdg = xdg.map(PathBuf::from);
            folder(|name| if name == "HOME" { Some("/home/ann".into()) } else { xdg.clone() })
        };
        assert_eq!(at(Some("/etc/ann")), Some("/etc/ann/umtop/workloads".into()));
        assert_eq!(at(Some("relative")), Some("/home/ann/.config/umtop/workloads".into()));
        assert_eq!(at(None), Some("/home/ann/.config/umtop/workloads".into()));
        assert_eq!(folder(|_| None), None);
    }

    #[test]
    fn a_named_file_joins_the_library_under_its_own_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        let text = include_str!("../../workloads/strided.toml").replace("name = \"strided\"", "name = \"mine\"");
        std::fs::write(&path, text).unwrap();
        let mut names = [path.display().to_string(), "random".to_owned()];
        let library = library(&mut names).unwrap();
        assert_eq!(names, ["mine", "random"]);
        assert!(library.find("mine").is_ok());
    }

    #[test]
    fn a_named_file_that_cannot_be_used_is_bad_usage() {
        for (name, says) in [("nowhere/x.toml", "cannot read"), ("Cargo.toml", "Cargo.toml"), ("x.toml", "x.toml")] {
            let failure = library(&mut [name.to_owned()]).unwrap_err();
            assert!(failure.code == EXIT_USAGE && failure.line.contains(says), "{}", failure.line);
        }
        let failure = library(&mut ["workloads/strided.toml".to_owned()]);
        assert!(failure.is_ok(), "the bundled file itself is the bundled workload");
    }
}
