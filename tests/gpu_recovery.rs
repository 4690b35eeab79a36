//! What becomes of a device whose context a kernel has lost. In a process of its own: after that, the driver may refuse
//! everything else in the process.
#![allow(clippy::unwrap_used, clippy::panic)]

use umtop::clock::Clock;
use umtop::device::cuda::{CudaDevice, GpuChoice};
use umtop::device::{Access, Affine, Buffer, Device, DeviceError, Pattern, Recovery, Touch};
use umtop::event::{MemoryKind, Proc};
use umtop::units::Bytes;

#[test]
#[ignore = "needs a GPU"]
fn a_lost_context_is_recovered_or_given_up_for_good() {
    let mut device = CudaDevice::open(Clock::start(), &GpuChoice::First).unwrap();
    let kept: Vec<Buffer> = MemoryKind::ALL.iter().map(|&kind| device.alloc(kind, Bytes::mib(2)).unwrap()).collect();
    let error = device.lose_context().unwrap_err();
    println!("lost: {error}");
    assert!(error.sticky());
    assert!(device.memory().is_err() || device.alloc(MemoryKind::Managed, Bytes::mib(2)).is_err());
    let outcome = device.recover().unwrap();
    println!("recovery: {outcome:?}");
    for buffer in kept {
        assert!(matches!(device.free(buffer), Err(DeviceError::Misuse(_))), "no buffer outlives a recovery");
    }
    let again = device.alloc(MemoryKind::Managed, Bytes::mib(2));
    match outcome {
        Recovery::Verified => {
            let buffer = again.unwrap();
            let elements = buffer.bytes.0 / 4;
            let value = Affine { mul: 3, add: 17 };
            let (access, pattern) = (Access::Write, Pattern::Sequential);
            let write = Touch {
                access,
                pattern,
                first: 0,
                elements,
                count: elements,
                value,
                work: 1,
                expect: None,
                addends: None,
            };
            device.touch(buffer, Proc::Gpu(0), &write).unwrap();
        }
        Recovery::RestartNeeded => assert!(again.unwrap_err().to_string().contains("restart umtop")),
    }
}
