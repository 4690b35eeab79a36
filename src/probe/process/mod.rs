//! Other processes: what /proc tells of them, and how their UVM files are had.

mod access;
mod family;
mod gpus;
mod maps;
mod pagemap;
mod pidfd;
mod ranges;
#[cfg(test)]
mod tests;

pub use access::{AccessError, Credentials};
pub use gpus::{Card, cards};
pub use maps::{Mapping, parse as parse_maps};
pub use pagemap::mapped_pages;
pub use pidfd::{PidFd, same_file};
pub use ranges::{RangesProbe, Watchlist};

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The proc file system, and what a UVM file looks like in it. Tests bring their own.
#[derive(Clone, Debug)]
pub struct ProcFs {
    /// Where it is mounted.
    pub root: PathBuf,
    /// What links of UVM files point to.
    pub node: PathBuf,
}

impl Default for ProcFs {
    fn default() -> Self {
        Self { root: PathBuf::from("/proc"), node: PathBuf::from("/dev/nvidia-uvm") }
    }
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The number of its parent.
    pub parent: u32,
    /// Its real user.
    pub uid: u32,
    /// Its command line; in brackets its name, if it has none or hides it.
    pub command: String,
}

impl ProcFs {
    /// Numbers of all processes, ascending.
    pub fn pids(&self) -> Vec<u32> {
        numbers(&self.root).unwrap_or_default()
    }

    /// What is known of a process to everybody. The error is `NotFound` if there is none.
    pub fn process(&self, pid: u32) -> io::Result<Process> {
        let status = self.read(pid, "status")?;
        let fields = fields(&status);
        let number = |name: &str| fields.get(name)?.split_whitespace().next()?.parse().ok();
        let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/status makes no sense"));
        let name = fields.get("Name").copied().unwrap_or("?");
        let line = std::fs::read(self.path(pid, "cmdline")).unwrap_or_default();
        let words: Vec<String> = line
            .split(|byte| *byte == 0)
            .filter(|word| !word.is_empty())
            .map(|word| printable(&String::from_utf8_lossy(word)))
            .collect();
        let command = if words.is_empty() { format!("[{}]", printable(name)) } else { words.join(" ") };
        Ok(Process { pid, parent: number("PPid").ok_or_else(odd)?, uid: number("Uid").ok_or_else(odd)?, command })
    }

    /// Descriptors of a process that are UVM files, ascending; of another user's process `PermissionDenied`.
    pub fn uvm_fds(&self, pid: u32) -> io::Result<Vec<i32>> {
        self.fds(pid, |link| link == self.node)
    }

    /// Device minors of the GPUs whose nodes a process holds open: those that its CUDA can see.
    pub fn gpu_minors(&self, pid: u32) -> io::Result<Vec<u32>> {
        let minor = |link: &Path| link.to_str()?.strip_prefix("/dev/nvidia")?.parse::<u32>().ok();
        let mut minors: Vec<u32> = self.links(pid)?.iter().filter_map(|(_, link)| minor(link)).collect();
        minors.sort_unstable();
        minors.dedup();
        Ok(minors)
    }

    /// Any descriptor of a process, to try what may be had of it.
    pub fn any_fd(&self, pid: u32) -> io::Result<Option<i32>> {
        Ok(self.fds(pid, |_| true)?.first().copied())
    }

    /// Name of a thread; `None` if it is gone, or if this is a container and the number is the driver's.
    pub fn thread_name(&self, pid: u32, tid: u32) -> Option<String> {
        let name = std::fs::read_to_string(self.path(pid, &format!("task/{tid}/comm"))).ok()?;
        Some(printable(name.trim_end()))
    }

    /// The memory mappings of a process.
    pub fn maps(&self, pid: u32) -> io::Result<Vec<Mapping>> {
        Ok(maps::parse(&self.read(pid, "maps")?))
    }

    /// The path of something in a process's folder.
    pub fn path(&self, pid: u32, name: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(name)
    }

    fn read(&self, pid: u32, name: &str) -> io::Result<String> {
        // A process may choose names that are no UTF-8.
        std::fs::read(self.path(pid, name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn fds(&self, pid: u32, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<i32>> {
        Ok(self.links(pid)?.into_iter().filter(|(_, link)| wanted(link)).map(|(number, _)| number).collect())
    }

    fn links(&self, pid: u32) -> io::Result<Vec<(i32, PathBuf)>> {
        let folder = self.path(pid, "fd");
        let numbers = numbers::<i32>(&folder)?;
        // What was closed meanwhile has no link.
        Ok(numbers
            .into_iter()
            .filter_map(|n| Some((n, std::fs::read_link(folder.join(n.to_string())).ok()?)))
            .collect())
    }
}

/// The fields of a status file by name.
fn fields(status: &str) -> BTreeMap<&str, &str> {
    status.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect()
}

/// Entries of a folder whose names are numbers, ascending.
fn numbers<N: std::str::FromStr + Ord>(folder: &Path) -> io::Result<Vec<N>> {
    let names = std::fs::read_dir(folder)?.flatten().map(|entry| entry.file_name());
    let mut numbers: Vec<N> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A name that another process has chosen, without what would move the terminal's cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The name of a user by the text of `/etc/passwd`, else the number.
pub fn user_name(passwd: &str, uid: u32) -> String {
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| uid.to_string())
}

/// The name of a user of this machine, else the number.
pub fn user(uid: u32) -> String {
    user_name(&std::fs::read_to_string("/etc/passwd").unwrap_or_default(), uid)
}
