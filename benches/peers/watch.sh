#!/usr/bin/env bash
# umtop watch on a machine with a GPU, all of it in about five minutes; at most 1 GiB managed at a time.
#
#     benches/peers/watch.sh UMTOP OUT        e.g.  benches/peers/watch.sh target/release/umtop /tmp/watch
#
# UMTOP is a built binary, OUT a folder for what comes out: captures of the screen (*.txt), totals (*.json), summary.txt.
# Needs nvcc and python3; tmux for the screens; CuPy, JAX and PyTorch are left out where they are missing.
# Goes on after a failure: summary.txt says what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { sed -n '2,9p' "$0"; exit 2; }
umtop=$(realpath "$1") && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
summary=$out/summary.txt
: >"$summary"
say() { printf '%s\n' "$*" | tee -a "$summary"; }
section() { say ""; say "== $* (after $SECONDS s)"; }
measure() { python3 "$here/watch_measure.py" "$@" 2>&1 | tee -a "$summary"; }
has() { python3 -c "import $1" 2>/dev/null; }
export TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_PREALLOCATE=false XLA_PYTHON_CLIENT_MEM_FRACTION=0.01 LANG=C.UTF-8

section "build"
nvcc -g -O1 -arch=native -o "$out/watch_target" "$here/watch_target.cu" || { say "FAILED: nvcc"; exit 1; }
target=$out/watch_target
"$umtop" --version | tee -a "$summary"

section "totals against what the program itself knows"
programs=(cuda)
has cupy && programs+=(cupy) || say "no CuPy here"
for program in "${programs[@]}"; do
    for level in counters faults full; do
        case $program in
            cuda) command=("$target" 5 256) ;;
            cupy) command=(python3 "$here/watch_cupy.py" 5 256) ;;
        esac
        name=$program-$level
        "$umtop" watch --trace $level --format json --output "$out/$name.log" -- "${command[@]}" >"$out/$name.json" 2>"$out/$name.err"
        say "$name: exit code $?"
        measure ratio "$out/$name.json" "$out/$name.log"
    done
done

section "attached late, by number: a table"
"$target" 12 256 >"$out/late.log" & pid=$!
sleep 3
"$umtop" watch | tee -a "$summary"
"$umtop" watch $pid --for 4s --trace faults --format table 2>&1 | tee -a "$summary"
"$umtop" watch $pid --for 2s --format json >"$out/late.json" 2>&1; say "late json: exit code $?"
kill -TERM $pid; wait $pid

section "attach and detach 100 times"
"$target" 200 64 >"$out/attach.log" & pid=$!
sleep 4
measure attach "$umtop" $pid 100 "$out"
section "what each level costs the program, interleaved"
measure levels "$umtop" $pid 4 3 "$out"
kill -TERM $pid; wait $pid; say "target: exit code $?"
measure times "$out/attach.log" "$out"

section "killed while attached"
"$target" 12 64 >"$out/killed.log" & pid=$!
sleep 2
"$umtop" watch $pid --for 60s --trace full --format json >/dev/null 2>&1 & watcher=$!
sleep 2; kill -KILL $watcher; wait $watcher 2>/dev/null
sleep 2; kill -TERM $pid; wait $pid; say "target after its watcher was killed: exit code $?"
measure alone "$out/killed.log"

section "who may not"
"$target" 8 64 >"$out/nobody.log" & pid=$!
sleep 2
if command -v setpriv >/dev/null; then
    setpriv --reuid 65534 --clear-groups "$umtop" watch $pid --for 1s 2>&1 | tee -a "$summary"
    setpriv --reuid 65534 --clear-groups "$umtop" watch 2>&1 | tee -a "$summary"
fi
kill -TERM $pid; wait $pid
"$umtop" watch 4194303 2>&1 | tee -a "$summary"

section "one program after the other, and the exit code"
"$umtop" watch --format json --output "$out/two.log" -- bash -c "'$target' 2 64; '$target' 2 64; exit 9" >"$out/two.json" 2>/dev/null
say "two in turn: exit code $? (9 is right)"
measure ratio "$out/two.json" "$out/two.log"

section "screens"
if command -v tmux >/dev/null; then
    screen() { # name, seconds until the first capture, command...
        local name=$1 wait=$2; shift 2
        local tmux="tmux -u -L umtop-watch-$$"
        $tmux new-session -d -x 160 -y 48 "$* ; echo exit code \$? ; sleep 60"
        sleep "$wait"; $tmux capture-pane -p >"$out/screen-$name-counters.txt"
        $tmux send-keys t; sleep 3; $tmux capture-pane -p >"$out/screen-$name-faults.txt"
        $tmux send-keys t; sleep 4; $tmux capture-pane -p >"$out/screen-$name-full.txt"
        $tmux send-keys q; sleep 1; $tmux capture-pane -p | grep -v '^$' | head -3 >"$out/screen-$name-after.txt"
        $tmux kill-server
        say "$name: $(cat "$out/screen-$name-after.txt" | tr '\n' ' ')"
    }
    "$target" 25 256 >/dev/null & pid=$!
    sleep 3; screen cuda 6 "$umtop" watch $pid --record "$out/cuda.umr"
    kill -TERM $pid; wait $pid
    tmux -u -L umtop-idle-$$ new-session -d -x 160 -y 48 "$umtop watch --output $out/idle.log -- $target 1 64 idle; echo exit code \$?; sleep 60"
    sleep 1.2; tmux -L umtop-idle-$$ capture-pane -p >"$out/screen-idle-waiting.txt"
    sleep 6; tmux -L umtop-idle-$$ capture-pane -p >"$out/screen-idle-ended.txt"
    tmux -L umtop-idle-$$ send-keys q; sleep 1; say "idle: $(tmux -L umtop-idle-$$ capture-pane -p | grep -m1 'exit code')"
    tmux -L umtop-idle-$$ kill-server
    has cupy && screen cupy 10 "$umtop" watch --output "$out/cupy.log" -- python3 "$here/watch_cupy.py" 20 256
    has jax && screen jax 14 "$umtop" watch --output "$out/jax.log" -- python3 "$here/watch_jax.py" 20 256
    has torch && screen torch 16 "$umtop" watch --output "$out/torch.log" -- python3 "$here/watch_torch.py" 20 256
else
    say "no tmux here"
fi
section "done"
