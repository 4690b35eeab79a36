//! The device of a real GPU, commanded through the CUDA driver API.
//!
//! | file | what |
//! |---|---|
//! | `ffi` | the driver's functions, found without panicking |
//! | `error` | what its codes mean |
//! | `survey`, `choice` | which GPUs there are, and which one is meant |
//! | `context` | one GPU's context, stream and timing |
//! | `buffers` | the four kinds of memory |
//! | `kernels`, `host` | the two sides of a touch |
//! | `visits` | the order of visits and what must be found, for both |
//! | `overlap` | lanes of work that run at the same time |

mod buffers;
mod choice;
mod context;
mod error;
mod ffi;
mod hints;
mod host;
mod kernels;
mod overlap;
mod survey;
mod verify;
mod visits;

pub(super) use error::driver_error;
pub(super) use hints::{NO_CONCURRENT, NO_HINTS, NO_MANAGED};

pub use choice::{ChoiceError, GpuChoice, PciAddress};
pub use survey::survey;

use super::{Access, Buffer, Device, DeviceError, Lane, MemoryFree, Part, Recovery, Span, Touch, Touched, Transfer};
use crate::clock::Clock;
use crate::event::{Advice, Can, Caps, Check, GpuInfo, MemoryKind, Proc, SecondGpu};
use crate::units::{Bytes, Stamp};
use buffers::Memory;
use context::Context;
use cudarc::driver::sys::CUstream;
use kernels::Kernels;
use std::collections::BTreeMap;
use visits::Visits;

/// A GPU with its primary context. [`Proc::Gpu`]`(0)` names this GPU in every call, and `Proc::Gpu(1)` the machine's first
/// other GPU, whose context is opened when it is first used.
///
/// A read by the GPU that has an expectation is checked by the sum of all values, after the measured span: a wrong sum
/// counts as one wrong element, and where only part of the range was touched there is no check, as the sum then depends
/// on which part.
///
/// One at a time for each GPU in a process: [`Device::recover`] resets the primary context, which is shared.
pub struct CudaDevice {
    clock: Clock,
    caps: Caps,
    info: GpuInfo,
    /// `None` after a recovery that failed.
    active: Option<Active>,
    /// CUDA ordinal of the other GPU, if there is one.
    peer_ordinal: Option<i32>,
    second: Option<SecondGpu>,
    peer: Option<Active>,
    buffers: BTreeMap<u32, Memory>,
    next_id: u32,
}

/// The context and what was loaded into it.
struct Active {
    context: Context,
    kernels: Kernels,
}

impl Active {
    fn new(context: Context) -> Result<Self, DeviceError> {
        let kernels = Kernels::load(&context)?;
        Ok(Self { context, kernels })
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            self.kernels.unload(&self.context);
        }
    }
}

