//! Why another process's files cannot be had, each with the remedy.

use super::{ProcFs, user};
use std::io;

/// `CAP_SYS_PTRACE` of `linux/capability.h`.
const CAP_SYS_PTRACE: u32 = 19;

/// Why a process cannot be watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// There is none.
    #[error("there is no process {0}")]
    NoSuchProcess(u32),
    /// Another user's.
    #[error("process {pid} belongs to {user}: watch it as that user, or with sudo umtop watch {pid}")]
    OtherUser {
        /// Its number.
        pid: u32,
        /// Its owner.
        user: String,
    },
    /// Yama lets only parents trace.
    #[error(
        "the kernel lets only parents watch (kernel.yama.ptrace_scope is 1): start the program under umtop \
         (umtop watch -- COMMAND), or use sudo umtop watch {0}, or sudo sysctl kernel.yama.ptrace_scope=0"
    )]
    OnlyParents(u32),
    /// Yama lets only root trace.
    #[error("the kernel lets only root watch (kernel.yama.ptrace_scope is 2): sudo umtop watch {0}")]
    OnlyRoot(u32),
    /// Yama lets nobody trace.
    #[error(
        "the kernel lets nobody watch (kernel.yama.ptrace_scope is 3): that holds until the machine is started anew \
         with another value"
    )]
    Nobody,
    /// Root, and yet refused.
    #[error(
        "the system does not let even this user watch process {0}: in a container, start it with --cap-add SYS_PTRACE \
         and in the process's own namespace (--pid=container:NAME, or --pid=host)"
    )]
    Confined(u32),
    /// Same user, no Yama: the process has made itself private.
    #[error(
        "process {0} does not let itself be watched (it has changed its user or is marked undumpable), or a container's \
         seccomp profile forbids pidfd_getfd: use sudo, or --cap-add SYS_PTRACE"
    )]
    Private(u32),
    /// The kernel is too old.
    #[error("this kernel is too old to watch other processes: Linux 5.6 has pidfd_getfd")]
    OldKernel,
    /// Something else.
    #[error("process {pid} cannot be watched: {error}")]
    Other {
        /// Its number.
        pid: u32,
        /// What the system said.
        error: String,
    },
}

/// Who asks, and what the kernel is told to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Effective user.
    pub uid: u32,
    /// Whether we have `CAP_SYS_PTRACE`.
    pub may_trace: bool,
    /// `kernel.yama.ptrace_scope`; `None` without Yama.
    pub yama: Option<u8>,
}

impl Credentials {
    /// Those of this process.
    pub fn own(proc: &ProcFs) -> Self {
        let status = std::fs::read_to_string(proc.root.join("self/status")).unwrap_or_default();
        let fields = super::fields(&status);
        let uid = fields.get("Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
        let effective = fields.get("CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
        let scope = std::fs::read_to_string(proc.root.join("sys/kernel/yama/ptrace_scope")).ok();
        Self {
            uid: uid.unwrap_or(u32::MAX),
            may_trace: effective.is_some_and(|mask| mask >> CAP_SYS_PTRACE & 1 == 1),
            yama: scope.and_then(|text| text.trim().parse().ok()),
        }
    }

    /// What a refusal means. `owner` is the process's user, if that is known.
    pub fn explain(&self, pid: u32, owner: Option<u32>, error: &io::Error) -> AccessError {
        match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => AccessError::NoSuchProcess(pid),
            Some(libc::ENOSYS) => AccessError::OldKernel,
            Some(libc::EPERM | libc::EACCES) => self.refused(pid, owner),
            _ if error.kind() == io::ErrorKind::NotFound => AccessError::NoSuchProcess(pid),
            _ => AccessError::Other { pid, error: error.to_string() },
        }
    }

    fn refused(&self, pid: u32, owner: Option<u32>) -> AccessError {
        match (owner, self.yama) {
            // Yama's 3 binds root, too.
            (_, Some(3..)) => AccessError::Nobody,
            _ if self.may_trace => AccessError::Confined(pid),
            (Some(owner), _) if owner != self.uid && self.uid != 0 => AccessError::OtherUser { pid, user: user(owner) },
            (_, Some(2)) => AccessError::OnlyRoot(pid),
            (_, Some(1)) => AccessError::OnlyParents(pid),
            _ if self.uid == 0 => AccessError::Confined(pid),
            _ => AccessError::Private(pid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(uid: u32, may_trace: bool, yama: Option<u8>, owner: u32) -> AccessError {
        let error = io::Error::from_raw_os_error(libc::EPERM);
        Credentials { uid, may_trace, yama }.explain(9, Some(owner), &error)
    }

    #[test]
    fn each_refusal_has_its_own_remedy() {
        for (found, says) in [
            (refused(1000, false, Some(0), 0), "belongs to root"),
            (refused(1000, false, Some(1), 1000), "umtop watch -- COMMAND"),
            (refused(1000, false, Some(2), 1000), "only root"),
            (refused(0, true, Some(3), 0), "nobody"),
            (refused(0, false, None, 0), "SYS_PTRACE"),
            (refused(0, true, Some(1), 1000), "--pid="),
            (refused(1000, false, None, 1000), "undumpable"),
        ] {
            let line = found.to_string();
            assert!(line.contains(says) && line.lines().count() == 1, "{line}");
        }
    }

    #[test]
    fn an_old_kernel_and_a_missing_process_are_told_apart() {
        let credentials = Credentials { uid: 1, may_trace: false, yama: None };
        let explain = |code| credentials.explain(9, None, &io::Error::from_raw_os_error(code));
        assert_eq!(explain(libc::ENOSYS), AccessError::OldKernel);
        assert_eq!(explain(libc::ESRCH), AccessError::NoSuchProcess(9));
        assert_eq!(credentials.explain(9, None, &io::ErrorKind::NotFound.into()), AccessError::NoSuchProcess(9));
        assert!(matches!(explain(libc::EMFILE), AccessError::Other { .. }));
    }

    #[test]
    fn our_own_credentials_are_read() {
        let own = Credentials::own(&ProcFs::default());
        assert_ne!(own.uid, u32::MAX);
    }
}
