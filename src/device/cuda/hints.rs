//! What the driver is told about managed memory: advice and prefetch, and whether it listens.
#![allow(unsafe_code)]

use super::buffers::Memory;
use super::context::Context;
use super::ffi::Place;
use crate::device::{DeviceError, ELEMENT, GpuSurvey, Part};
use crate::event::{Advice, Can, Caps};
use cudarc::driver::sys::{CUmem_advise as Say, CUstream};

/// Why there is no managed memory.
pub(in crate::device) const NO_MANAGED: &str = "managedMemory is 0 on this GPU";
/// Why both sides cannot use managed memory at the same time.
pub(in crate::device) const NO_CONCURRENT: &str =
    "concurrentManagedAccess is 0 here (Windows, WSL2, some vGPUs): no page migrates on a fault";
/// Why there is neither prefetch nor advice there.
pub(in crate::device) const NO_HINTS: &str = "concurrentManagedAccess is 0 here (Windows, WSL2, some vGPUs): the driver \
     moves whole allocations at each kernel launch and takes no hints";

/// What a GPU can do. `hint_calls`: whether the driver has the calls for advice and prefetch; `gpus`: how many there are.
pub(super) fn caps(gpu: &GpuSurvey, hint_calls: bool, gpus: usize) -> Caps {
    let hints = match (gpu.concurrent, hint_calls) {
        (false, _) => Can::No(NO_HINTS.to_owned()),
        (true, false) => Can::No("libcuda lacks cuMemAdvise or cuMemPrefetchAsync: update the driver".to_owned()),
        (true, true) => Can::Yes,
    };
    Caps {
        managed: Can::when(gpu.managed, NO_MANAGED),
        concurrent: Can::when(gpu.concurrent, NO_CONCURRENT),
        prefetch: hints.clone(),
        advise: hints,
        pageable: Can::when(gpu.pageable, "pageableMemoryAccess is 0: malloc memory is not shared with this GPU"),
        host_page_tables: Can::when(gpu.host_page_tables, "this GPU has page tables of its own"),
        zero_copy: Can::when(gpu.map_host, "canMapHostMemory is 0 on this GPU"),
        trace: Can::No("not attached yet".to_owned()),
        gpus: u32::try_from(gpus).unwrap_or(u32::MAX),
    }
}

/// The driver's advice for one of ours: what to say to set it, to unset it, and about which place (true: the GPU that it names).
fn advice_calls(advice: Advice) -> &'static [(Say, Say, bool)] {
    use Say::*;
    const READ_MOSTLY: (Say, Say, bool) = (CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY, true);
    const PREFERRED_GPU: (Say, Say, bool) =
        (CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, true);
    const PREFERRED_CPU: (Say, Say, bool) = (PREFERRED_GPU.0, PREFERRED_GPU.1, false);
    const ACCESSED_BY: (Say, Say, bool) = (CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY, true);
    match advice {
        Advice::None => &[],
        Advice::ReadMostly => &[READ_MOSTLY],
        Advice::PreferredGpu | Advice::PreferredSecondGpu => &[PREFERRED_GPU],
        Advice::PreferredCpu => &[PREFERRED_CPU],
        Advice::AccessedByGpu | Advice::AccessedBySecondGpu => &[ACCESSED_BY],
        Advice::PreferredCpuAccessedBy => &[PREFERRED_CPU, ACCESSED_BY],
    }
}

/// Sets or unsets `advice` over all of `memory`; `context` is that of the GPU that it names, and current.
pub(super) fn advise(context: &Context, memory: &Memory, advice: Advice, set: bool) -> Result<(), DeviceError> {
    let (pointer, bytes) = memory.managed()?;
    for &(to_set, to_unset, on_gpu) in advice_calls(advice) {
        let say = if set { to_set } else { to_unset };
        // SAFETY: the range is managed memory of ours.
        unsafe { context.driver.advise(pointer, bytes, say, place(context, on_gpu))? };
    }
    Ok(())
}

/// Puts the prefetch of `part`, which lies within `memory`, on the stream; `context` is current.
pub(super) fn prefetch(
    context: &Context,
    memory: &Memory,
    part: Part,
    to_gpu: bool,
    stream: CUstream,
) -> Result<(), DeviceError> {
    let (pointer, _) = memory.managed()?;
    let (pointer, bytes) = (pointer + part.first * ELEMENT, (part.elements * ELEMENT) as usize);
    // SAFETY: the range is managed memory of ours, the stream is the context's.
    unsafe { context.driver.prefetch(pointer, bytes, place(context, to_gpu), stream) }
}

fn place(context: &Context, gpu: bool) -> Place {
    if gpu { context.place() } else { Place::Host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsetting_says_the_counterpart_of_each_call() {
        for &advice in Advice::ALL {
            for (set, unset, _) in advice_calls(advice) {
                assert_eq!(*unset as u32, *set as u32 + 1, "{advice}");
            }
        }
        let remote: Vec<bool> = advice_calls(Advice::PreferredCpuAccessedBy).iter().map(|call| call.2).collect();
        assert_eq!(remote, [false, true], "the host is preferred, the GPU gets mappings");
    }
}