impl CudaDevice {
    /// Takes the GPU that `choice` names and runs every kernel once over a few KiB, to see that it computes and so that
    /// the first measured pass does not pay for loading code. Stamps come from `clock`.
    ///
    /// # Errors
    /// `Unusable` if there is no driver or no such GPU, or if it computes wrongly; `Driver` if a call fails.
    pub fn open(clock: Clock, choice: &GpuChoice) -> Result<Self, DeviceError> {
        let survey = survey();
        let gpu = choice.pick(&survey).map_err(DeviceError::Unusable)?;
        let old = gpu.compute.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|n| n < 6);
        if old {
            return Err(DeviceError::Unusable(format!(
                "{} has compute capability {}: umtop needs 6.0 (Pascal) or later",
                gpu.name, gpu.compute
            )));
        }
        let driver = ffi::driver().map_err(DeviceError::Unusable)?;
        let ordinal = i32::try_from(gpu.index).unwrap_or(i32::MAX);
        let context = Context::open(driver, survey::handle(driver, ordinal)?)?;
        let peer = survey.gpus.iter().find(|other| other.index != gpu.index && other.managed && other.concurrent);
        let mut device = Self {
            clock,
            caps: hints::caps(gpu, driver.has_hints(), if peer.is_some() { survey.gpus.len() } else { 1 }),
            info: survey::info(gpu, &survey),
            active: Some(Active::new(context)?),
            peer_ordinal: peer.and_then(|peer| i32::try_from(peer.index).ok()),
            second: peer.map(survey::second),
            peer: None,
            buffers: BTreeMap::new(),
            next_id: 1,
        };
        if verify::computes(&mut device)? {
            Ok(device)
        } else {
            Err(DeviceError::Unusable(format!("{} computes wrongly: see dmesg and nvidia-smi -q", gpu.name)))
        }
    }

    /// The GPU that this commands. `link_max` is left open: NVML knows it.
    pub fn gpu_info(&self) -> GpuInfo {
        self.info.clone()
    }

    /// The other GPU. What carries copies between the two is left open: NVML knows it.
    pub fn second_gpu(&self) -> Option<SecondGpu> {
        self.second.clone()
    }

    /// UUIDs of the GPUs by their number in [`Proc::Gpu`].
    pub fn gpu_uuids(&self) -> Vec<String> {
        std::iter::once(self.info.uuid.clone()).chain(self.second.as_ref().map(|second| second.uuid.clone())).collect()
    }

    /// Says whether the UVM driver can be watched: the tools device is opened by a probe, after the device.
    pub fn set_trace(&mut self, trace: Can) {
        self.caps.trace = trace;
    }

    /// Makes a kernel write where there is no memory, so that the context is lost: to try [`Device::recover`] on a
    /// real card. The error is the driver's answer.
    #[doc(hidden)]
    pub fn lose_context(&mut self) -> Result<(), DeviceError> {
        let active = self.active()?;
        let touch = verify::touch(Access::Write, super::Pattern::OneWarp, 32);
        let visits = Visits::new(&touch, touch.elements)?;
        active.kernels.launch(&active.context, active.context.stream, verify::UNMAPPED, &touch, &visits)?;
        active.context.synchronize()
    }

    /// The context, made current in this thread.
    fn active(&self) -> Result<&Active, DeviceError> {
        let lost = || DeviceError::Unusable("the GPU's context is lost for this process: restart umtop".to_owned());
        let active = self.active.as_ref().ok_or_else(lost)?;
        active.context.enter()?;
        Ok(active)
    }

    /// The context of a GPU, made current in this thread. The other GPU's is opened when it is first asked for.
    fn gpu(&mut self, number: u16) -> Result<&Active, DeviceError> {
        match (number, self.peer_ordinal) {
            (0, _) => self.active(),
            (1, Some(ordinal)) => {
                self.active()?;
                if self.peer.is_none() {
                    let driver = ffi::driver().map_err(DeviceError::Unusable)?;
                    self.peer = Some(Active::new(Context::open(driver, survey::handle(driver, ordinal)?)?)?);
                }
                let peer = self.peer.as_ref().ok_or_else(|| no_gpu(number))?;
                peer.context.enter()?;
                Ok(peer)
            }
            _ => Err(no_gpu(number)),
        }
    }

    fn memory_of(&self, buffer: Buffer) -> Result<&Memory, DeviceError> {
        self.buffers.get(&buffer.id).ok_or_else(|| unknown(buffer))
    }

    /// Gives all buffers back; errors do not matter to the callers, which reset or release the context next.
    fn free_all(&mut self) {
        // Without a context there are none.
        let Some(Active { context, .. }) = &self.active else { return };
        // A lost context may refuse even this; pageable memory can be given back all the same.
        let _ = context.enter();
        for memory in std::mem::take(&mut self.buffers).into_values() {
            let _ = memory.free(context);
        }
    }

    fn touch_on_gpu(&mut self, gpu: u16, buffer: Buffer, touch: &Touch) -> Result<Touched, DeviceError> {
        self.gpu(gpu)?;
        let active = if gpu == 0 { &self.active } else { &self.peer };
        let (clock, active) = (&self.clock, active.as_ref().ok_or_else(|| no_gpu(gpu))?);
        let Active { context, kernels } = active;
        if touch.access == Access::Add {
            let span = context.timed(clock, || self.launch(active, context.stream, buffer, touch))?;
            return Ok(Touched { span, check: None });
        }
        let visits = Visits::new(touch, self.memory_of(buffer)?.elements())?;
        let reads = touch.access == Access::Read;
        if reads {
            kernels.clear_sum(context)?;
        }
        let span = context.timed(clock, || self.launch(active, context.stream, buffer, touch))?;
        let expected = touch.expect.filter(|_| reads).and_then(|expect| visits.sum(&expect));
        let check = match expected {
            Some(expected) => Some(sum_check(&visits, kernels.sum(context)? == expected)),
            None => None,
        };
        Ok(Touched { span, check })
    }
}

impl CudaDevice {
    /// Puts the kernel of a touch on a stream of a GPU.
    fn launch(&self, on: &Active, stream: CUstream, buffer: Buffer, touch: &Touch) -> Result<(), DeviceError> {
        let memory = self.memory_of(buffer)?;
        let Active { context, kernels } = on;
        if touch.access != Access::Add {
            let visits = Visits::new(touch, memory.elements())?;
            return match touch.work {
                1 => kernels.launch(context, stream, memory.device, touch, &visits),
                _ if touch.computes_in_order() => kernels.launch_work(context, stream, memory.device, touch),
                _ => Err(DeviceError::Misuse("more work is for a whole read-write in order".to_owned())),
            };
        }
        let part = Part { first: touch.first, elements: touch.elements };
        let [a, b] = touch.addends.ok_or_else(|| DeviceError::Misuse("an addition needs two addends".to_owned()))?;
        [buffer, a, b].iter().try_for_each(|buffer| buffer.has(part))?;
        let addends = [self.memory_of(a)?.device, self.memory_of(b)?.device];
        kernels.launch_add(context, stream, memory.device, addends, part)
    }

