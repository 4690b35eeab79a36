//! The driver's functions, found in libcuda by name. Every other file here calls the driver through this table.
//!
//! cudarc finds the library and gives the types. Its own functions are not used: they panic where libcuda lacks the
//! symbol, and return a Rust enum, for which a code of a newer driver would be undefined behaviour. Here a missing
//! function is an error with a name, and a result is a number.
#![allow(unsafe_code, non_snake_case)]

use super::error::{SUCCESS, driver_error};
use crate::device::DeviceError;
use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUjit_option, CUmem_advise,
    CUmemLocation, CUmemLocationType, CUmodule, CUstream, CUuuid,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Makes the table, its loading, and for each required function a method that turns the result into an error.
macro_rules! driver {
    (
        required { $($name:ident($($arg:ident: $type:ty),*);)+ }
        optional { $($extra:ident($($extra_type:ty),*);)+ }
    ) => {
        /// The driver's functions.
        pub(super) struct Driver {
            $($name: unsafe extern "C" fn($($type),*) -> u32,)+
            $($extra: Option<unsafe extern "C" fn($($extra_type),*) -> u32>,)+
        }

        impl Driver {
            fn find_all() -> Result<Self, String> {
                Ok(Self {
                    $($name: find(stringify!($name))
                        .ok_or_else(|| format!("libcuda has no {}: update the NVIDIA driver", stringify!($name)))?,)+
                    $($extra: find(stringify!($extra)),)+
                })
            }

            $(
                #[doc = concat!("`", stringify!($name), "`, see the CUDA driver API.")]
                #[allow(clippy::too_many_arguments)]
                pub(super) unsafe fn $name(&self, $($arg: $type),*) -> Result<(), DeviceError> {
                    // SAFETY: libcuda exports the function with this signature; the arguments are the caller's duty.
                    self.check(stringify!($name), unsafe { (self.$name)($($arg),*) })
                }
            )+
        }
    };
}

driver! {
    required {
        cuInit(flags: c_uint);
        cuDriverGetVersion(version: *mut c_int);
        cuDeviceGetCount(count: *mut c_int);
        cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
        cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice);
        cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice);
        cuDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: CUdevice);
        cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
        cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
        cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
        cuDevicePrimaryCtxRelease_v2(device: CUdevice);
        cuDevicePrimaryCtxReset_v2(device: CUdevice);
        cuCtxSetCurrent(context: CUcontext);
        cuStreamCreate(stream: *mut CUstream, flags: c_uint);
        cuStreamDestroy_v2(stream: CUstream);
        cuStreamSynchronize(stream: CUstream);
        cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
        cuEventCreate(event: *mut CUevent, flags: c_uint);
        cuEventDestroy_v2(event: CUevent);
        cuEventRecord(event: CUevent, stream: CUstream);
        cuEventElapsedTime(milliseconds: *mut f32, from: CUevent, to: CUevent);
        cuModuleLoadDataEx(
            module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option,
            values: *mut *mut c_void
        );
        cuModuleUnload(module: CUmodule);
        cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
        cuLaunchKernel(
            function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
            block_z: c_uint, shared_bytes: c_uint, stream: CUstream, parameters: *mut *mut c_void,
            extra: *mut *mut c_void
        );
        cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize);
        cuMemAllocManaged(pointer: *mut CUdeviceptr, bytes: usize, flags: c_uint);
        cuMemFree_v2(pointer: CUdeviceptr);
        cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
        cuMemHostGetDevicePointer_v2(pointer: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
        cuMemFreeHost(pointer: *mut c_void);
        cuMemsetD32Async(pointer: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
        cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
        cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    }
    optional {
        cuGetErrorName(u32, *mut *const c_char);
        cuMemAdvise(CUdeviceptr, usize, CUmem_advise, CUdevice);
        cuMemAdvise_v2(CUdeviceptr, usize, CUmem_advise, CUmemLocation);
        cuMemPrefetchAsync(CUdeviceptr, usize, CUdevice, CUstream);
        cuMemPrefetchAsync_v2(CUdeviceptr, usize, CUmemLocation, c_uint, CUstream);
    }
}

