#!/usr/bin/env bash
[ -e /dev/nvidia-uvm-tools ] || { echo "no /dev/nvidia-uvm-tools here: nothing that this script shows can be traced"; exit 2; }
# umtop on a machine with two GPUs, all of it in about five minutes; at most 512 MiB managed at a time.
#
#     benches/peers/two_gpus.sh UMTOP OUT     e.g.  benches/peers/two_gpus.sh target/release/umtop "$OUT"
#
# UMTOP is a built binary, OUT a folder for what comes out: reports (*.json, *.txt), recordings (*.umr), screens (screen-*.txt),
# summary.txt. Needs python3; tmux for the screens and nvcc for the watched program, which are left out where they are missing.
# Goes on after a failure: summary.txt says what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { sed -n '3,9p' "$0"; exit 2; }
umtop=$(realpath "$1") && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
summary=$out/summary.txt
: >"$summary"
say() { printf '%s\n' "$*" | tee -a "$summary"; }
section() { say ""; say "== $* (after $SECONDS s)"; }
export LANG=C.UTF-8

section "machine"
"$umtop" --version | tee -a "$summary"
nvidia-smi --query-gpu=index,name,uuid,pci.bus_id,memory.total,memory.used --format=csv 2>&1 | tee -a "$summary"
nvidia-smi topo -m 2>&1 | tee -a "$summary"
nvidia-smi nvlink --status >"$out/nvlink.txt" 2>&1
"$umtop" doctor | tee -a "$summary"

section "workloads at level full: figures, predictions, bytes accounted per way"
bench() { # name, arguments...
    local name=$1; shift
    timeout 120 "$umtop" bench "$@" --device cuda --format json --record "$out/$name.umr" >"$out/$name.json" 2>"$out/$name.err"
    say "$name: exit code $?"
    python3 - "$out/$name.json" <<'PY' 2>&1 | tee -a "$summary"
import json, sys
report = json.load(open(sys.argv[1]))
print("  origin", report["origin"], report["device"]["name"], report["device"]["driver"])
for run in report["results"]:
    label = run["variant"]["label"] or "-"
    median = run["median_ns"]
    time = "n/a" if median is None else f"{median / 1e6:.3f} ms {run['interval_ns']}"
    print(f"  {run['workload']}: {label}, {run['trace_in_force']}: {time}, HtoD {run['bytes_htod']}, DtoH {run['bytes_dtoh']},"
          f" between {run['bytes_between_gpus']}, GPU faults {run['gpu_faults']}, raw {run['gpu_faults_raw']}, thrash {run['thrashing']}"
          f"/{run['throttled']}/{run['remote_maps']}, lost {run['lost']}, accounted {run['accounted']}, checked {run['checked']},"
          f" failed {run['failed']}")
for verdict in report["predictions"]:
    print("  prediction:", verdict["workload"], verdict["text"], verdict["value"], "held" if verdict["held"] else verdict["held"])
PY
}
for workload in peer peer-preferred peer-ping-pong peer-read-mostly; do
    bench $workload-full $workload --trace full --runs 5
done
bench peer-faults peer --trace faults --runs 5
bench peer-counters peer --trace counters --runs 5
bench peer-swapped peer --trace full --runs 3 --gpu 1
bench peer-preferred-swapped peer-preferred --trace full --runs 3 --gpu 1
bench peer-ping-pong-block peer-ping-pong --size 2MiB --rounds 100 --trace full --runs 3
timeout 60 "$umtop" bench peer --device cuda --trace full --runs 5 --format markdown >"$out/peer.md" 2>&1
timeout 60 "$umtop" bench peer --device cuda --trace full --runs 5 --format csv >"$out/peer.csv" 2>&1

section "screens: Live, Memory, Faults while two GPUs work, then with prefetch"
if command -v tmux >/dev/null; then
    tmux="tmux -u -L umtop-two-$$"
    take() { $tmux send-keys "$2"; sleep 1; $tmux capture-pane -p >"$out/screen-$1.txt"; $tmux capture-pane -pe >"$out/screen-$1.ansi"; }
    dashboard() { # name, size, arguments...
        local name=$1 size=$2; shift 2
        $tmux new-session -d -x "${size%x*}" -y "${size#*x}" "$umtop $* --record $out/$name.umr; echo exit code \$?; sleep 60"
        sleep 6
        take "$name-live" F1; take "$name-memory" F2; take "$name-faults" F3; take "$name-machine" F5
        $tmux send-keys F1 p; sleep 4; take "$name-prefetch-live" F1; take "$name-prefetch-memory" F2
        $tmux send-keys t; sleep 2; take "$name-lower-level-live" F1
        $tmux send-keys q; sleep 2
        say "$name: $($tmux capture-pane -p | grep -m1 'exit code')"
        $tmux kill-server
    }
    dashboard peer-120 120x36 --device cuda --workload peer --trace full
    dashboard peer-80 80x24 --device cuda --workload peer --trace full --theme mono
    dashboard read-mostly 160x48 --device cuda --workload peer-read-mostly --advice read-mostly --trace full
else
    say "no tmux here"
fi

section "watch: a program that uses both GPUs"
if command -v nvcc >/dev/null && nvcc -O1 -arch=native -o "$out/watch_two_gpus" "$here/watch_two_gpus.cu"; then
    "$umtop" watch --trace full --format json --output "$out/watch.log" -- "$out/watch_two_gpus" 6 256 >"$out/watch.json" 2>"$out/watch.err"
    say "watch: exit code $?"
    python3 - "$out/watch.json" "$out/watch.log" <<'PY' 2>&1 | tee -a "$summary"
import json, sys
told, known = json.load(open(sys.argv[1])), json.loads(open(sys.argv[2]).read().strip().splitlines()[-1])
print("  the program knows", known)
print("  umtop tells", json.dumps(told.get("totals", told))[:4000])
PY
    if command -v tmux >/dev/null; then
        tmux="tmux -u -L umtop-two-$$"
        $tmux new-session -d -x 160 -y 48 "$umtop watch --trace full --output $out/watch-screen.log --record $out/watch.umr -- $out/watch_two_gpus 60 256; sleep 60"
        sleep 8; take watch-live F1; take watch-memory F2; take watch-faults F3
        $tmux send-keys q; sleep 1; $tmux kill-server
    fi
else
    say "no nvcc here (or it failed): watch is left out"
fi

section "the recordings again, without a card"
for file in "$out"/*.umr; do
    "$umtop" replay "$file" --format json >"${file%.umr}-replay.json" 2>&1; say "replay $(basename "$file"): exit code $?"
done
for screen in live memory faults; do
    "$umtop" render "$out/peer-full.umr" --at 2s --screen $screen --size 120x36 --format png -o "$out/render-$screen.png" 2>&1 | tee -a "$summary"
done

section "afterwards: nothing is held"
nvidia-smi --query-gpu=index,memory.used --format=csv 2>&1 | tee -a "$summary"
section "done"