    /// Puts the move of a part of a buffer on a stream of a GPU.
    fn send(
        &self,
        on: &Active,
        stream: CUstream,
        (buffer, part): (Buffer, Part),
        how: Transfer,
        to_gpu: bool,
    ) -> Result<(), DeviceError> {
        buffer.has(part)?;
        let memory = self.memory_of(buffer)?;
        match (how, buffer.kind) {
            (Transfer::Copy, MemoryKind::Explicit | MemoryKind::Pageable) => {
                memory.copy(&on.context, part, to_gpu, stream)
            }
            (Transfer::Prefetch, MemoryKind::Managed) => {
                require(&self.caps.prefetch)?;
                hints::prefetch(&on.context, memory, part, to_gpu, stream)
            }
            (how, kind) => Err(DeviceError::Misuse(format!("{kind} memory cannot be moved by {how:?}"))),
        }
    }

    fn touch_on_host(&mut self, buffer: Buffer, touch: &Touch) -> Result<Option<Check>, DeviceError> {
        if touch.access == Access::Add {
            return Err(DeviceError::Misuse("an addition is a GPU's".to_owned()));
        }
        let memory = self.buffers.get_mut(&buffer.id).ok_or_else(|| unknown(buffer))?;
        let visits = Visits::new(touch, memory.elements())?;
        Ok(host::run(memory.on_host(), touch, &visits))
    }
}

/// The check of a sum: it tells that something is wrong, not how much, so a wrong sum counts as one wrong element.
fn sum_check(visits: &Visits, right: bool) -> Check {
    Check { elements: visits.count(), wrong: u64::from(!right) }
}

impl Device for CudaDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn now(&self) -> Stamp {
        self.clock.now()
    }

    fn memory(&mut self) -> Result<MemoryFree, DeviceError> {
        buffers::memory_free(&self.active()?.context)
    }

    fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError> {
        let capability = match kind {
            MemoryKind::Managed => &self.caps.managed,
            MemoryKind::ZeroCopy => &self.caps.zero_copy,
            MemoryKind::Explicit | MemoryKind::Pageable => &Can::Yes,
        };
        require(capability)?;
        let memory = Memory::alloc(&self.active()?.context, kind, bytes)?;
        let buffer = Buffer { id: self.next_id, address: memory.device, bytes, kind };
        self.next_id += 1;
        self.buffers.insert(buffer.id, memory);
        Ok(buffer)
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.memory_of(buffer)?;
        self.active()?;
        let memory = self.buffers.remove(&buffer.id).ok_or_else(|| unknown(buffer))?;
        memory.free(&self.active()?.context)
    }

    fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool) -> Result<(), DeviceError> {
        require(&self.caps.advise)?;
        let gpu = advice.gpu().unwrap_or(0);
        self.gpu(gpu)?;
        let on = if gpu == 0 { &self.active } else { &self.peer }.as_ref().ok_or_else(|| no_gpu(gpu))?;
        hints::advise(&on.context, self.memory_of(buffer)?, advice, set)
    }

    fn transfer(&mut self, buffer: Buffer, part: Part, how: Transfer, to: Proc) -> Result<Span, DeviceError> {
        let gpu = gpu_of(to).unwrap_or(0);
        self.gpu(gpu)?;
        let on = if gpu == 0 { &self.active } else { &self.peer }.as_ref().ok_or_else(|| no_gpu(gpu))?;
        let stream = on.context.stream;
        on.context.timed(&self.clock, || self.send(on, stream, (buffer, part), how, gpu_of(to).is_some()))
    }

    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        self.memory_of(buffer)?;
        if let Some(gpu) = gpu_of(on) {
            return self.touch_on_gpu(gpu, buffer, touch);
        }
        let begin = self.clock.now();
        let check = self.touch_on_host(buffer, touch)?;
        let end = self.clock.now();
        Ok(Touched { span: Span { begin, end, gpu: None }, check })
    }

    fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError> {
        overlap::run(self, lanes)
    }

    fn recover(&mut self) -> Result<Recovery, DeviceError> {
        self.free_all();
        self.peer = None;
        let Some(old) = self.active.take() else { return Ok(Recovery::RestartNeeded) };
        let renew = old.context.renewal();
        // Every handle into the old context must be gone before it is destroyed.
        drop(old);
        self.active = renew().and_then(Active::new).ok();
        if let Ok(true) = verify::computes(self) {
            return Ok(Recovery::Verified);
        }
        self.free_all();
        self.active = None;
        Ok(Recovery::RestartNeeded)
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        self.free_all();
    }
}

fn unknown(buffer: Buffer) -> DeviceError {
    DeviceError::Misuse(format!("there is no buffer {} (freed, or lost in a recovery)", buffer.id))
}

fn require(capability: &Can) -> Result<(), DeviceError> {
    capability.reason().map_or(Ok(()), |why| Err(DeviceError::Misuse(why.to_owned())))
}

/// Which GPU a side is; `None` for the CPU.
fn gpu_of(side: Proc) -> Option<u16> {
    match side {
        Proc::Cpu => None,
        Proc::Gpu(number) => Some(number),
    }
}

fn no_gpu(number: u16) -> DeviceError {
    DeviceError::Misuse(format!("there is no GPU {number} that managed memory could migrate to"))
}