/// `CU_DEVICE_CPU`: the host, where the older calls want a device.
const HOST_DEVICE: CUdevice = -1;

/// The loaded driver, or a line that says what is missing and what to do. Loads at the first call; never panics.
pub(super) fn driver() -> Result<&'static Driver, String> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Driver, String> {
    // SAFETY: runs the initialisers of a library named libcuda, which is what we are here for.
    if !unsafe { sys::is_culib_present() } {
        return Err("libcuda.so.1 was not found: install the NVIDIA driver, or start the container with GPUs \
                    (docker run --gpus all)"
            .to_owned());
    }
    Driver::find_all()
}

/// The function `name`, whose type must be `F`. Only called once libcuda is known to load.
fn find<F: Copy>(name: &str) -> Option<F> {
    // SAFETY: the library stays loaded for good, and the table gives each name its type from the driver's header.
    unsafe { sys::culib().get::<F>(name.as_bytes()).ok().map(|symbol| *symbol) }
}

/// Where managed memory may be.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Host memory.
    Host,
    /// Memory of this GPU.
    Gpu(CUdevice),
}

impl Place {
    fn device(self) -> CUdevice {
        match self {
            Place::Host => HOST_DEVICE,
            Place::Gpu(device) => device,
        }
    }

    fn location(self) -> CUmemLocation {
        match self {
            Place::Host => CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, id: 0 },
            Place::Gpu(id) => CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id },
        }
    }
}

impl Driver {
    /// Whether there is a call for advice and one for prefetch, in either version.
    pub(super) fn has_hints(&self) -> bool {
        (self.cuMemAdvise_v2.is_some() || self.cuMemAdvise.is_some())
            && (self.cuMemPrefetchAsync_v2.is_some() || self.cuMemPrefetchAsync.is_some())
    }

    /// `cuMemAdvise`, the newer version if there is one.
    ///
    /// # Safety
    /// A context is current and the range is managed memory.
    pub(super) unsafe fn advise(
        &self,
        pointer: CUdeviceptr,
        bytes: usize,
        advice: CUmem_advise,
        place: Place,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's duty.
        let code = match (self.cuMemAdvise_v2, self.cuMemAdvise) {
            (Some(call), _) => unsafe { call(pointer, bytes, advice, place.location()) },
            (None, Some(call)) => unsafe { call(pointer, bytes, advice, place.device()) },
            (None, None) => return Err(DeviceError::Misuse("this driver has no cuMemAdvise".to_owned())),
        };
        self.check("cuMemAdvise", code)
    }

    /// `cuMemPrefetchAsync`, the newer version if there is one.
    ///
    /// # Safety
    /// A context is current, the range is managed memory, and the stream is of this context.
    pub(super) unsafe fn prefetch(
        &self,
        pointer: CUdeviceptr,
        bytes: usize,
        place: Place,
        stream: CUstream,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's duty.
        let code = match (self.cuMemPrefetchAsync_v2, self.cuMemPrefetchAsync) {
            (Some(call), _) => unsafe { call(pointer, bytes, place.location(), 0, stream) },
            (None, Some(call)) => unsafe { call(pointer, bytes, place.device(), stream) },
            (None, None) => return Err(DeviceError::Misuse("this driver has no cuMemPrefetchAsync".to_owned())),
        };
        self.check("cuMemPrefetchAsync", code)
    }

    fn check(&self, call: &'static str, code: u32) -> Result<(), DeviceError> {
        if code == SUCCESS { Ok(()) } else { Err(driver_error(call, code, self.name_of(code))) }
    }

    /// The driver's name of a code; empty if it has none.
    fn name_of(&self, code: u32) -> String {
        let mut name: *const c_char = std::ptr::null();
        let Some(get) = self.cuGetErrorName else { return String::new() };
        // SAFETY: sets `name` to a string that lives as long as the library, or to null for an unknown code.
        unsafe {
            get(code, &mut name);
            if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_to_do() {
        if let Err(line) = driver() {
            assert!(line.contains("driver"), "{line}");
        }
    }
}
