//! A known computation through every kernel: at opening, and to see whether a recovery has worked.

use super::CudaDevice;
use crate::device::{Access, Affine, Device, DeviceError, Expect, Pattern, Touch, Transfer};
use crate::event::{MemoryKind, Proc};
use crate::units::Bytes;

/// An address in the first page, which is never mapped.
pub(super) const UNMAPPED: u64 = 0x100;

const ELEMENTS: u64 = 4096;
const VALUE: Affine = Affine { mul: 0x9E37_79B1, add: 0x7F4A_7C15 };

/// A touch of a whole buffer of `elements`, with the known values.
pub(super) fn touch(access: Access, pattern: Pattern, elements: u64) -> Touch {
    Touch { access, pattern, first: 0, elements, count: elements, value: VALUE, work: 1, expect: None, addends: None }
}

/// Whether each kernel writes, changes and reads what it should.
pub(super) fn computes(device: &mut CudaDevice) -> Result<bool, DeviceError> {
    let patterns = [
        Pattern::Sequential,
        Pattern::Strided { stride_bytes: 64 },
        Pattern::Random { seed: 1 },
        Pattern::Block,
        Pattern::OneWarp,
    ];
    let gpu = Proc::Gpu(0);
    let changed = VALUE.then(VALUE);
    let buffer = device.alloc(MemoryKind::Explicit, Bytes(ELEMENTS * 4))?;
    let mut right = true;
    for pattern in patterns {
        device.touch(buffer, gpu, &touch(Access::Write, pattern, ELEMENTS))?;
        device.touch(buffer, gpu, &touch(Access::ReadWrite, pattern, ELEMENTS))?;
        device.transfer(buffer, buffer.whole(), Transfer::Copy, Proc::Cpu)?;
        let mut read = touch(Access::Read, pattern, ELEMENTS);
        read.expect = Some(Expect { touched: changed, untouched: changed, count: ELEMENTS });
        for side in [gpu, Proc::Cpu] {
            let check = device.touch(buffer, side, &read)?.check;
            right &= check.is_some_and(|check| check.wrong == 0);
        }
    }
    device.free(buffer)?;
    Ok(right)
}
