#!/usr/bin/env bash
# umtop's copies, prefetches and on-demand sweeps beside a minimal CUDA C++ program that does the same, and its pinned copies
# beside nvbandwidth's, in turns; about a minute, two buffers of 256 MiB of each kind at a time.
#
#     benches/peers/baseline.sh UMTOP OUT [ROUNDS] [NVBANDWIDTH]   e.g.  benches/peers/baseline.sh target/release/umtop /tmp/baseline 5
#
# UMTOP is a built binary, OUT a folder for every run's figures, NVBANDWIDTH the built program of that name; prints umtop's
# time over the other's, as the ratio of medians with its 95 % interval. Needs nvcc and python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,9p' "$0"; exit 2; }
umtop=$(realpath "$1") && mkdir -p "$2" && out=$(cd "$2" && pwd)
rounds=${3:-5} nvbandwidth=${4:-}
nvcc -O3 -arch=native -o "$out/um_baseline" "$here/um_baseline.cu"
for round in $(seq "$rounds"); do
    "$out/um_baseline" 256 10 >"$out/baseline.$round.json"
    "$umtop" bench sequential --device cuda --size 256MiB --trace off --runs 10 --memory explicit --format json >"$out/copy.$round.json"
    "$umtop" bench sequential --device cuda --size 256MiB --trace off --runs 10 --prefetch=both --format json >"$out/managed.$round.json"
    [ -z "$nvbandwidth" ] || "$nvbandwidth" -b 256 -i 10 -j -t host_to_device_memcpy_ce >"$out/nvbandwidth.$round.json"
done
python3 - "$out" "$rounds" <<'PYTHON'
import json, os, random, statistics, sys
out, rounds = sys.argv[1], int(sys.argv[2])
random.seed(1)
median = statistics.median
def load(name):
    return [json.load(open(f"{out}/{name}.{r}.json")) for r in range(1, rounds + 1)]
def show(what, ours, theirs):
    drawn = sorted(median(random.choices(ours, k=len(ours))) / median(random.choices(theirs, k=len(theirs))) for _ in range(2000))
    print(f"{what:<46} n {len(ours):>3} {len(theirs):>3}  {median(ours) / 1e6:8.3f} / {median(theirs) / 1e6:8.3f} ms"
          f"  {median(ours) / median(theirs):.4f} [{drawn[50]:.4f}-{drawn[1949]:.4f}]")
theirs = {key: [t for run in load("baseline") for t in run[key]] for key in ("pinned_copy_ns", "on_demand_ns", "prefetch_and_kernel_ns")}
copies = [phase for run in load("copy") for phase in [run["results"][0]["phases"]["move_to_gpu"]]]
by_host = [t for phase in copies for t in phase["host_ns"]]
by_gpu = [t for phase in copies for t in phase["gpu_ns"]]
managed = {on: [t for run in load("managed") for r in run["results"] if r["variant"]["prefetch"] == on for t in r["times_ns"]] for on in (False, True)}
show("pinned copy HtoD, host clock", by_host, theirs["pinned_copy_ns"])
show("on demand, host clock", managed[False], theirs["on_demand_ns"])
show("prefetch and kernel, host clock", managed[True], theirs["prefetch_and_kernel_ns"])
if os.path.exists(f"{out}/nvbandwidth.1.json"):
    def rates(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "sum" and isinstance(value, (int, float)):
                    yield float(value)
                yield from rates(value)
        elif isinstance(node, list):
            for value in node:
                yield from rates(value)
    # GB/s, decimal: nanoseconds for 256 MiB.
    reference = [(256 << 20) / rate for run in load("nvbandwidth") for rate in rates(run) if rate > 0]
    show("pinned copy HtoD, CUDA events, nvbandwidth", by_gpu, reference)
PYTHON
