//! A process that cannot be mistaken for another, and its files.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `KCMP_FILE` of `linux/kcmp.h`.
const KCMP_FILE: libc::c_long = 0;

/// A handle on a process: its number may be given to another, this may not.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: u32,
}

impl PidFd {
    /// Opens the process. `NotFound` if there is none; Linux 5.3 or newer.
    pub fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: a system call with two integers; the descriptor that it gives is ours alone.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
        match owned(fd) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Err(io::ErrorKind::NotFound.into()),
            Err(error) => Err(error),
            Ok(fd) => Ok(Self { fd, pid }),
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// A duplicate of one of its files; Linux 5.6 or newer, and the right to trace it.
    pub fn duplicate(&self, number: i32) -> io::Result<OwnedFd> {
        // SAFETY: a system call with three integers; the descriptor that it gives is ours alone.
        owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.fd.as_raw_fd(), number, 0) })
    }

    /// Whether it has ended. A child that nobody has waited for yet has ended, too.
    pub fn ended(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd, valid for the call, which does not wait.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }
}

fn owned(fd: libc::c_long) -> io::Result<OwnedFd> {
    match i32::try_from(fd) {
        // SAFETY: the kernel has just given this descriptor, and nobody else knows it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether our file and descriptor `number` of process `pid` are one open file; `None` if the kernel does not tell.
pub fn same_file(ours: BorrowedFd<'_>, pid: u32, number: i32) -> Option<bool> {
    // SAFETY: a system call with five integers, which changes nothing.
    let order = unsafe {
        libc::syscall(libc::SYS_kcmp, libc::getpid(), pid as libc::pid_t, KCMP_FILE, ours.as_raw_fd(), number)
    };
    match order {
        0 => Some(true),
        1.. => Some(false),
        _ => match io::Error::last_os_error().raw_os_error() {
            Some(libc::EBADF) => Some(false),
            _ => None,
        },
    }
}
