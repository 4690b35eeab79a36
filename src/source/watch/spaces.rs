//! The address spaces of a process and its descendants: which there are, and which are watched.

use super::Found;
use crate::event::Why;
use crate::probe::process::{PidFd, ProcFs, same_file};
use crate::probe::{NotAdded, SpaceId, SpaceTracer};
use crate::units::{Nanos, Stamp};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Between two searches for descendants while nothing is watched, and while something is.
const FAMILY_SOON: Nanos = Nanos::millis(50);
const FAMILY_LATE: Nanos = Nanos::millis(1_000);

/// Something that a look brought.
#[derive(Debug)]
pub enum News {
    /// An address space is watched.
    Attached {
        /// Whose, and what is known of it.
        found: Found,
        /// For how long it may have been there before; `None` if it was there at the first look.
        missed: Option<Nanos>,
    },
    /// An address space is gone, or its process is.
    Released {
        /// Whose it was.
        pid: u32,
        /// Processes that are watched still.
        pids: Vec<u32>,
        /// Why.
        why: String,
    },
    /// A file of this process may not be had.
    Refused {
        /// The process.
        pid: u32,
        /// The system's answer.
        error: io::Error,
    },
    /// The driver cannot trace it.
    Failed(Why),
}

/// An address space that is watched.
struct Space {
    pid: u32,
    number: i32,
    /// Ours, to tell whether the number still means the same file.
    file: OwnedFd,
    id: SpaceId,
}

/// A process of the family.
struct Member {
    process: PidFd,
    /// When it was last seen without an address space of its own; `None` if it never was.
    without: Option<Stamp>,
    /// What the system or the driver said no to: told once.
    refused: bool,
}

/// The search and its state.
pub struct Spaces {
    proc: ProcFs,
    gpus: fn(BorrowedFd<'_>) -> Vec<String>,
    members: BTreeMap<u32, Member>,
    spaces: Vec<Space>,
    /// When the family was last searched; members found later than the first search were not there then.
    searched: Option<Stamp>,
    failures: BTreeSet<String>,
    /// When the subject was started, if umtop has started it.
    started: Option<Stamp>,
}

impl Spaces {
    /// Nothing is watched yet. `started`: when umtop has started the subject, if it has.
    pub fn new(proc: ProcFs, gpus: fn(BorrowedFd<'_>) -> Vec<String>, started: Option<Stamp>) -> Self {
        let (members, spaces, failures) = Default::default();
        Self { proc, gpus, members, spaces, searched: None, failures, started }
    }

    /// Whether nothing is watched.
    pub fn none(&self) -> bool {
        self.spaces.is_empty()
    }

    /// Address spaces that are watched.
    pub fn count(&self) -> u32 {
        self.spaces.len() as u32
    }

    /// Looks at the process and its descendants once.
    pub fn look(&mut self, subject: u32, now: Stamp, tracer: &mut dyn SpaceTracer) -> Vec<News> {
        let mut news = Vec::new();
        self.search(subject, now);
        self.let_go(tracer, &mut news);
        let pids: Vec<u32> = self.members.keys().copied().collect();
        // Files that a process has from its parent are the parent's: what was tried there is not tried again.
        let mut tried = Vec::new();
        for pid in pids {
            self.try_files(pid, now, tracer, &mut tried, &mut news);
        }
        news
    }

    /// Lets everything go; gives each one's process and how many are left then.
    pub fn release_all(&mut self, tracer: &mut dyn SpaceTracer) -> Vec<(u32, u32)> {
        let mut released = Vec::new();
        while let Some(space) = self.spaces.pop() {
            tracer.remove(space.id);
            released.push((space.pid, self.count()));
        }
        released
    }

    fn search(&mut self, subject: u32, now: Stamp) {
        let period = if self.none() { FAMILY_SOON } else { FAMILY_LATE };
        if self.searched.is_some_and(|searched| now.since(searched) < period) {
            return;
        }
        let family = self.proc.family(subject);
        self.members.retain(|pid, _| family.contains(pid));
        for pid in family {
            if !self.members.contains_key(&pid)
                && let Ok(process) = PidFd::open(pid)
            {
                // It was not there at the search before; at the first search it may have been there for ever.
                let without = self.searched.or(self.started);
                self.members.insert(pid, Member { process, without, refused: false });
            }
        }
        self.searched = Some(now);
    }

    /// Lets go what is not there any more: the driver would keep it for us.
    fn let_go(&mut self, tracer: &mut dyn SpaceTracer, news: &mut Vec<News>) {
        let mut i = 0;
        while i < self.spaces.len() {
            let Some(why) = self.gone(&self.spaces[i]) else {
                i += 1;
                continue;
            };
            let space = self.spaces.remove(i);
            tracer.remove(space.id);
            news.push(News::Released { pid: space.pid, pids: self.pids(), why: why.to_owned() });
        }
    }

    fn gone(&self, space: &Space) -> Option<&'static str> {
        let ended = self.members.get(&space.pid).is_none_or(|member| member.process.ended());
        if ended {
            return Some("its process has ended");
        }
        // A list that cannot be read says nothing.
        let numbers = self.proc.uvm_fds(space.pid).ok()?;
        let same =
            numbers.contains(&space.number) && same_file(space.file.as_fd(), space.pid, space.number).unwrap_or(true);
        (!same).then_some("the process has closed it, by another program in its place or by the end of its context")
    }

