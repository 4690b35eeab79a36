//! What a driver error means and what to do about it. Pure: codes in, words out.
//!
//! Codes stay plain numbers. The driver may return one that the binding's enum does not list, and such an enum value
//! would be undefined behaviour.

use crate::device::DeviceError;

/// `CUDA_SUCCESS`.
pub(super) const SUCCESS: u32 = 0;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_STUB_LIBRARY`.
pub(super) const STUB_LIBRARY: u32 = 34;

/// Codes after which the context, and every later call on it, is lost (CUDA driver API, description of `CUresult`):
/// ECC and NVLink errors, illegal and misaligned addresses, time-outs, asserts, bad instructions, launch failures,
/// a destroyed context.
const STICKY: [u32; 13] = [214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721];

/// The error of a driver call that returned `code`; `name` is what the driver calls it.
pub(in crate::device) fn driver_error(call: &'static str, code: u32, name: String) -> DeviceError {
    let uvm_node = std::path::Path::new("/dev/nvidia-uvm").exists();
    let name = if name.is_empty() { "an error this driver has no name for".to_owned() } else { name };
    DeviceError::Driver { call, code, name, hint: hint(code, uvm_node).to_owned(), sticky: STICKY.contains(&code) }
}

/// What to do about `code`, or nothing if that is not known. `uvm_node`: whether `/dev/nvidia-uvm` exists.
fn hint(code: u32, uvm_node: bool) -> &'static str {
    match code {
        2 => "not enough memory: choose a smaller --size or end other programs that use this GPU",
        3 => "the NVIDIA kernel module did not start: see dmesg, and try nvidia-smi",
        34 => "a stub libcuda, made for linking only, was found first: take its folder out of LD_LIBRARY_PATH",
        35 | 803 => {
            "the driver's library and its kernel module are of different versions: reboot, or update the driver"
        }
        804 => "this GPU does not take the forward-compatibility library: take it out of LD_LIBRARY_PATH",
        46 => "another process holds this GPU in exclusive mode: end it, or choose another GPU",
        100 => "no GPU is visible: see nvidia-smi, CUDA_VISIBLE_DEVICES, and in a container the option --gpus all",
        101 => "there is no such GPU, or a MIG card has no instance: see nvidia-smi -L",
        209 | 218 => "the GPU is older than compute capability 6.0, the least that umtop supports",
        222 => "the driver is too old for umtop's kernels (PTX 7.8): update it to 520 or later",
        214 => "the card's memory has an uncorrectable error: see nvidia-smi -q -d ECC",
        220 => "NVLink failed: see nvidia-smi nvlink -e and dmesg",
        304 => "the operating system refused: see dmesg, and the rights on /dev/nvidia*",
        702 => "the kernel ran into the display's time limit: choose a smaller --size or a GPU without a screen",
        802 => "the system is not ready yet: start nvidia-fabricmanager (needed with NVSwitch)",
        801 => "this GPU or this mode of it (vGPU, WSL2) does not support the call",
        999 if !uvm_node => "/dev/nvidia-uvm is missing: run nvidia-modprobe -u -c 0, or reload the module nvidia_uvm",
        999 => "the driver is in a bad state: see dmesg for Xid lines",
        700 | 715..=719 => "a kernel failed and took the context with it: see dmesg for Xid lines",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_uvm_node_is_named_and_only_then() {
        assert!(hint(999, false).contains("/dev/nvidia-uvm is missing"));
        assert!(!hint(999, true).contains("missing"));
    }

    #[test]
    fn a_lost_context_is_told_from_a_failed_call() {
        let error = |code| driver_error("cuStreamSynchronize", code, "NAME".to_owned());
        for code in [700, 702, 710, 714, 715, 716, 717, 718, 719] {
            assert!(error(code).sticky(), "{code}");
        }
        for code in [1, 2, 101, 222, 801, 999] {
            assert!(!error(code).sticky(), "{code}");
        }
    }

    #[test]
    fn the_line_holds_call_code_name_and_hint() {
        let line = driver_error("cuModuleLoadDataEx", 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION".to_owned()).to_string();
        for part in ["cuModuleLoadDataEx", "222", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "520"] {
            assert!(line.contains(part), "{line}");
        }
        let unknown = driver_error("cuInit", 123_456, String::new()).to_string();
        assert!(unknown.contains("123456") && unknown.contains("no name"), "{unknown}");
    }
}
