//! Descendants of a process: a script or a launcher seldom uses CUDA itself.

use super::ProcFs;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Most processes that are looked at below one.
const MAX_FAMILY: usize = 512;

impl ProcFs {
    /// The process and its descendants, nearest first, at most 512.
    pub fn family(&self, pid: u32) -> Vec<u32> {
        let mut children: Box<dyn Fn(u32) -> Vec<u32>> = Box::new(|pid| self.children(pid).unwrap_or_default());
        if self.children(pid).is_none() {
            // A kernel without CONFIG_PROC_CHILDREN: everybody is asked for their parent.
            let mut by_parent: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for process in self.pids().into_iter().filter_map(|pid| self.process(pid).ok()) {
                by_parent.entry(process.parent).or_default().push(process.pid);
            }
            children = Box::new(move |pid| by_parent.get(&pid).cloned().unwrap_or_default());
        }
        let mut family = vec![pid];
        let mut unasked = VecDeque::from([pid]);
        while let Some(parent) = unasked.pop_front() {
            for child in children(parent) {
                if family.len() < MAX_FAMILY && !family.contains(&child) {
                    family.push(child);
                    unasked.push_back(child);
                }
            }
        }
        family
    }

    /// Children of all threads of a process; `None` if the kernel does not tell.
    fn children(&self, pid: u32) -> Option<Vec<u32>> {
        let threads = super::numbers::<u32>(&self.path(pid, "task")).ok()?;
        let folder = self.path(pid, "task");
        let of = |tid: u32| read(&folder.join(tid.to_string()).join("children"));
        let lists: Vec<Vec<u32>> = threads.into_iter().filter_map(of).collect();
        (!lists.is_empty()).then(|| lists.concat())
    }
}

fn read(path: &Path) -> Option<Vec<u32>> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}
