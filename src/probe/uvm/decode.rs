//! From an entry's 64 bytes to a [`Record`].

use super::Record;
use super::abi::{ENTRY_BYTES, event};
use super::numbers::Numbers;
use crate::event::{AccessType, Cause, Proc, RemoteCause};

/// Reads an entry; `None` if its type or a processor in it is none that the driver has.
pub fn decode(entry: &[u8; ENTRY_BYTES], numbers: &Numbers) -> Option<Record> {
    let e = Entry(entry, numbers);
    Some(match e.u8(0) {
        event::CPU_FAULT => Record::CpuFault {
            access: access(e.u8(1)),
            address: e.u64(8),
            time: e.u64(16),
            pid: e.u32(24),
            tid: e.u32(28),
            pc: e.u64(32),
        },
        event::MIGRATION => Record::Migration {
            cause: cause(e.u8(1)),
            src: e.processor(2)?,
            dst: e.processor(3)?,
            address: e.u64(8),
            bytes: e.u64(16),
            time: e.u64(32),
            gpu_begin: e.u64(48),
            gpu_end: e.u64(56),
        },
        event::GPU_FAULT => Record::GpuFault {
            access: access(e.u8(2)),
            gpu: e.gpu(3)?,
            gpc: e.u16(4),
            address: e.u64(8),
            time: e.u64(16),
            gpu_time: e.u64(24),
            batch: e.u32(32),
        },
        event::REPLAY => Record::Replay { gpu: e.gpu(1)?, batch: e.u32(4), time: e.u64(8), gpu_time: e.u64(16) },
        event::FATAL => Record::Fatal { processor: e.processor(3)?, address: e.u64(8), time: e.u64(16) },
        event::READ_DUPLICATE => Record::ReadDuplicate { address: e.u64(16), bytes: e.u64(24), time: e.u64(32) },
        event::READ_INVALIDATE => {
            e.processor(1)?;
            Record::ReadInvalidate { address: e.u64(8), bytes: e.u64(16), time: e.u64(24) }
        }
        event::THRASHING => Record::Thrashing { address: e.u64(16), bytes: e.u64(24), time: e.u64(32) },
        event::THROTTLE_START => {
            Record::ThrottleStart { processor: e.processor(1)?, address: e.u64(8), time: e.u64(16) }
        }
        event::THROTTLE_END => Record::ThrottleEnd { processor: e.processor(1)?, address: e.u64(8), time: e.u64(16) },
        event::REMOTE_MAP => Record::RemoteMap {
            src: e.processor(1)?,
            dst: e.processor(2)?,
            cause: remote_cause(e.u8(3)),
            address: e.u64(8),
            bytes: e.u64(16),
            time: e.u64(24),
        },
        _ => return None,
    })
}

struct Entry<'a>(&'a [u8; ENTRY_BYTES], &'a Numbers);

