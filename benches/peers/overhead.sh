#!/usr/bin/env bash
# What a trace costs a fault-bound sweep on a machine with a GPU: nothing, CUPTI's unified-memory activity, and umtop at each
# level, in turns; about two minutes, 256 MiB managed at a time.
#
#     benches/peers/overhead.sh UMTOP OUT [ROUNDS]      e.g.  benches/peers/overhead.sh target/release/umtop /tmp/overhead 10
#
# UMTOP is a built binary, OUT a folder for every run's figures; prints the ratio of each to nothing, as the median with its
# 95 % interval. Needs nvcc with CUPTI (CUPTI=… names its folder) and python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,9p' "$0"; exit 2; }
umtop=$(realpath "$1") && mkdir -p "$2" && out=$(cd "$2" && pwd)
rounds=${3:-10}
cupti=${CUPTI:-/usr/local/cuda/extras/CUPTI}
nvcc -O1 -arch=native "$here/um_cupti.cu" -I"$cupti/include" -L"$cupti/lib64" -lcupti -lcuda -o "$out/um_cupti"
export LD_LIBRARY_PATH="$cupti/lib64:${LD_LIBRARY_PATH:-}"
ways=(off cupti counters faults full)
for round in $(seq "$rounds"); do
    for way in "${ways[@]}"; do
        run=$out/$way.$round
        case $way in
        off) "$out/um_cupti" 5 256 off >"$run.json" ;;
        cupti) "$out/um_cupti" 5 256 >"$run.json" ;;
        *) "$umtop" watch --trace "$way" --format json --output "$run.json" -- "$out/um_cupti" 5 256 off >"$run.umtop.json" ;;
        esac
    done
done
python3 - "$out" "$rounds" "${ways[@]}" <<'PYTHON'
import json, random, statistics, sys
out, rounds, *ways = sys.argv[1:]
random.seed(1)
def sweeps(way):
    # The first sweep of a process allocates as well.
    return [t for r in range(1, int(rounds) + 1) for t in json.load(open(f"{out}/{way}.{r}.json"))["sweep_ns"][1:]]
times = {way: sweeps(way) for way in ways}
median = statistics.median
def ratio(a, b):
    draw = lambda v: median(random.choices(v, k=len(v)))
    drawn = sorted(draw(a) / draw(b) for _ in range(2000))
    return median(a) / median(b), drawn[50], drawn[1949]
for way in ways:
    r, low, high = ratio(times[way], times["off"])
    print(f"{way:<9} n {len(times[way]):>3}  {median(times[way]) / 1e6:7.2f} ms  {r:.3f} [{low:.3f}-{high:.3f}]")
r, low, high = ratio(times["full"], times["cupti"])
print(f"full over CUPTI: {r:.3f} [{low:.3f}-{high:.3f}]")
for way in ways[2:]:
    seen = [json.load(open(f"{out}/{way}.{r}.umtop.json")) for r in range(1, int(rounds) + 1)]
    moved = [json.load(open(f"{out}/{way}.{r}.json")) for r in range(1, int(rounds) + 1)]
    share = sum(s["bytes_htod"] for s in seen) / sum(m["moved_htod"] for m in moved)
    print(f"{way}: bytes counted / moved HtoD {share:.6f}, lost {[s['lost'] for s in seen]}")
PYTHON
