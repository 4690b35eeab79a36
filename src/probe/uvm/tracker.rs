//! Opening the tools device and talking to it.
#![allow(unsafe_code)]

use super::abi::{self, FlushParams, InitParams, MaskParams, UNANSWERED, ioctl};
use super::error::{ILLEGAL_ACTION, NO_MEMORY, UvmError};
use super::memory::Mapping;
use super::ring::Ring;
use crate::event::Counters;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

const TOOLS_NODE: &str = "/dev/nvidia-uvm-tools";
const UVM_NODE: &str = "/dev/nvidia-uvm";

/// The queue of 2^20 entries (64 MiB) holds 1 s of the fastest faulting seen on an H200.
const LARGEST_POWER: u32 = 20;
/// 2^12 entries (256 KiB): below that a 1 ms poll loses events.
const SMALLEST_POWER: u32 = 12;

/// Whether the tools device can be opened.
pub fn node_status() -> Result<(), UvmError> {
    open_tools().map(drop)
}

/// Duplicates of this process's own `/dev/nvidia-uvm` files; empty before it has a CUDA context. CUDA holds two, of which
/// one is the address space: the other is refused when tried. Duplicates, so that the numbers stay ours whatever CUDA does.
pub fn own_uvm_fds() -> Vec<OwnedFd> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == UVM_NODE))
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            // SAFETY: the fd was open a moment ago; if it was closed since, the duplication fails with EBADF.
            unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()
        })
        .collect()
}

/// Makes the driver deliver what has happened so far. About 35 µs, some of it at the target's cost.
pub fn flush(uvm: BorrowedFd<'_>) -> Result<(), UvmError> {
    let mut params = FlushParams::default();
    call(uvm, ioctl::FLUSH_EVENTS, &mut params, "flush events")?;
    check(params.status, "flush events")
}

/// UUIDs of the GPUs that the address space of `uvm` knows, by the driver's processor index, as NVML writes them:
/// `GPU-1a2b…`. Index 0 of the driver is the CPU and left out here; an index without a GPU is `None`.
pub fn gpu_uuids(uvm: BorrowedFd<'_>) -> Vec<Option<String>> {
    // 560 wants a version of 1 where the others want or ignore 0, and each has its status elsewhere: what tells whether it
    // worked is the CPU's own entry, which is never zero.
    let read = |version| {
        let mut table = [[0u8; 16]; abi::UUID_TABLE];
        let mut params = abi::UuidTableParams::new(table.as_mut_ptr() as u64, version);
        call(uvm, ioctl::UUID_TABLE, &mut params, "name its GPUs").ok()?;
        (table[0] != [0; 16]).then_some(table)
    };
    let Some(table) = read(0).or_else(|| read(1)) else { return Vec::new() };
    let mut uuids: Vec<_> = table[1..].iter().map(|bytes| (*bytes != [0; 16]).then(|| abi::uuid_text(bytes))).collect();
    while uuids.last() == Some(&None) {
        uuids.pop();
    }
    uuids
}

/// The counter page: exact, whatever the queue loses.
#[derive(Debug)]
pub struct CounterTracker {
    // Closed before the page is unmapped: fields are dropped in this order.
    _tools: File,
    page: Mapping,
    before: [u64; abi::counter::COUNT],
}

impl CounterTracker {
    /// Begins counting for the address space of `uvm`.
    pub fn open(uvm: BorrowedFd<'_>) -> Result<Self, UvmError> {
        // In this order, so that on an error too the file is closed before the page is unmapped.
        let page = Mapping::new(size_of::<[u64; abi::counter::COUNT]>()).map_err(UvmError::NoMemory)?;
        let tools = open_tools()?;
        init(&tools, InitParams::new(0, 0, page.address(), uvm.as_raw_fd() as u32), "count")?;
        mask(&tools, ioctl::ENABLE_COUNTERS, abi::counter::MASK, "enable counters")?;
        let mut tracker = Self { _tools: tools, page, before: [0; abi::counter::COUNT] };
        // The page need not be zero at the start: only differences count.
        tracker.difference();
        Ok(tracker)
    }

    /// What was counted since the call before.
    pub fn difference(&mut self) -> Counters {
        let page = self.page.cast::<[u64; abi::counter::COUNT]>();
        let mut since = |slot: usize| {
            // SAFETY: the slot lies in the mapping and is aligned; the driver writes it as one word.
            let now = unsafe { AtomicU64::from_ptr(&raw mut (*page)[slot]) }.load(Ordering::Relaxed);
            now.wrapping_sub(std::mem::replace(&mut self.before[slot], now))
        };
        Counters {
            bytes_htod: since(abi::counter::BYTES_HTOD),
            bytes_dtoh: since(abi::counter::BYTES_DTOH),
            cpu_faults: since(abi::counter::CPU_FAULTS),
            gpu_faults: since(abi::counter::GPU_FAULTS),
        }
    }
}

