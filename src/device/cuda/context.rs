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

/// Streams for lanes that run at the same time.
pub(super) const LANES: usize = 4;

/// A stream beside the main one, and the event that says that its work is done.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) stream: CUstream,
    done: CUevent,
}

/// A retained primary context. All work goes to its streams and is waited for, so that when no call is running the GPU
/// is idle and the host may touch any memory, `concurrentManagedAccess` or not.
pub(super) struct Context {
    pub(super) driver: &'static Driver,
    pub(super) device: CUdevice,
    pub(super) stream: CUstream,
    handle: CUcontext,
    before: CUevent,
    after: CUevent,
    pub(super) sides: [Side; LANES],
}

// SAFETY: the handles may be used from any thread in which the context is current, and `enter` makes it so.
unsafe impl Send for Context {}

impl Context {
    /// Retains the primary context of `device` and makes it current in this thread.
    pub(super) fn open(driver: &'static Driver, device: CUdevice) -> Result<Self, DeviceError> {
        let mut context = Self {
            driver,
            device,
            stream: null_mut(),
            handle: null_mut(),
            before: null_mut(),
            after: null_mut(),
            sides: [Side { stream: null_mut(), done: null_mut() }; LANES],
        };
        // SAFETY: `device` came from cuDeviceGet, and each call fills one field; what is left null is never used.
        unsafe {
            driver.cuDevicePrimaryCtxRetain(&mut context.handle, device)?;
            driver.cuCtxSetCurrent(context.handle)?;
            driver.cuStreamCreate(&mut context.stream, NON_BLOCKING)?;
            driver.cuEventCreate(&mut context.before, TIMING)?;
            driver.cuEventCreate(&mut context.after, TIMING)?;
            for side in &mut context.sides {
                driver.cuStreamCreate(&mut side.stream, NON_BLOCKING)?;
                driver.cuEventCreate(&mut side.done, TIMING)?;
            }
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
        self.mark()?;
        enqueue()?;
        let gpu = self.finish()?;
        Ok(Span { begin, end: clock.now(), gpu: Some(gpu) })
    }

    /// Marks the beginning of timed work on the main stream.
    fn mark(&self) -> Result<(), DeviceError> {
        // SAFETY: event and stream are of this context.
        unsafe { self.driver.cuEventRecord(self.before, self.stream) }
    }

    /// Waits for all work on the main stream; its time on the GPU's clock since the mark.
    pub(super) fn finish(&self) -> Result<Nanos, DeviceError> {
        // SAFETY: event and stream are of this context.
        unsafe { self.driver.cuEventRecord(self.after, self.stream)? };
        self.synchronize()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events have completed, as the stream is empty.
        unsafe { self.driver.cuEventElapsedTime(&mut milliseconds, self.before, self.after)? };
        Ok(Nanos((f64::from(milliseconds.max(0.0)) * 1e6).round() as u64))
    }

    /// Marks the beginning of timed work, before which the first `lanes` side streams do not go on.
    pub(super) fn fork(&self, lanes: usize) -> Result<(), DeviceError> {
        self.mark()?;
        // SAFETY: event and streams are of this context.
        let wait = |side: &Side| unsafe { self.driver.cuStreamWaitEvent(side.stream, self.before, 0) };
        self.sides.iter().take(lanes).try_for_each(wait)
    }

    /// Lets the main stream go on only when the first `lanes` side streams are done.
    pub(super) fn join(&self, lanes: usize) -> Result<(), DeviceError> {
        self.sides.iter().take(lanes).try_for_each(|side| {
            // SAFETY: events and streams are of this context.
            unsafe {
                self.driver.cuEventRecord(side.done, side.stream)?;
                self.driver.cuStreamWaitEvent(self.stream, side.done, 0)
            }
        })
    }

    /// Waits until every side stream is empty.
    pub(super) fn drain(&self) -> Result<(), DeviceError> {
        // SAFETY: the streams live as long as the context.
        self.sides.iter().try_for_each(|side| unsafe { self.driver.cuStreamSynchronize(side.stream) })
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
            for event in [self.before, self.after].into_iter().chain(self.sides.map(|side| side.done)) {
                if !event.is_null() {
                    let _ = self.driver.cuEventDestroy_v2(event);
                }
            }
            for stream in [self.stream].into_iter().chain(self.sides.map(|side| side.stream)) {
                if !stream.is_null() {
                    let _ = self.driver.cuStreamDestroy_v2(stream);
                }
            }
            let _ = self.driver.cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}
