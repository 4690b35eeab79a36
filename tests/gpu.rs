//! What the CUDA device does on a real card. Most need a GPU: `cargo test --test gpu -- --ignored --nocapture`, or the test
//! binary alone on a machine with a driver. Takes at most 1 GiB of managed memory.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Mutex, MutexGuard};
use umtop::clock::Clock;
use umtop::device::cuda::{CudaDevice, GpuChoice, survey};
use umtop::device::{Access, Affine, Buffer, Device, DeviceError, Expect, Op, Part, Pattern, Touch, Touched, Transfer};
use umtop::event::{Advice, Check, MemoryKind, Proc};
use umtop::units::{Bytes, bytes_per_second, gb_per_s};

const OLD: Affine = Affine { mul: 3, add: 17 };
const STEP: Affine = Affine { mul: 0x0101_0101, add: 5 };
const GPU: Proc = Proc::Gpu(0);

/// A device, and the turn to use it: a recovery resets the context that all devices of the process share.
fn open() -> (MutexGuard<'static, ()>, CudaDevice) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|broken| broken.into_inner());
    (turn, CudaDevice::open(Clock::start(), &GpuChoice::First).unwrap())
}

fn patterns() -> [Pattern; 5] {
    [
        Pattern::Sequential,
        Pattern::Strided { stride_bytes: 4096 },
        Pattern::Random { seed: 0xDEAD_BEEF },
        Pattern::Block,
        Pattern::OneWarp,
    ]
}

fn whole(buffer: Buffer, access: Access, pattern: Pattern, value: Affine) -> Touch {
    let elements = buffer.bytes.0 / 4;
    Touch { access, pattern, first: 0, elements, count: elements, value, work: 1, expect: None, addends: None }
}

fn expecting(touch: Touch, touched: Affine, count: u64) -> Touch {
    Touch { expect: Some(Expect { touched, untouched: OLD, count }), access: Access::Read, ..touch }
}

fn two_parts(kind: MemoryKind) -> bool {
    matches!(kind, MemoryKind::Explicit | MemoryKind::Pageable)
}

/// Copies to a side, for the kinds of memory that need it.
fn bring(device: &mut CudaDevice, buffer: Buffer, to: Proc) {
    if two_parts(buffer.kind) {
        device.transfer(buffer, buffer.whole(), Transfer::Copy, to).unwrap();
    }
}

fn touch(device: &mut CudaDevice, buffer: Buffer, on: Proc, touch: &Touch) -> Touched {
    let touched = device.touch(buffer, on, touch).unwrap();
    assert!(touched.span.host().0 > 0);
    assert_eq!(touched.span.gpu.is_some(), on == GPU);
    touched
}