    fn try_files(
        &mut self,
        pid: u32,
        now: Stamp,
        tracer: &mut dyn SpaceTracer,
        tried: &mut Vec<OwnedFd>,
        news: &mut Vec<News>,
    ) {
        let numbers = match self.proc.uvm_fds(pid) {
            Ok(numbers) => numbers,
            Err(error) => return self.refuse(pid, error, news),
        };
        let mut attached = false;
        for number in numbers {
            let same = |other: &OwnedFd| same_file(other.as_fd(), pid, number) == Some(true);
            if self.watched(pid, number) || tried.iter().any(same) {
                continue;
            }
            let Some(member) = self.members.get(&pid) else { return };
            let file = match member.process.duplicate(number) {
                Ok(file) => file,
                // Closed meanwhile, or the process has ended.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::ESRCH)) => continue,
                Err(error) => return self.refuse(pid, error, news),
            };
            let Ok(ours) = file.try_clone() else { continue };
            match tracer.add(file, pid) {
                Ok(id) => {
                    let missed = self.missed(pid, now);
                    let gpus = (self.gpus)(ours.as_fd());
                    self.spaces.push(Space { pid, number, file: ours, id });
                    news.push(News::Attached { found: Found { pid, pids: self.pids(), gpus }, missed });
                    attached = true;
                }
                Err(NotAdded::NotYet) => tried.push(ours),
                Err(NotAdded::Failed(why)) => {
                    if self.failures.insert(why.to_string()) {
                        news.push(News::Failed(why));
                    }
                }
            }
        }
        if let Some(member) = self.members.get_mut(&pid).filter(|_| !attached) {
            member.without = Some(now);
        }
    }

    /// Whether this very file is watched already, in this process or in the one that it was inherited from.
    fn watched(&self, pid: u32, number: i32) -> bool {
        let same = |space: &Space| {
            let known = same_file(space.file.as_fd(), pid, number);
            // Where the kernel does not tell, a number that parent and child share is one file.
            known.unwrap_or(space.number == number)
        };
        self.spaces.iter().any(same)
    }

    fn missed(&self, pid: u32, now: Stamp) -> Option<Nanos> {
        Some(now.since(self.members.get(&pid)?.without?))
    }

    fn refuse(&mut self, pid: u32, error: io::Error, news: &mut Vec<News>) {
        let ended = self.members.get(&pid).is_none_or(|member| member.process.ended());
        if let Some(member) = self.members.get_mut(&pid)
            && !ended
            && error.kind() != io::ErrorKind::NotFound
            && !std::mem::replace(&mut member.refused, true)
        {
            news.push(News::Refused { pid, error });
        }
    }

    fn pids(&self) -> Vec<u32> {
        let pids: BTreeSet<u32> = self.spaces.iter().map(|space| space.pid).collect();
        pids.into_iter().collect()
    }
}
