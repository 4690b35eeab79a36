"""Managed memory through CuPy: the CPU writes, a kernel adds, the CPU reads, again and again.

    python3 watch_cupy.py SECONDS [MIB]      (MIB 256 by default, 1024 at most)

Prints one JSON object at its end with what it knows it moved each way: every round the CPU writes every page (so that all of it
is on the CPU), the kernel touches every element (all of it must cross to the GPU), and the CPU reads every page (all of it must
cross back). The first round's write is a first touch, which moves nothing.
"""
import json
import os
import sys
import time

import cupy as cp
import numpy as np


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    mib = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    if not 1 <= mib <= 1024:
        print("usage: watch_cupy.py SECONDS MIB(1-1024)", file=sys.stderr)
        return 2
    cp.cuda.set_allocator(cp.cuda.malloc_managed)
    n = (mib << 20) // 4
    device = cp.empty(n, dtype=cp.float32)
    # The same bytes, as numpy sees them: managed memory has one address for both sides.
    import ctypes

    host = np.ctypeslib.as_array(ctypes.cast(device.data.ptr, ctypes.POINTER(ctypes.c_float)), shape=(n,))
    add = cp.ElementwiseKernel("float32 x", "float32 y", "y = x + 1.0f", "umtop_watch_add")
    page = 4096 // 4
    rounds, wrong, kernel = 0, 0, []
    # The first call compiles; it must not be part of what is watched.
    host[:] = 0.0
    add(device, device)
    cp.cuda.Device().synchronize()
    float(host[::page].sum())
    print(f"ready {os.getpid()}", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        host[:] = float(rounds)
        begin = time.perf_counter()
        add(device, device)
        cp.cuda.Device().synchronize()
        kernel.append(time.perf_counter() - begin)
        wrong += int(np.count_nonzero(host[::page] != rounds + 1.0))
        rounds += 1
    moved = rounds * (mib << 20)
    kernel.sort()
    print(json.dumps({
        "program": "cupy", "rounds": rounds, "bytes_htod": moved, "bytes_dtoh": moved, "wrong": wrong,
        "kernel_median_s": kernel[len(kernel) // 2] if kernel else None,
        # What happened before "ready": one round, compiled and checked.
        "bytes_before_ready": mib << 20,
    }), flush=True)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