#[test]
#[ignore = "needs a GPU"]
fn every_kind_of_memory_holds_what_every_pattern_does_to_it() {
    let (_turn, mut device) = open();
    for &kind in MemoryKind::ALL {
        let buffer = device.alloc(kind, Bytes::mib(16)).unwrap();
        let all = buffer.bytes.0 / 4;
        let right = Some(Check { elements: all, wrong: 0 });
        for pattern in patterns() {
            touch(&mut device, buffer, Proc::Cpu, &whole(buffer, Access::Write, pattern, OLD));
            bring(&mut device, buffer, GPU);
            let read = whole(buffer, Access::Read, pattern, OLD);
            assert_eq!(touch(&mut device, buffer, GPU, &expecting(read, OLD, all)).check, right, "{kind} {pattern:?}");
            let wrong = touch(&mut device, buffer, GPU, &expecting(read, STEP, all)).check.unwrap().wrong;
            assert_eq!(wrong, 1, "{kind} {pattern:?}: another sum must not pass");
            touch(&mut device, buffer, GPU, &whole(buffer, Access::ReadWrite, pattern, STEP));
            bring(&mut device, buffer, Proc::Cpu);
            let checked = expecting(read, OLD.then(STEP), all);
            assert_eq!(touch(&mut device, buffer, Proc::Cpu, &checked).check, right, "{kind} {pattern:?} changed");
            touch(&mut device, buffer, GPU, &whole(buffer, Access::Write, pattern, STEP));
            bring(&mut device, buffer, Proc::Cpu);
            let checked = expecting(read, STEP, all);
            assert_eq!(touch(&mut device, buffer, Proc::Cpu, &checked).check, right, "{kind} {pattern:?} written");
        }
        device.free(buffer).unwrap();
        assert!(matches!(device.free(buffer), Err(DeviceError::Misuse(_))));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_range_and_a_sample_leave_the_rest_alone() {
    let (_turn, mut device) = open();
    let buffer = device.alloc(MemoryKind::Managed, Bytes::mib(8)).unwrap();
    let all = buffer.bytes.0 / 4;
    let check_all = |device: &mut CudaDevice, count| {
        let read = whole(buffer, Access::Read, Pattern::Sequential, OLD);
        let check = touch(device, buffer, Proc::Cpu, &expecting(read, OLD.then(STEP), count)).check;
        assert_eq!(check, Some(Check { elements: all, wrong: 0 }));
    };
    let fill = whole(buffer, Access::Write, Pattern::Sequential, OLD);
    for (pattern, first, elements, count) in [
        (Pattern::Random { seed: 9 }, 0, all, 16_384),
        (Pattern::Random { seed: 9 }, 1001, 5003, 5003),
        (Pattern::Sequential, 1, 3, 3),
        (Pattern::Sequential, 4093, 100_007, 100_007),
        (Pattern::Strided { stride_bytes: 28 }, 5, 7 * 1000, 7 * 1000),
        (Pattern::Block, 4093, 100_007, 100_007),
        (Pattern::OneWarp, 77, 1024, 1024),
    ] {
        touch(&mut device, buffer, GPU, &fill);
        let change = Touch { first, elements, count, ..whole(buffer, Access::ReadWrite, pattern, STEP) };
        touch(&mut device, buffer, GPU, &change);
        check_all(&mut device, count);
    }
    let beyond = Touch { first: 1, ..whole(buffer, Access::Write, Pattern::Sequential, OLD) };
    assert!(matches!(device.touch(buffer, GPU, &beyond), Err(DeviceError::Misuse(_))));
}

#[test]
#[ignore = "needs a GPU"]
fn hints_are_taken_and_taken_back_and_change_no_value() {
    let (_turn, mut device) = open();
    let buffer = device.alloc(MemoryKind::Managed, Bytes::mib(64)).unwrap();
    let all = buffer.bytes.0 / 4;
    let read = whole(buffer, Access::Read, Pattern::Sequential, OLD);
    if let Some(why) = device.caps().prefetch.reason() {
        println!("no hints here: {why}");
        assert!(matches!(
            device.transfer(buffer, buffer.whole(), Transfer::Prefetch, GPU),
            Err(DeviceError::Misuse(_))
        ));
        return;
    }
    touch(&mut device, buffer, Proc::Cpu, &whole(buffer, Access::Write, Pattern::Sequential, OLD));
    let gpus = device.caps().gpus;
    for &advice in Advice::ALL.iter().filter(|advice| advice.lacks(gpus).is_none()) {
        device.advise(buffer, advice, true).unwrap();
        for to in [GPU, Proc::Cpu] {
            let span = device.transfer(buffer, buffer.whole(), Transfer::Prefetch, to).unwrap();
            let check = touch(&mut device, buffer, to, &expecting(read, OLD, all)).check;
            assert_eq!(check, Some(Check { elements: all, wrong: 0 }), "{advice} {to}");
            println!("advice {advice}: prefetch of {} to {to} took {}", buffer.bytes, span.host());
        }
        device.advise(buffer, advice, false).unwrap();
    }
    let pinned = device.alloc(MemoryKind::Explicit, Bytes::mib(1)).unwrap();
    assert!(matches!(device.advise(pinned, Advice::ReadMostly, true), Err(DeviceError::Misuse(_))));
    assert!(matches!(device.transfer(pinned, pinned.whole(), Transfer::Prefetch, GPU), Err(DeviceError::Misuse(_))));
    assert!(matches!(device.transfer(buffer, buffer.whole(), Transfer::Copy, GPU), Err(DeviceError::Misuse(_))));
}

#[test]
#[ignore = "needs a GPU"]
fn a_sum_and_work_are_right_over_every_kind_of_memory() {
    let (_turn, mut device) = open();
    for &kind in MemoryKind::ALL {
        let [a, b, c] = [1, 2, 3].map(|_| device.alloc(kind, Bytes::mib(4)).unwrap());
        let all = a.elements();
        for (buffer, value) in [(a, OLD), (b, STEP)] {
            touch(&mut device, buffer, Proc::Cpu, &whole(buffer, Access::Write, Pattern::Sequential, value));
            bring(&mut device, buffer, GPU);
        }
        let sum = Touch { addends: Some([a, b]), ..whole(c, Access::Add, Pattern::Sequential, OLD) };
        touch(&mut device, c, GPU, &sum);
        let worked = Touch { work: 37, ..whole(c, Access::ReadWrite, Pattern::Sequential, STEP) };
        touch(&mut device, c, GPU, &worked);
        bring(&mut device, c, Proc::Cpu);
        let value = OLD.plus(STEP).then(STEP.repeated(37));
        let read = expecting(whole(c, Access::Read, Pattern::Sequential, OLD), value, all);
        let check = touch(&mut device, c, Proc::Cpu, &read).check;
        assert_eq!(check, Some(Check { elements: all, wrong: 0 }), "{kind}");
        let alone = Touch { addends: None, ..sum };
        assert!(matches!(device.touch(c, GPU, &alone), Err(DeviceError::Misuse(_))));
        assert!(matches!(device.touch(c, Proc::Cpu, &sum), Err(DeviceError::Misuse(_))));
        [a, b, c].into_iter().for_each(|buffer| device.free(buffer).unwrap());
    }
}

#[test]
#[ignore = "needs a GPU"]
fn lanes_that_run_at_the_same_time_leave_what_they_should() {
    let (_turn, mut device) = open();
    for kind in [MemoryKind::Explicit, MemoryKind::Pageable, MemoryKind::Managed] {
        let how = if kind == MemoryKind::Managed { Transfer::Prefetch } else { Transfer::Copy };
        let (buffer, other) = (device.alloc(kind, Bytes::mib(64)).unwrap(), device.alloc(kind, Bytes::mib(8)).unwrap());
        touch(&mut device, buffer, Proc::Cpu, &whole(buffer, Access::Write, Pattern::Sequential, OLD));
        let mut lanes = vec![Vec::new(), Vec::new()];
        let elements = buffer.elements() / 16;
        for piece in 0..16 {
            let part = Part { first: piece * elements, elements };
            let change = Touch {
                first: part.first,
                elements,
                count: elements,
                ..whole(buffer, Access::ReadWrite, Pattern::Sequential, STEP)
            };
            let lane = &mut lanes[piece as usize % 2];
            lane.push(Op::Transfer { buffer, part, how, to: GPU });
            lane.push(Op::Touch { buffer, on: GPU, touch: change });
        }
        let write = whole(other, Access::Write, Pattern::Sequential, STEP);
        let read = expecting(whole(other, Access::Read, Pattern::Sequential, OLD), STEP, other.elements());
        let on = Proc::Cpu;
        lanes.push([write, read].map(|touch| Op::Touch { buffer: other, on, touch }).to_vec());
        let done = device.overlap(&lanes).unwrap();
        assert_eq!(done.check, Some(Check { elements: other.elements(), wrong: 0 }), "{kind}: the CPU's lane");
        assert!(done.span.gpu.is_some_and(|gpu| gpu <= done.span.host()), "{kind}: {:?}", done.span);
        bring(&mut device, buffer, Proc::Cpu);
        let read = expecting(whole(buffer, Access::Read, Pattern::Sequential, OLD), OLD.then(STEP), buffer.elements());
        let check = touch(&mut device, buffer, Proc::Cpu, &read).check;
        assert_eq!(check, Some(Check { elements: buffer.elements(), wrong: 0 }), "{kind}: the streams");
        let twice = [lanes[2].clone(), lanes[2].clone()];
        assert!(matches!(device.overlap(&twice), Err(DeviceError::Misuse(_))), "two lanes of the CPU");
        device.free(buffer).unwrap();
        device.free(other).unwrap();
    }
}

#[test]
#[ignore = "needs two GPUs"]
fn a_second_gpu_changes_the_same_managed_memory() {
    let (_turn, mut device) = open();
    if device.caps().gpus < 2 {
        println!("only one GPU here");
        return;
    }
    let buffer = device.alloc(MemoryKind::Managed, Bytes::mib(64)).unwrap();
    let other = Proc::Gpu(1);
    touch(&mut device, buffer, Proc::Cpu, &whole(buffer, Access::Write, Pattern::Sequential, OLD));
    let change = whole(buffer, Access::ReadWrite, Pattern::Sequential, STEP);
    for on in [GPU, other, GPU, other] {
        let touched = device.touch(buffer, on, &change).unwrap();
        println!("{on}: {} by events", touched.span.gpu.unwrap());
    }
    for to in [GPU, other] {
        let span = device.transfer(buffer, buffer.whole(), Transfer::Prefetch, to).unwrap();
        println!("prefetch to {to}: {}", span.host());
        device.touch(buffer, to, &change).unwrap();
    }
    let read = whole(buffer, Access::Read, Pattern::Sequential, OLD);
    let check =
        touch(&mut device, buffer, Proc::Cpu, &expecting(read, OLD.then(STEP.repeated(6)), buffer.elements())).check;
    assert_eq!(check, Some(Check { elements: buffer.elements(), wrong: 0 }));
    device.free(buffer).unwrap();
}

#[test]
#[ignore = "needs a GPU"]
fn speeds_are_told() {
    let (_turn, mut device) = open();
    for &kind in MemoryKind::ALL {
        let buffer = device.alloc(kind, Bytes::mib(256)).unwrap();
        let rate = |ns| bytes_per_second(buffer.bytes, ns).map(gb_per_s).unwrap();
        for access in [Access::Write, Access::Write, Access::ReadWrite, Access::Read] {
            let touch = touch(&mut device, buffer, Proc::Cpu, &whole(buffer, access, Pattern::Sequential, OLD));
            println!("{kind}: CPU {access:?} {} GB/s", rate(touch.span.host()));
        }
        if two_parts(kind) {
            for to in [GPU, Proc::Cpu, GPU] {
                let span = device.transfer(buffer, buffer.whole(), Transfer::Copy, to).unwrap();
                let gpu = span.gpu.unwrap();
                println!("{kind}: copy to {to} {} GB/s by host, {} by events", rate(span.host()), rate(gpu));
            }
        }
        for access in [Access::ReadWrite, Access::ReadWrite, Access::Read, Access::Write] {
            let touch = touch(&mut device, buffer, GPU, &whole(buffer, access, Pattern::Sequential, OLD));
            println!("{kind}: GPU {access:?} {} GB/s by events", rate(touch.span.gpu.unwrap()));
        }
        device.free(buffer).unwrap();
    }
}

#[test]
#[ignore = "needs a GPU"]
fn the_gpu_is_found_by_each_of_its_names() {
    let (turn, device) = open();
    let info = device.gpu_info();
    println!("{info:?}\n{:?}\n{:?}", device.caps(), survey());
    drop((device, turn));
    for name in [info.uuid.as_str(), info.pci.as_str(), "0"] {
        let (_turn, _first) = open();
        let device = CudaDevice::open(Clock::start(), &name.parse().unwrap()).unwrap();
        assert_eq!(device.gpu_info().uuid, info.uuid);
    }
    let absent = "GPU-00000000-0000-0000-0000-000000000000".parse().unwrap();
    let error = CudaDevice::open(Clock::start(), &absent).map(drop).unwrap_err().to_string();
    assert!(error.contains(&info.uuid), "{error}");
}

#[test]
fn a_gpu_that_is_not_there_is_an_error_with_or_without_a_driver() {
    let absent = "GPU-00000000-0000-0000-0000-000000000000".parse().unwrap();
    let error = CudaDevice::open(Clock::start(), &absent).map(drop).unwrap_err();
    assert!(matches!(error, DeviceError::Unusable(_)), "{error}");
    assert_eq!(survey().gpus.is_empty(), GpuChoice::First.pick(&survey()).is_err());
}

#[test]
#[ignore = "needs a GPU"]
fn the_device_works_in_another_thread_than_its_opener() {
    let (_turn, mut device) = open();
    let worker = std::thread::spawn(move || {
        let buffer = device.alloc(MemoryKind::Managed, Bytes::mib(2)).unwrap();
        let write = whole(buffer, Access::Write, Pattern::Sequential, OLD);
        touch(&mut device, buffer, GPU, &write);
        let all = write.elements;
        touch(&mut device, buffer, Proc::Cpu, &expecting(write, OLD, all)).check
    });
    assert_eq!(worker.join().unwrap().unwrap().wrong, 0);
}

#[test]
#[ignore = "needs a GPU"]
fn memory_is_told_and_comes_back() {
    let (_turn, mut device) = open();
    let before = device.memory().unwrap();
    assert!(before.vram_free > Bytes(0) && before.vram_free <= before.vram_total);
    assert!(before.host_available > Bytes(0));
    let buffer = device.alloc(MemoryKind::Explicit, Bytes::mib(256)).unwrap();
    assert!(device.memory().unwrap().vram_free < before.vram_free);
    device.free(buffer).unwrap();
    let too_much = Bytes(before.vram_total.0 * 2);
    assert!(matches!(device.alloc(MemoryKind::Pageable, too_much), Err(DeviceError::NoRoom { .. })));
}
