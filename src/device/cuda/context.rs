//! One GPU's primary context with the stream on which everything runs and the two events that time it.
#![allow(unsafe_code)]

use super::ffi::{Driver, Place};
use crate::clock::Clock;
use crate::device::{DeviceError, Span};
use crate::units::Nanos;
use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute, CUevent, CUstream};
use std::ptr::null_mut;

/// `CU_STREAM_NON_BLOCKING`: no waiting for the legacy default stream.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DEFAULT`: with timing.
const TIMING: u32 = 0;

/// A retained primary context. All work goes to one stream and is waited for, so that when no call is running the GPU
/// is idle and the host may touch any memory, `concurrentManagedAccess` or not.
pub(super) struct Context {
    pub(super) driver: &'static Driver,
    pub(super) device: CUdevice,
    pub(super) stream: CUstream,
    handle: CUcontext,
    before: CUevent,
    after: CUevent,
}

// SAFETY: the handles may be used from any thread in which the context is current, and `enter` makes it so.
unsafe impl Send for Context {}

impl Context {
    /// Retains the primary context of `device` and makes it current in this thread.
    pub(super) fn open(driver: &'static Driver, device: CUdevice) -> Result<Self, DeviceError> {
        let mut context =
            Self { driver, device, stream: null_mut(), handle: null_mut(), before: null_mut(), after: null_mut() };
        // SAFETY: `device` came from cuDeviceGet, and each call fills one field; what is left null is never used.
        unsafe {
            driver.cuDevicePrimaryCtxRetain(&mut context.handle, device)?;
            driver.cuCtxSetCurrent(context.handle)?;
            driver.cuStreamCreate(&mut context.stream, NON_BLOCKING)?;
            driver.cuEventCreate(&mut context.before, TIMING)?;
            driver.cuEventCreate(&mut context.after, TIMING)?;
        }
        Ok(context)
    }

    /// Makes the context current in the calling thread: the device may have been opened in another one.
    pub(super) fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the handle is retained until drop.
        unsafe { self.driver.cuCtxSetCurrent(self.handle) }
    }

    /// This GPU, as a place for managed memory.
    pub(super) fn place(&self) -> Place {
        Place::Gpu(self.device)
    }

    /// An attribute of the GPU.
    pub(super) fn attribute(&self, attribute: CUdevice_attribute) -> Result<i32, DeviceError> {
        let mut value = 0;
        // SAFETY: writes one integer.
        unsafe { self.driver.cuDeviceGetAttribute(&mut value, attribute, self.device)? };
        Ok(value)
    }

    /// Waits until the stream is empty.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream lives as long as the context.
        unsafe { self.driver.cuStreamSynchronize(self.stream) }
    }

    /// Runs `enqueue`, which puts work on the stream, waits for the work, and times it on both clocks.
    pub(super) fn timed(
        &self,
        clock: &Clock,
        enqueue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Span, DeviceError> {
        let begin = clock.now();
        // SAFETY: events and stream are of this context.
        unsafe { self.driver.cuEventRecord(self.before, self.stream)? };
        enqueue()?;
        // SAFETY: as above.
        unsafe { self.driver.cuEventRecord(self.after, self.stream)? };
        self.synchronize()?;
        let end = clock.now();
        let mut milliseconds = 0f32;
        // SAFETY: both events have completed, as the stream is empty.
        unsafe { self.driver.cuEventElapsedTime(&mut milliseconds, self.before, self.after)? };
        let gpu = Nanos((f64::from(milliseconds.max(0.0)) * 1e6).round() as u64);
        Ok(Span { begin, end, gpu: Some(gpu) })
    }

    /// A context that opens this GPU's primary context anew, to be called when this one is gone.
    pub(super) fn renewal(&self) -> impl FnOnce() -> Result<Self, DeviceError> + use<> {
        let (driver, device) = (self.driver, self.device);
        move || {
            // The release has destroyed the context if nobody else in the process holds it; this destroys it in any
            // case. An error does not matter: what counts is whether the new context computes.
            // SAFETY: no handle of the old context is used any more.
            let _ = unsafe { driver.cuDevicePrimaryCtxReset_v2(device) };
            Self::open(driver, device)
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        // Errors are of no use here: after a sticky error all of these fail, and the release still counts.
        // SAFETY: each handle is destroyed once, and only if it was made.
        unsafe {
            let _ = self.driver.cuCtxSetCurrent(self.handle);
            for event in [self.before, self.after] {
                if !event.is_null() {
                    let _ = self.driver.cuEventDestroy_v2(event);
                }
            }
            if !self.stream.is_null() {
                let _ = self.driver.cuStreamDestroy_v2(self.stream);
            }
            let _ = self.driver.cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}
