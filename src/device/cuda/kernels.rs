//! The touch kernels: the embedded PTX, its entry points, and their launch.
#![allow(unsafe_code)]

use super::context::Context;
use super::visits::Visits;
use crate::device::{Access, DeviceError, Part, Pattern, Touch};
use cudarc::driver::sys::{CUdevice_attribute, CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUstream};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// `kernels/touch.ptx`, ended by the zero byte that the driver wants.
const PTX: &str = concat!(include_str!("../../../kernels/touch.ptx"), "\0");
/// Threads in a block, as the kernels' launch bounds say.
const BLOCK: u32 = 256;
/// Blocks for each multiprocessor: 2048 threads, as many as any one holds.
const BLOCKS_PER_SM: u64 = 8;
const JIT_LOG: usize = 4096;

/// The loaded kernels of one context, and the word into which reads add up what they saw.
pub(super) struct Kernels {
    module: CUmodule,
    sequential: CUfunction,
    strided: CUfunction,
    random: CUfunction,
    block: CUfunction,
    one_warp: CUfunction,
    work: CUfunction,
    add: CUfunction,
    multiprocessors: u64,
    sum: CUdeviceptr,
}

// SAFETY: handles, used only while their context is current in the calling thread.
unsafe impl Send for Kernels {}

impl Kernels {
    /// Compiles the PTX for the GPU of `context`.
    pub(super) fn load(context: &Context) -> Result<Self, DeviceError> {
        let module = compile(context)?;
        let multiprocessors = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let mut kernels = Self {
            module,
            sequential: function(context, module, c"touch_sequential")?,
            strided: function(context, module, c"touch_strided")?,
            random: function(context, module, c"touch_random")?,
            block: function(context, module, c"touch_block")?,
            one_warp: function(context, module, c"touch_one_warp")?,
            work: function(context, module, c"work")?,
            add: function(context, module, c"add")?,
            multiprocessors: u64::try_from(multiprocessors).unwrap_or(1).max(1),
            sum: 0,
        };
        // SAFETY: fills one field.
        unsafe { context.driver.cuMemAlloc_v2(&mut kernels.sum, size_of::<u32>())? };
        Ok(kernels)
    }

    /// Gives the module and the word back.
    pub(super) fn unload(&self, context: &Context) {
        // SAFETY: `self` is not used afterwards; after a sticky error both calls fail, and the reset frees all.
        unsafe {
            let _ = context.driver.cuMemFree_v2(self.sum);
            let _ = context.driver.cuModuleUnload(self.module);
        }
    }

