//! The four kinds of memory: how each is had, moved and given back.
#![allow(unsafe_code)]

use super::context::Context;
use super::error::OUT_OF_MEMORY;
use crate::device::host_memory::host_available;
use crate::device::{DeviceError, ELEMENT, MemoryFree, Part};
use crate::event::MemoryKind;
use crate::units::Bytes;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;

/// `CU_MEM_ATTACH_GLOBAL`: any stream of any GPU may touch it.
const ATTACH_GLOBAL: u32 = 1;
/// `CU_MEMHOSTALLOC_DEVICEMAP`: the GPU gets an address for it.
const DEVICE_MAP: u32 = 2;

/// Memory of one kind, with the address that each side uses. It must be given back by [`Memory::free`].
pub(super) struct Memory {
    kind: MemoryKind,
    bytes: usize,
    /// The GPU's address.
    pub(super) device: CUdeviceptr,
    host: *mut c_void,
}

// SAFETY: the addresses are valid in every thread, and there is one owner.
unsafe impl Send for Memory {}

impl Memory {
    /// Allocates; `context` is current.
    pub(super) fn alloc(context: &Context, kind: MemoryKind, bytes: Bytes) -> Result<Self, DeviceError> {
        let size = usize::try_from(bytes.0).ok().filter(|&size| size >= size_of::<u32>());
        let Some(size) = size else {
            return Err(DeviceError::Misuse(format!("cannot allocate {bytes}: the least is one element of 4 B")));
        };
        let mut memory = Self { kind, bytes: size, device: 0, host: null_mut() };
        match memory.fill(context) {
            Ok(()) => Ok(memory),
            Err(error) => {
                // The first error is the one to tell; a half that was had is given back.
                let _ = memory.free(context);
                Err(no_room(context, error, bytes))
            }
        }
    }

    fn fill(&mut self, context: &Context) -> Result<(), DeviceError> {
        let driver = context.driver;
        // SAFETY: each call fills a field of `self` with memory of `bytes`; the context is current.
        unsafe {
            match self.kind {
                MemoryKind::Managed => {
                    driver.cuMemAllocManaged(&mut self.device, self.bytes, ATTACH_GLOBAL)?;
                    self.host = std::ptr::with_exposed_provenance_mut(self.device as usize);
                    Ok(())
                }
                MemoryKind::Explicit => {
                    driver.cuMemAlloc_v2(&mut self.device, self.bytes)?;
                    driver.cuMemHostAlloc(&mut self.host, self.bytes, 0)
                }
                MemoryKind::Pageable => {
                    driver.cuMemAlloc_v2(&mut self.device, self.bytes)?;
                    self.host = map_pages(self.bytes)?;
                    Ok(())
                }
                MemoryKind::ZeroCopy => {
                    driver.cuMemHostAlloc(&mut self.host, self.bytes, DEVICE_MAP)?;
                    driver.cuMemHostGetDevicePointer_v2(&mut self.device, self.host, 0)
                }
            }
        }
    }

    /// Gives it back, both parts whatever happens to the first; tells the first error.
    pub(super) fn free(self, context: &Context) -> Result<(), DeviceError> {
        let driver = context.driver;
        let own_device_part = self.kind != MemoryKind::ZeroCopy && self.device != 0;
        let own_host_part = self.kind != MemoryKind::Managed && !self.host.is_null();
        // SAFETY: `self` is consumed, so that each part is freed once, by the call that matches its allocation.
        unsafe {
            let device = if own_device_part { driver.cuMemFree_v2(self.device) } else { Ok(()) };
            let host = match self.kind {
                _ if !own_host_part => Ok(()),
                MemoryKind::Pageable => {
                    libc::munmap(self.host, self.bytes);
                    Ok(())
                }
                _ => driver.cuMemFreeHost(self.host),
            };
            device.and(host)
        }
    }

    /// Address and length of all of it, if this is managed memory.
    pub(super) fn managed(&self) -> Result<(CUdeviceptr, usize), DeviceError> {
        match self.kind {
            MemoryKind::Managed => Ok((self.device, self.bytes)),
            kind => Err(DeviceError::Misuse(format!("{kind} memory takes no advice and no prefetch"))),
        }
    }

    /// Number of whole elements.
    pub(super) fn elements(&self) -> u64 {
        (self.bytes / size_of::<u32>()) as u64
    }

    /// The host's view. The GPU is idle between calls; within [`crate::device::Device::overlap`] it may read what the
    /// host reads, or write the values that the host writes.
    pub(super) fn on_host(&mut self) -> &mut [u32] {
        // SAFETY: the range is mapped, aligned to a page and ours; the kernels that may have changed it have been
        // waited for in a call that the compiler cannot see into, so nothing is cached across it.
        unsafe { std::slice::from_raw_parts_mut(self.host.cast(), self.bytes / size_of::<u32>()) }
    }

    /// Puts the copy of `part`, which lies within it, to or from the GPU, on the stream.
    pub(super) fn copy(
        &self,
        context: &Context,
        part: Part,
        to_gpu: bool,
        stream: CUstream,
    ) -> Result<(), DeviceError> {
        let driver = context.driver;
        let (offset, bytes) = (part.first * ELEMENT, (part.elements * ELEMENT) as usize);
        let device = self.device + offset;
        // SAFETY: the part lies within both halves, which live until the caller has waited for the stream.
        unsafe {
            let host = self.host.byte_add(offset as usize);
            if to_gpu {
                driver.cuMemcpyHtoDAsync_v2(device, host, bytes, stream)
            } else {
                driver.cuMemcpyDtoHAsync_v2(host, device, bytes, stream)
            }
        }
    }
}

/// What can be had now; `context` is current.
pub(super) fn memory_free(context: &Context) -> Result<MemoryFree, DeviceError> {
    let (mut free, mut total) = (0usize, 0usize);
    // SAFETY: fills the two locals.
    unsafe { context.driver.cuMemGetInfo_v2(&mut free, &mut total)? };
    Ok(MemoryFree { vram_free: Bytes(free as u64), vram_total: Bytes(total as u64), host_available: host_available() })
}

/// An out-of-memory error with the figures.
fn no_room(context: &Context, error: DeviceError, wanted: Bytes) -> DeviceError {
    match error {
        DeviceError::Driver { call, code: OUT_OF_MEMORY, .. } => match memory_free(context) {
            Ok(memory) if call == "cuMemHostAlloc" => DeviceError::NoRoom { wanted, free: memory.host_available },
            Ok(memory) => DeviceError::NoRoom { wanted, free: memory.vram_free },
            Err(_) => error,
        },
        other => other,
    }
}

/// Fresh pages of ordinary memory, as a large `malloc` gives them: zero, and had only when touched.
fn map_pages(bytes: usize) -> Result<*mut c_void, DeviceError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: an anonymous mapping at an address that the kernel chooses.
    let pages = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    if pages == libc::MAP_FAILED {
        return Err(DeviceError::NoRoom { wanted: Bytes(bytes as u64), free: host_available() });
    }
    Ok(pages)
}
