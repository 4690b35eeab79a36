"""JAX with unified memory: its arrays are managed, yet its reads are explicit copies, so that nothing need migrate.

    TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_PREALLOCATE=false python3 watch_jax.py SECONDS [MIB]
"""
import json
import os
import sys
import time

os.environ.setdefault("TF_FORCE_UNIFIED_MEMORY", "1")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.01")

import jax
import jax.numpy as jnp
import numpy as np


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    mib = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    if not 1 <= mib <= 512:
        print("usage: watch_jax.py SECONDS MIB(1-512)", file=sys.stderr)
        return 2
    step = jax.jit(lambda x: x + 1.0)
    x = step(jnp.zeros((mib << 20) // 4, dtype=jnp.float32))
    x.block_until_ready()
    print(f"ready {os.getpid()} on {jax.devices()[0].platform}", flush=True)
    rounds = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        x = step(x)
        np.asarray(x)[::1024].sum()
        rounds += 1
    print(json.dumps({"program": "jax", "rounds": rounds, "value": float(x[0]), "wrong": int(float(x[0]) != rounds + 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