    /// Puts the kernel of `touch` over `data` on the stream; an addition has one of its own.
    pub(super) fn launch(
        &self,
        context: &Context,
        stream: CUstream,
        data: CUdeviceptr,
        touch: &Touch,
        visits: &Visits,
    ) -> Result<(), DeviceError> {
        let (function, elements_per_thread) = match touch.pattern {
            Pattern::Sequential => (self.sequential, 4),
            Pattern::Strided { .. } => (self.strided, 1),
            Pattern::Random { .. } => (self.random, 1),
            Pattern::Block => (self.block, 1),
            Pattern::OneWarp => (self.one_warp, 1),
        };
        let (grid, block) = match touch.pattern {
            Pattern::OneWarp => (1, 32),
            _ => (self.grid(visits.count().div_ceil(elements_per_thread)), BLOCK),
        };
        let access: u32 = match touch.access {
            Access::Read => 0,
            Access::Write => 1,
            Access::ReadWrite => 2,
            Access::Add => return Err(DeviceError::Misuse("an addition needs two addends".to_owned())),
        };
        let shape = visits.shape();
        let mut parameters: [*const c_void; 9] = [
            (&raw const data).cast(),
            (&raw const touch.first).cast(),
            (&raw const touch.elements).cast(),
            (&raw const touch.count).cast(),
            (&raw const shape).cast(),
            (&raw const touch.value.mul).cast(),
            (&raw const touch.value.add).cast(),
            (&raw const access).cast(),
            (&raw const self.sum).cast(),
        ];
        let parameters = parameters.as_mut_ptr().cast::<*mut c_void>();
        // SAFETY: nine parameters of the sizes in kernels/touch.cu, which the driver copies before it returns.
        unsafe { context.driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, null_mut()) }
    }

    /// Puts a read-write that does its arithmetic `touch.work` times on the stream. It visits its range in order.
    pub(super) fn launch_work(
        &self,
        context: &Context,
        stream: CUstream,
        data: CUdeviceptr,
        touch: &Touch,
    ) -> Result<(), DeviceError> {
        let grid = self.grid(touch.elements.div_ceil(4));
        let mut parameters: [*const c_void; 6] = [
            (&raw const data).cast(),
            (&raw const touch.first).cast(),
            (&raw const touch.elements).cast(),
            (&raw const touch.value.mul).cast(),
            (&raw const touch.value.add).cast(),
            (&raw const touch.work).cast(),
        ];
        let parameters = parameters.as_mut_ptr().cast::<*mut c_void>();
        // SAFETY: six parameters of the sizes in kernels/touch.cu, which the driver copies before it returns.
        unsafe { context.driver.cuLaunchKernel(self.work, grid, 1, 1, BLOCK, 1, 1, 0, stream, parameters, null_mut()) }
    }

    /// Puts `sum = a + b` over `part` on the stream.
    pub(super) fn launch_add(
        &self,
        context: &Context,
        stream: CUstream,
        sum: CUdeviceptr,
        [a, b]: [CUdeviceptr; 2],
        part: Part,
    ) -> Result<(), DeviceError> {
        let grid = self.grid(part.elements.div_ceil(4));
        let mut parameters: [*const c_void; 5] = [
            (&raw const sum).cast(),
            (&raw const a).cast(),
            (&raw const b).cast(),
            (&raw const part.first).cast(),
            (&raw const part.elements).cast(),
        ];
        let parameters = parameters.as_mut_ptr().cast::<*mut c_void>();
        // SAFETY: five parameters of the sizes in kernels/touch.cu, which the driver copies before it returns.
        unsafe { context.driver.cuLaunchKernel(self.add, grid, 1, 1, BLOCK, 1, 1, 0, stream, parameters, null_mut()) }
    }

    fn grid(&self, threads: u64) -> u32 {
        let blocks = threads.div_ceil(u64::from(BLOCK)).clamp(1, self.multiprocessors * BLOCKS_PER_SM);
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// Sets the sum to zero and waits for it, so that this does not count as the touch's time.
    pub(super) fn clear_sum(&self, context: &Context) -> Result<(), DeviceError> {
        // SAFETY: one word of our own.
        unsafe { context.driver.cuMemsetD32Async(self.sum, 0, 1, context.stream)? };
        context.synchronize()
    }

    /// The sum of all values read since it was cleared.
    pub(super) fn sum(&self, context: &Context) -> Result<u32, DeviceError> {
        let mut sum = 0u32;
        // SAFETY: one word of our own, to a local that outlives the synchronisation.
        unsafe {
            let to = (&raw mut sum).cast();
            context.driver.cuMemcpyDtoHAsync_v2(to, self.sum, size_of::<u32>(), context.stream)?;
        }
        context.synchronize()?;
        Ok(sum)
    }
}

/// Loads the PTX; if the driver's compiler refuses it, its log is in the error.
fn compile(context: &Context) -> Result<CUmodule, DeviceError> {
    let mut module = null_mut();
    let mut log = [0u8; JIT_LOG];
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(JIT_LOG)];
    // SAFETY: the image ends in a zero byte, and the log has the length given.
    let loaded = unsafe {
        context.driver.cuModuleLoadDataEx(
            &mut module,
            PTX.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match loaded {
        Ok(()) => Ok(module),
        Err(DeviceError::Driver { call, code, name, mut hint, sticky }) => {
            let text = String::from_utf8_lossy(&log);
            let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
            if !text.is_empty() {
                hint = [hint.as_str(), text]
                    .iter()
                    .filter(|part| !part.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join("; ");
            }
            Err(DeviceError::Driver { call, code, name, hint, sticky })
        }
        Err(other) => Err(other),
    }
}

fn function(context: &Context, module: CUmodule, name: &CStr) -> Result<CUfunction, DeviceError> {
    let mut function = null_mut();
    // SAFETY: fills the local; `module` is loaded.
    unsafe { context.driver.cuModuleGetFunction(&mut function, module, name.as_ptr())? };
    Ok(function)
}
