//! A device over host memory that does what touches say, or does it wrong on purpose.

use std::collections::HashMap;
use umtop::device::{
    Access, Buffer, Device, DeviceError, Expect, Lane, MemoryFree, Op, Part, Pattern, Recovery, Span, Touch, Touched,
    Transfer, permute,
};
use umtop::event::{Advice, Caps, Check, MemoryKind, Proc};
use umtop::units::{Bytes, Stamp};

/// What the kernels do wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flaw {
    /// Their last access does not happen.
    MissesOne,
    /// Their first access happens twice.
    TouchesOneTwice,
}

/// The parts of a buffer: the host's, and the device's where there are two.
struct Parts {
    host: Vec<u32>,
    device: Option<Vec<u32>>,
}

/// Memory that holds what was written to it. Each call takes a microsecond.
pub struct HostDevice {
    caps: Caps,
    flaw: Option<Flaw>,
    buffers: HashMap<u32, Parts>,
    next: u32,
    now: u64,
}

impl HostDevice {
    pub fn new(caps: Caps, flaw: Option<Flaw>) -> Self {
        Self { caps, flaw, buffers: HashMap::new(), next: 1, now: 0 }
    }

    fn span(&mut self) -> Span {
        let begin = Stamp(self.now);
        self.now += 1_000;
        Span { begin, end: Stamp(self.now), gpu: None }
    }
}

fn visits(touch: &Touch) -> Vec<usize> {
    let at = |k: u64| match touch.pattern {
        Pattern::Random { seed } => permute(k, touch.elements, seed),
        Pattern::Strided { stride_bytes } => {
            let rows = touch.elements / (stride_bytes / 4);
            k % rows * (stride_bytes / 4) + k / rows
        }
        _ => k,
    };
    (0..touch.count).map(|k| (touch.first + at(k)) as usize).collect()
}

fn check(data: &[u32], visits: &[usize], expect: &Expect) -> Check {
    let is = |i: usize, touched: bool| data[i] == if touched { expect.touched } else { expect.untouched }.at(i as u64);
    let neither = visits.iter().filter(|&&i| !is(i, true) && !is(i, false)).count() as u64;
    let touched = visits.iter().filter(|&&i| is(i, true)).count() as u64;
    Check { elements: visits.len() as u64, wrong: neither.max(touched.abs_diff(expect.count)) }
}

impl Device for HostDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn now(&self) -> Stamp {
        Stamp(self.now)
    }

    fn memory(&mut self) -> Result<MemoryFree, DeviceError> {
        let plenty = Bytes(8 << 30);
        Ok(MemoryFree { vram_free: plenty, vram_total: plenty, host_available: plenty })
    }

    fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError> {
        let id = self.next;
        self.next += 1;
        let fresh = vec![0u32; (bytes.0 / 4) as usize];
        let device = matches!(kind, MemoryKind::Explicit | MemoryKind::Pageable).then(|| fresh.clone());
        self.buffers.insert(id, Parts { host: fresh, device });
        Ok(Buffer { id, address: u64::from(id) << 32, bytes, kind })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.buffers.remove(&buffer.id).map(|_| ()).ok_or(DeviceError::Misuse("freed twice".to_owned()))
    }

    fn advise(&mut self, _: Buffer, _: Advice, _: bool) -> Result<(), DeviceError> {
        Ok(())
    }

    fn transfer(&mut self, buffer: Buffer, part: Part, _: Transfer, to: Proc) -> Result<Span, DeviceError> {
        buffer.has(part)?;
        let range = part.first as usize..(part.first + part.elements) as usize;
        let Parts { host, device } = self.buffers.get_mut(&buffer.id).unwrap();
        match (device, to) {
            (Some(device), Proc::Cpu) => host[range.clone()].copy_from_slice(&device[range]),
            (Some(device), Proc::Gpu(_)) => device[range.clone()].copy_from_slice(&host[range]),
            (None, _) => {}
        }
        Ok(self.span())
    }

    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        let mut visits = visits(touch);
        let seen = |of: &Parts| of.device.as_ref().filter(|_| on != Proc::Cpu).unwrap_or(&of.host).clone();
        let addends = touch.addends.map(|pair| pair.map(|addend| seen(&self.buffers[&addend.id])));
        if on != Proc::Cpu {
            match self.flaw {
                Some(Flaw::MissesOne) => drop(visits.pop()),
                Some(Flaw::TouchesOneTwice) => visits.push(visits[0]),
                None => {}
            }
        }
        let parts = self.buffers.get_mut(&buffer.id).unwrap();
        let data = parts.device.as_mut().filter(|_| on != Proc::Cpu).unwrap_or(&mut parts.host);
        let mut found = None;
        match touch.access {
            Access::Read => found = touch.expect.map(|expect| check(data, &visits, &expect)),
            Access::Write => visits.iter().for_each(|&i| data[i] = touch.value.at(i as u64)),
            Access::ReadWrite => visits.iter().for_each(|&i| {
                for _ in 0..touch.work {
                    data[i] = data[i].wrapping_mul(touch.value.mul).wrapping_add(touch.value.add);
                }
            }),
            Access::Add => {
                let [a, b] = addends.unwrap();
                visits.iter().for_each(|&i| data[i] = a[i].wrapping_add(b[i]));
            }
        }
        Ok(Touched { span: self.span(), check: found })
    }

    /// One after the other: what is right must be right in any order.
    fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError> {
        let mut check: Option<Check> = None;
        for op in lanes.iter().flatten() {
            let found = match *op {
                Op::Transfer { buffer, part, how, to } => self.transfer(buffer, part, how, to).map(|_| None)?,
                Op::Touch { buffer, on, touch } => self.touch(buffer, on, &touch)?.check,
            };
            if let Some(found) = found {
                let sum = check.get_or_insert_default();
                sum.elements += found.elements;
                sum.wrong += found.wrong;
            }
        }
        Ok(Touched { span: self.span(), check })
    }

    fn recover(&mut self) -> Result<Recovery, DeviceError> {
        Ok(Recovery::Verified)
    }
}
