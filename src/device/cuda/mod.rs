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

mod buffers;
mod choice;
mod context;
mod error;
mod ffi;
mod hints;
mod host;
mod kernels;
mod survey;
mod verify;
mod visits;

pub use choice::{ChoiceError, GpuChoice, PciAddress};
pub use survey::survey;

use super::{Access, Buffer, Device, DeviceError, MemoryFree, Recovery, Span, Survey, Touch, Touched, Transfer};
use crate::clock::Clock;
use crate::event::{Advice, Can, Caps, Check, GpuInfo, MemoryKind, Proc};
use crate::units::{Bytes, Stamp};
use buffers::Memory;
use context::Context;
use kernels::Kernels;
use std::collections::BTreeMap;
use visits::Visits;

/// A GPU with its primary context. [`Proc::Gpu`]`(0)` names this GPU in every call; it knows no other.
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
        let mut device = Self {
            clock,
            caps: hints::caps(gpu, driver.has_hints()),
            info: info(gpu, &survey),
            active: Some(Active::new(context)?),
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
        active.kernels.launch(&active.context, verify::UNMAPPED, &touch, &visits)?;
        active.context.synchronize()
    }

    /// The context, made current in this thread.
    fn active(&self) -> Result<&Active, DeviceError> {
        let lost = || DeviceError::Unusable("the GPU's context is lost for this process: restart umtop".to_owned());
        let active = self.active.as_ref().ok_or_else(lost)?;
        active.context.enter()?;
        Ok(active)
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

    fn touch_on_gpu(&self, memory: &Memory, touch: &Touch, visits: &Visits) -> Result<Touched, DeviceError> {
        let Active { context, kernels } = self.active()?;
        let reads = touch.access == Access::Read;
        if reads {
            kernels.clear_sum(context)?;
        }
        let span = context.timed(&self.clock, || kernels.launch(context, memory.device, touch, visits))?;
        let expected = touch.expect.filter(|_| reads).and_then(|expect| visits.sum(&expect));
        let check = match expected {
            Some(expected) => Some(sum_check(visits, kernels.sum(context)? == expected)),
            None => None,
        };
        Ok(Touched { span, check })
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
        let memory = self.memory_of(buffer)?;
        hints::advise(&self.active()?.context, memory, advice, set)
    }

    fn transfer(&mut self, buffer: Buffer, how: Transfer, to: Proc) -> Result<Span, DeviceError> {
        let to_gpu = own_gpu(to)?;
        let memory = self.memory_of(buffer)?;
        let context = &self.active()?.context;
        match (how, buffer.kind) {
            (Transfer::Copy, MemoryKind::Explicit | MemoryKind::Pageable) => {
                context.timed(&self.clock, || memory.copy(context, to_gpu))
            }
            (Transfer::Prefetch, MemoryKind::Managed) => {
                require(&self.caps.prefetch)?;
                context.timed(&self.clock, || hints::prefetch(context, memory, to_gpu))
            }
            (how, kind) => Err(DeviceError::Misuse(format!("{kind} memory cannot be moved by {how:?}"))),
        }
    }

    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        let on_gpu = own_gpu(on)?;
        let memory = self.memory_of(buffer)?;
        let visits = Visits::new(touch, memory.elements())?;
        if on_gpu {
            return self.touch_on_gpu(memory, touch, &visits);
        }
        let memory = self.buffers.get_mut(&buffer.id).ok_or_else(|| unknown(buffer))?;
        let begin = self.clock.now();
        let check = host::run(memory.on_host(), touch, &visits);
        let end = self.clock.now();
        Ok(Touched { span: Span { begin, end, gpu: None }, check })
    }

    fn recover(&mut self) -> Result<Recovery, DeviceError> {
        self.free_all();
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

/// Whether the side is this GPU (true) or the CPU (false).
fn own_gpu(side: Proc) -> Result<bool, DeviceError> {
    match side {
        Proc::Cpu => Ok(false),
        Proc::Gpu(0) => Ok(true),
        other => Err(DeviceError::Misuse(format!("this device is one GPU, GPU 0: it has no {other}"))),
    }
}

fn info(gpu: &super::GpuSurvey, survey: &Survey) -> GpuInfo {
    GpuInfo {
        name: gpu.name.clone(),
        uuid: gpu.uuid.clone(),
        pci: gpu.pci.clone(),
        driver: survey::driver_version(),
        cuda: survey.cuda_version.clone().unwrap_or_else(|| "unknown".to_owned()),
        compute: gpu.compute.clone(),
        vram: gpu.vram,
        link_max: None,
    }
}
