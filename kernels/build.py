#!/usr/bin/env python3
"""Rebuilds every kernels/*.ptx from its .cu, checks it with ptxas, and writes kernels.toml.

Needs no GPU and no CUDA toolkit, only the compilers as Python packages:

    python3 -m venv venv
    venv/bin/pip install nvidia-cuda-nvrtc-cu11==11.8.89 nvidia-cuda-nvcc-cu12==12.9.86
    venv/bin/python kernels/build.py            # rebuild
    venv/bin/python kernels/build.py --check    # fail if the files in the tree differ from a rebuild

NVRTC 11.8 is pinned because its PTX (ISA 7.8) loads on every driver since r520; ptxas 12.9 knows all GPUs from
sm_60 to sm_120. The packages are used at development time only and are not shipped.
"""

import ctypes
import hashlib
import pathlib
import re
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).parent
PACKAGES = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia"
NVRTC = PACKAGES / "cuda_nvrtc/lib"
PTXAS = PACKAGES / "cuda_nvcc/bin/ptxas"
COMPILER = "NVRTC 11.8.89"
FLAGS = ["--gpu-architecture=compute_60", "--std=c++14"]
CHECKED = ["sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


def compile_ptx(source: pathlib.Path) -> bytes:
    # NVRTC loads its builtins by bare name, which works once they are in the process.
    for builtins in NVRTC.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(NVRTC / "libnvrtc.so.11.2"))
    program = ctypes.c_void_p()
    text = source.read_bytes()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None):
        sys.exit(f"{source.name}: NVRTC takes no program")
    flags = (ctypes.c_char_p * len(FLAGS))(*[flag.encode() for flag in FLAGS])
    failed = nvrtc.nvrtcCompileProgram(program, len(FLAGS), flags)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if log.value:
        print(log.value.decode(), file=sys.stderr)
    if failed:
        sys.exit(f"{source.name}: does not compile")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entries(ptx: bytes) -> dict[str, int]:
    found = re.findall(r"\.entry (\w+)\((.*?)\)", ptx.decode(), re.DOTALL)
    return {name: parameters.count(".param") for name, parameters in found}


def record(source: pathlib.Path, ptx: bytes) -> str:
    rows = "".join(f"{name} = {count}\n" for name, count in entries(ptx).items())
    return (
        f"\n[{source.stem}]\n"
        f'source_sha256 = "{sha256(source.read_bytes())}"\n'
        f'ptx_sha256 = "{sha256(ptx)}"\n'
        f'compiler = "{COMPILER}"\n'
        f'flags = "{" ".join(FLAGS)}"\n'
        f"\n# Entry points and how many parameters each takes.\n[{source.stem}.entries]\n{rows}"
    )


def main() -> None:
    check = "--check" in sys.argv[1:]
    files, table = {}, "# Written by build.py: what each .ptx was made from. tests/kernels.rs compares.\n"
    for source in sorted(HERE.glob("*.cu")):
        ptx = compile_ptx(source)
        for gpu in CHECKED:
            subprocess.run([PTXAS, f"-arch={gpu}", "-o", "/dev/null", "-"], input=ptx, check=True)
        files[source.with_suffix(".ptx")] = ptx
        table += record(source, ptx)
    files[HERE / "kernels.toml"] = table.encode()
    for path, data in files.items():
        if not check:
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            sys.exit(f"{path.name} is not what build.py makes: run it without --check and commit the result")
    print(f"{', '.join(path.name for path in files)}: {'as built' if check else 'built'}; ptxas accepts {' '.join(CHECKED)}")


main()