/// The event queue.
#[derive(Debug)]
pub struct QueueTracker {
    // Closed before the ring is unmapped: fields are dropped in this order.
    tools: File,
    /// Where the driver puts events.
    pub ring: Ring,
    /// Whether it is smaller than wished, because the driver could not pin more.
    pub shrunk_to: Option<usize>,
    enabled: u64,
}

impl QueueTracker {
    /// Opens the largest queue that the driver can pin, no event enabled yet.
    pub fn open(uvm: BorrowedFd<'_>) -> Result<Self, UvmError> {
        let mut power = LARGEST_POWER;
        loop {
            match Self::open_sized(uvm, power) {
                Err(UvmError::Refused { status: NO_MEMORY, .. } | UvmError::NoMemory(_)) if power > SMALLEST_POWER => {
                    power -= 1;
                }
                other => return other,
            }
        }
    }

    fn open_sized(uvm: BorrowedFd<'_>, power: u32) -> Result<Self, UvmError> {
        // In this order, so that on an error too the file is closed before the ring is unmapped.
        let ring = Ring::new(power).map_err(UvmError::NoMemory)?;
        let tools = open_tools()?;
        let entries = 1 << power;
        let fd = uvm.as_raw_fd() as u32;
        init(&tools, InitParams::new(ring.queue_address(), entries, ring.control_address(), fd), "queue events")?;
        let shrunk_to = (power < LARGEST_POWER).then_some(entries as usize);
        Ok(Self { tools, ring, shrunk_to, enabled: 0 })
    }

    /// Over a ring that a test fills; the driver's part is played by a file that answers no ioctl.
    #[cfg(test)]
    pub fn over(ring: Ring) -> Self {
        Self { tools: File::open("/dev/null").unwrap(), ring, shrunk_to: None, enabled: 0 }
    }

    /// Delivers exactly the events of the mask from now on.
    pub fn select(&mut self, events: u64) -> Result<(), UvmError> {
        let (on, off) = (events & !self.enabled, self.enabled & !events);
        if off != 0 {
            mask(&self.tools, ioctl::DISABLE_EVENTS, off, "disable events")?;
            self.enabled &= !off;
        }
        if on != 0 {
            mask(&self.tools, ioctl::ENABLE_EVENTS, on, "enable events")?;
            self.enabled |= on;
        }
        Ok(())
    }
}

/// Finds the candidate that is an initialised address space.
pub fn choose(candidates: Vec<OwnedFd>) -> Result<(OwnedFd, CounterTracker), UvmError> {
    for uvm in candidates {
        match CounterTracker::open(uvm.as_fd()) {
            Ok(counters) => return Ok((uvm, counters)),
            Err(UvmError::Refused { status: ILLEGAL_ACTION, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // Without a node the reason is that, and not the missing context.
    node_status()?;
    Err(UvmError::NotInitialised)
}

fn open_tools() -> Result<File, UvmError> {
    OpenOptions::new().read(true).write(true).open(TOOLS_NODE).map_err(|error| match error.kind() {
        ErrorKind::NotFound if wsl() => UvmError::Wsl,
        ErrorKind::NotFound => UvmError::NodeMissing,
        ErrorKind::PermissionDenied => UvmError::NodeDenied,
        _ => UvmError::NodeFailed(error),
    })
}

fn wsl() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| release.contains("microsoft"))
}

fn init(tools: &File, mut params: InitParams, doing: &'static str) -> Result<(), UvmError> {
    call(tools, ioctl::INIT_TRACKER, &mut params, doing)?;
    check(params.status().unwrap_or(UNANSWERED), doing)
}

fn mask(tools: &File, number: u64, mask: u64, doing: &'static str) -> Result<(), UvmError> {
    let mut params = MaskParams::new(mask);
    call(tools, number, &mut params, doing)?;
    check(params.status, doing)
}

fn check(status: u32, doing: &'static str) -> Result<(), UvmError> {
    match status {
        0 => Ok(()),
        UNANSWERED => Err(UvmError::OtherInterface(format!("no status when asked to {doing}"))),
        status => Err(UvmError::Refused { doing, status }),
    }
}

fn call<T>(fd: impl AsFd, number: u64, params: &mut T, doing: &'static str) -> Result<(), UvmError> {
    loop {
        // SAFETY: `params` is one of the driver's parameter blocks, exclusively borrowed, and at least as long as the
        // driver's for that number on every branch.
        if unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), number as _, std::ptr::from_mut(params)) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(UvmError::Ioctl { doing, error });
        }
    }
}
