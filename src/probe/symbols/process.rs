//! The code that watched processes have mapped.

use super::image::{Image, Said};
use crate::event::SiteName;
use crate::probe::process::{Mapping, ProcFs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files kept open. A program has hundreds of libraries; few of them touch its data.
const MAX_IMAGES: usize = 64;

/// Mappings by process, and the files that were looked into.
pub struct Processes {
    proc: ProcFs,
    maps: BTreeMap<u32, Vec<Mapping>>,
    images: BTreeMap<PathBuf, Option<Image>>,
}

impl Processes {
    /// Knows nobody yet.
    pub fn new(proc: ProcFs) -> Self {
        Self { proc, maps: BTreeMap::new(), images: BTreeMap::new() }
    }

    /// Reads the mappings of a process; those known before stay if it has ended.
    pub fn meet(&mut self, pid: u32) {
        if let Ok(maps) = self.proc.maps(pid)
            && !maps.is_empty()
        {
            self.maps.insert(pid, maps);
        }
    }

    /// The name of an instruction, or what is known instead of one.
    pub fn name(&mut self, pid: u32, pc: u64) -> SiteName {
        let known = |maps: &BTreeMap<u32, Vec<Mapping>>| maps.get(&pid)?.iter().find(|m| m.holds(pc)).cloned();
        let mut mapping = known(&self.maps);
        if mapping.is_none() {
            // A library that was loaded since, or code that was made since.
            self.meet(pid);
            mapping = known(&self.maps);
        }
        let nameless = |module: &str| SiteName { pid, pc, module: module.to_owned(), function: None, place: None };
        let Some(mapping) = mapping else { return nameless("code that is not mapped any more") };
        if !mapping.path.is_absolute() {
            let made = mapping.path.as_os_str().is_empty();
            return nameless(&if made {
                "code made at run time".to_owned()
            } else {
                mapping.path.display().to_string()
            });
        }
        let said = self.image(pid, &mapping.path).map(|image| image.at(pc - mapping.start + mapping.offset));
        let Said { function, place } = said.unwrap_or_default();
        let module = mapping.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        SiteName { pid, pc, module, function, place }
    }

    /// The file as the process sees it, which may be in a container.
    fn image(&mut self, pid: u32, path: &Path) -> Option<&Image> {
        let seen = self.proc.path(pid, "root").join(path.strip_prefix("/").unwrap_or(path));
        if !self.images.contains_key(path) {
            if self.images.len() >= MAX_IMAGES {
                self.images.pop_first();
            }
            // The process may have ended; then the file as we see it is the best guess.
            let image = Image::open(&seen).or_else(|_| Image::open(path)).ok();
            self.images.insert(path.to_owned(), image);
        }
        self.images.get(path)?.as_ref()
    }
}
