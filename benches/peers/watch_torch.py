"""PyTorch as it is: device memory and explicit copies, no managed memory. umtop should say in words that nothing migrates.

    python3 watch_torch.py SECONDS [MIB]
"""
import json
import os
import sys
import time

import torch


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    mib = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    if not 1 <= mib <= 1024:
        print("usage: watch_torch.py SECONDS MIB(1-1024)", file=sys.stderr)
        return 2
    x = torch.zeros((mib << 20) // 4, device="cuda")
    torch.cuda.synchronize()
    print(f"ready {os.getpid()}", flush=True)
    rounds = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        x += 1
        x.cpu()
        rounds += 1
    print(json.dumps({"program": "torch", "rounds": rounds, "bytes_migrated": 0}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
