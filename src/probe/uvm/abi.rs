//! The binary interface of `/dev/nvidia-uvm-tools`: ioctl numbers, parameter blocks and event entries (version 1 layouts,
//! the same from driver 515 to 595).

use std::fmt::Write;
use std::mem::size_of;

/// Largest number of processors in a version 1 entry: the CPU and 32 GPUs.
pub const MAX_PROCESSORS: u8 = 33;
/// Size of a queue entry in bytes.
pub const ENTRY_BYTES: usize = 64;
/// Number of event types that the control page counts losses for.
pub const EVENT_TYPES: usize = 64;
/// Put into status fields before a call: a driver that answers overwrites it.
pub const UNANSWERED: u32 = u32::MAX;

/// Numbers of the ioctls. They are plain: no direction or size is encoded in them.
pub mod ioctl {
    /// On the tools fd: make it a tracker ([`super::InitParams`]).
    pub const INIT_TRACKER: u64 = 56;
    /// On the tools fd: deliver the events of a mask ([`super::MaskParams`]).
    pub const ENABLE_EVENTS: u64 = 58;
    /// On the tools fd: stop delivering the events of a mask.
    pub const DISABLE_EVENTS: u64 = 59;
    /// On the tools fd: count.
    pub const ENABLE_COUNTERS: u64 = 60;
    /// On the target's UVM fd: UUIDs of the processors ([`super::UuidTableParams`]).
    pub const UUID_TABLE: u64 = 64;
    /// On the target's UVM fd: deliver what the driver still holds back ([`super::FlushParams`]).
    pub const FLUSH_EVENTS: u64 = 67;
}

/// Event types, the first byte of an entry.
pub mod event {
    /// CPU fault.
    pub const CPU_FAULT: u8 = 1;
    /// Migration.
    pub const MIGRATION: u8 = 2;
    /// GPU fault.
    pub const GPU_FAULT: u8 = 3;
    /// Replay of a batch.
    pub const REPLAY: u8 = 4;
    /// Fault that killed a context.
    pub const FATAL: u8 = 6;
    /// Page duplicated for reading.
    pub const READ_DUPLICATE: u8 = 7;
    /// Duplicates dropped.
    pub const READ_INVALIDATE: u8 = 8;
    /// Thrashing detected.
    pub const THRASHING: u8 = 10;
    /// Throttling begins.
    pub const THROTTLE_START: u8 = 11;
    /// Throttling ends.
    pub const THROTTLE_END: u8 = 12;
    /// Remote mapping.
    pub const REMOTE_MAP: u8 = 13;
}

/// Parameters of [`ioctl::INIT_TRACKER`]. Driver branches differ in the tail, so that it is kept as words; the block is
/// as long as the longest of them.
#[repr(C)]
#[derive(Debug)]
pub struct InitParams {
    /// First byte of the queue; 0 for a counter tracker.
    pub queue_buffer: u64,
    /// Entries of the queue, a power of two; 0 makes it a counter tracker.
    pub queue_entries: u64,
    /// Control page of the queue, or the counter page.
    pub control_buffer: u64,
    /// Which processor to watch, unless all are.
    pub processor_uuid: [u8; 16],
    /// 1: watch all processors.
    pub all_processors: u32,
    /// The target's `/dev/nvidia-uvm` file, as an fd of the calling process.
    pub uvm_fd: u32,
    tail: [u32; 4],
}

impl InitParams {
    /// Asks for version 1 layouts on every branch: 550 and 555 read the version at offset 52, 560 at 48, others nowhere.
    pub fn new(queue_buffer: u64, queue_entries: u64, control_buffer: u64, uvm_fd: u32) -> Self {
        Self {
            queue_buffer,
            queue_entries,
            control_buffer,
            processor_uuid: [0; 16],
            all_processors: 1,
            uvm_fd,
            tail: [1, 1, UNANSWERED, 0],
        }
    }

    /// The driver's status after the call. 560 leaves the version at 48 and puts the status at 52; the others put it at 48.
    /// `None` if the driver changed neither.
    pub fn status(&self) -> Option<u32> {
        match self.tail {
            [1, 1, ..] => None,
            [1, status, ..] | [status, ..] => Some(status),
        }
    }
}

/// Parameters of the event and counter switches: bit n of the mask stands for event type or counter n.
#[repr(C)]
#[derive(Debug)]
pub struct MaskParams {
    /// The mask.
    pub mask: u64,
    /// Status, set by the driver.
    pub status: u32,
    padding: u32,
}

impl MaskParams {
    /// For a mask.
    pub fn new(mask: u64) -> Self {
        Self { mask, status: UNANSWERED, padding: 0 }
    }
}

/// Parameters of [`ioctl::FLUSH_EVENTS`]; longer than the driver's 4 bytes, which does no harm.
#[repr(C)]
#[derive(Debug)]
pub struct FlushParams {
    /// Status, set by the driver.
    pub status: u32,
    padding: u32,
}