impl Entry<'_> {
    fn u8(&self, at: usize) -> u8 {
        self.0[at]
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes(self.bytes(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    #[inline(always)]
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        // One load; by `array::from_fn` it was a call for each byte. Every offset above lies within an entry.
        self.0.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
    }

    fn processor(&self, at: usize) -> Option<Proc> {
        self.1.processor(self.u8(at))
    }

    fn gpu(&self, at: usize) -> Option<Proc> {
        self.processor(at).filter(|p| *p != Proc::Cpu)
    }
}

fn access(code: u8) -> AccessType {
    match code {
        1 => AccessType::Read,
        2 => AccessType::Write,
        3 => AccessType::Atomic,
        4 => AccessType::Prefetch,
        _ => AccessType::Unknown,
    }
}

fn cause(code: u8) -> Cause {
    match code {
        1 => Cause::User,
        2 => Cause::Fault,
        3 => Cause::Prefetch,
        4 => Cause::Eviction,
        5 => Cause::AccessCounters,
        _ => Cause::Unknown,
    }
}

fn remote_cause(code: u8) -> RemoteCause {
    match code {
        1 => RemoteCause::Coherence,
        2 => RemoteCause::Thrashing,
        3 => RemoteCause::Policy,
        4 => RemoteCause::OutOfMemory,
        5 => RemoteCause::Eviction,
        _ => RemoteCause::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::uvm::abi::MAX_PROCESSORS;
    use proptest::prelude::*;

    /// An entry whose byte at offset n is n, except for those given.
    fn read(entry: &[u8; ENTRY_BYTES]) -> Option<Record> {
        decode(entry, &Numbers::default())
    }

    fn entry(set: &[(usize, u8)]) -> [u8; ENTRY_BYTES] {
        let mut bytes = std::array::from_fn(|i| i as u8);
        set.iter().for_each(|(at, value)| bytes[*at] = *value);
        bytes
    }

    fn word(at: u8) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| at + i as u8))
    }

    fn half(at: u8) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| at + i as u8))
    }

    #[test]
    fn fault_fields_come_from_the_drivers_offsets() {
        assert_eq!(
            read(&entry(&[(0, 1), (1, 2)])),
            Some(Record::CpuFault {
                access: AccessType::Write,
                address: word(8),
                time: word(16),
                pid: half(24),
                tid: half(28),
                pc: word(32),
            })
        );
        assert_eq!(
            read(&entry(&[(0, 3), (2, 3), (3, 1)])),
            Some(Record::GpuFault {
                access: AccessType::Atomic,
                gpu: Proc::Gpu(0),
                gpc: 0x0504,
                address: word(8),
                time: word(16),
                gpu_time: word(24),
                batch: half(32),
            })
        );
        assert_eq!(
            read(&entry(&[(0, 4), (1, 2)])),
            Some(Record::Replay { gpu: Proc::Gpu(1), batch: half(4), time: word(8), gpu_time: word(16) })
        );
        assert_eq!(
            read(&entry(&[(0, 6), (3, 1)])),
            Some(Record::Fatal { processor: Proc::Gpu(0), address: word(8), time: word(16) })
        );
    }

    #[test]
    fn movement_fields_come_from_the_drivers_offsets() {
        assert_eq!(
            read(&entry(&[(0, 2), (1, 4), (2, 1), (3, 0)])),
            Some(Record::Migration {
                cause: Cause::Eviction,
                src: Proc::Gpu(0),
                dst: Proc::Cpu,
                address: word(8),
                bytes: word(16),
                time: word(32),
                gpu_begin: word(48),
                gpu_end: word(56),
            })
        );
        assert_eq!(
            read(&entry(&[(0, 13), (1, 1), (2, 0), (3, 2)])),
            Some(Record::RemoteMap {
                src: Proc::Gpu(0),
                dst: Proc::Cpu,
                cause: RemoteCause::Thrashing,
                address: word(8),
                bytes: word(16),
                time: word(24),
            })
        );
        let (address, bytes, time) = (word(16), word(24), word(32));
        assert_eq!(read(&entry(&[(0, 7)])), Some(Record::ReadDuplicate { address, bytes, time }));
        assert_eq!(read(&entry(&[(0, 10)])), Some(Record::Thrashing { address, bytes, time }));
        assert_eq!(
            read(&entry(&[(0, 8)])),
            Some(Record::ReadInvalidate { address: word(8), bytes: word(16), time: word(24) })
        );
        let (processor, address, time) = (Proc::Gpu(0), word(8), word(16));
        assert_eq!(read(&entry(&[(0, 11)])), Some(Record::ThrottleStart { processor, address, time }));
        assert_eq!(read(&entry(&[(0, 12)])), Some(Record::ThrottleEnd { processor, address, time }));
    }

    #[test]
    fn unknown_types_and_processors_are_refused_and_unknown_codes_are_named_so() {
        for kind in [0, 5, 9, 14, 15, 255] {
            assert_eq!(read(&entry(&[(0, kind)])), None, "type {kind}");
        }
        assert_eq!(read(&entry(&[(0, 2), (2, MAX_PROCESSORS)])), None);
        assert_eq!(read(&entry(&[(0, 3), (3, 0)])), None, "the CPU has no GPU faults");
        assert!(matches!(read(&entry(&[(0, 2), (1, 99)])), Some(Record::Migration { cause: Cause::Unknown, .. })));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes: [u8; ENTRY_BYTES], kind in 0u8..16) {
            bytes[0] = kind;
            let mut fold = super::super::TickFold::default();
            match read(&bytes) {
                Some(record) => fold.add(&record),
                None => fold.malformed(),
            }
            if let Some(window) = fold.take() {
                prop_assert!(window.blocks.len() <= 513);
            }
        }
    }
}