impl Default for FlushParams {
    fn default() -> Self {
        Self { status: UNANSWERED, padding: 0 }
    }
}

/// Entries of a table that is long enough for every branch (33 in version 1, 257 in version 2).
pub const UUID_TABLE: usize = 257;

/// Parameters of [`ioctl::UUID_TABLE`]; as long as the longest of the branches', whose fields differ behind the pointer.
#[repr(C)]
#[derive(Debug)]
pub struct UuidTableParams {
    /// Table of [`UUID_TABLE`] × 16 bytes.
    pub table: u64,
    tail: [u32; 6],
}

impl UuidTableParams {
    /// For a table; `version` is what 560 wants to see.
    pub fn new(table: u64, version: u32) -> Self {
        Self { table, tail: [version, 0, 0, 0, 0, 0] }
    }
}

/// A GPU's UUID as NVML writes it.
pub fn uuid_text(bytes: &[u8; 16]) -> String {
    let mut text = "GPU-".to_owned();
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The queue's control page. The driver writes `put_*` and `dropped`, the consumer `get_*`.
#[repr(C)]
#[derive(Debug)]
pub struct ControlPage {
    /// Wake-up looks at this.
    pub get_ahead: u32,
    /// Fullness looks at this.
    pub get_behind: u32,
    /// Entries being written reach up to here.
    pub put_ahead: u32,
    /// Finished entries reach up to here.
    pub put_behind: u32,
    /// Events lost to a full ring, by type.
    pub dropped: [u64; EVENT_TYPES],
}

/// Slots of the counter page.
pub mod counter {
    /// Bytes host to device.
    pub const BYTES_HTOD: usize = 0;
    /// Bytes device to host.
    pub const BYTES_DTOH: usize = 1;
    /// CPU faults.
    pub const CPU_FAULTS: usize = 2;
    /// GPU faults, de-duplicated.
    pub const GPU_FAULTS: usize = 9;
    /// Mask of the four; the driver never increments the others.
    pub const MASK: u64 = 1 << BYTES_HTOD | 1 << BYTES_DTOH | 1 << CPU_FAULTS | 1 << GPU_FAULTS;
    /// Slots.
    pub const COUNT: usize = 10;
}

const _: () = assert!(size_of::<InitParams>() == 64 && size_of::<MaskParams>() == 16 && size_of::<FlushParams>() == 8);
const _: () = assert!(size_of::<ControlPage>() == 528);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn parameter_blocks_have_the_drivers_offsets() {
        assert_eq!(offset_of!(InitParams, queue_buffer), 0);
        assert_eq!(offset_of!(InitParams, queue_entries), 8);
        assert_eq!(offset_of!(InitParams, control_buffer), 16);
        assert_eq!(offset_of!(InitParams, processor_uuid), 24);
        assert_eq!(offset_of!(InitParams, all_processors), 40);
        assert_eq!(offset_of!(InitParams, uvm_fd), 44);
        assert_eq!(offset_of!(InitParams, tail), 48);
        assert_eq!(offset_of!(MaskParams, status), 8);
        assert_eq!(offset_of!(FlushParams, status), 0);
    }

    #[test]
    fn a_uuid_is_written_as_nvml_writes_it() {
        let bytes = std::array::from_fn(|i| i as u8 * 0x11);
        assert_eq!(uuid_text(&bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!((size_of::<UuidTableParams>(), offset_of!(UuidTableParams, tail)), (32, 8));
    }

    #[test]
    fn the_control_page_has_the_drivers_offsets() {
        assert_eq!(offset_of!(ControlPage, get_ahead), 0);
        assert_eq!(offset_of!(ControlPage, get_behind), 4);
        assert_eq!(offset_of!(ControlPage, put_ahead), 8);
        assert_eq!(offset_of!(ControlPage, put_behind), 12);
        assert_eq!(offset_of!(ControlPage, dropped), 16);
    }

    #[test]
    fn the_status_is_found_on_every_branch() {
        let answered = |tail| InitParams { tail, ..InitParams::new(0, 0, 0, 3) }.status();
        assert_eq!(answered([0, 1, UNANSWERED, 0]), Some(0), "515-545, 565 and later");
        assert_eq!(answered([0x16, 1, UNANSWERED, 0]), Some(0x16), "515-545, 565 and later, refused");
        assert_eq!(answered([0, 1, 1, 0]), Some(0), "550, 555");
        assert_eq!(answered([1, 0, UNANSWERED, 0]), Some(0), "560");
        assert_eq!(answered([1, 0x51, UNANSWERED, 0]), Some(0x51), "560, refused");
        assert_eq!(InitParams::new(0, 0, 0, 3).status(), None, "no answer");
    }
}
