"""Measurements of watch.sh. Prints lines for its summary.

    ratio  TOTALS.json LOG        umtop's totals over what the program says it moved (the last JSON line(s) of LOG)
    attach UMTOP PID N OUT        attaches and detaches N times; counts the target's descriptors before and after
    levels UMTOP PID SECONDS REPEATS OUT   watches at each level in turn and notes when
    times  LOG OUT                the target's own times, by what watched it
    alone  LOG                    the target's own times
"""
import json
import os
import statistics
import subprocess
import sys
import time

LEVELS = ["none", "counters", "faults", "full"]


def own(log: str) -> list:
    """The JSON objects that the programs printed."""
    found = []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith('{"program"'):
                found.append(json.loads(line))
    return found


def totals(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def raw_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def ratio(path: str, log: str) -> None:
    seen, programs = totals(path), own(log)
    if not programs:
        print(f"FAILED: {log} has no figures of the program")
        return
    for way in ("bytes_htod", "bytes_dtoh"):
        knows = sum(program[way] + program["bytes_before_ready"] for program in programs)
        got = seen[way]
        text = "n/a" if got is None else f"{got / knows:.6f}"
        print(f"  {way}: umtop {got}, program {knows}, ratio {text}")
    causes = seen["by_cause"]
    if causes:
        for way, dst in (("htod", False), ("dtoh", True)):
            total = sum(row["bytes"] for row in causes if (row["dst"] == "cpu") == dst)
            print(f"  by cause {way}: {total}, of counted {total / max(seen['bytes_' + way], 1):.6f}")
    keys = ("watched_ns", "missed_at_most_ns", "gpu_faults", "gpu_faults_raw", "cpu_faults", "batches", "lost", "malformed")
    print("  " + ", ".join(f"{key} {seen[key]}" for key in keys), f"wrong {[p.get('wrong') for p in programs]}")
    for site in (seen["cpu_sites"] or [])[:4]:
        print(f"  site {site['faults']} {site['place']} {site['function']} {site['module']} {[t['name'] for t in site['threads']]}")


def descriptors(pid: str) -> tuple:
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def attach(umtop: str, pid: str, n: str, out: str) -> None:
    before, failed, begin = descriptors(pid), 0, raw_ns()
    for _ in range(int(n)):
        done = subprocess.run([umtop, "watch", pid, "--for", "100ms", "--trace", "full", "--format", "json"],
                              capture_output=True, text=True, check=False)
        ok = done.returncode == 0 and json.loads(done.stdout)["attached"]
        failed += not ok
    end = raw_ns()
    print(f"  {n} times in {(end - begin) / 1e9:.1f} s, failed {failed}; descriptors and threads of the target: "
          f"before {before}, after {descriptors(pid)}")
    with open(os.path.join(out, "attach-span.json"), "w", encoding="utf-8") as file:
        json.dump([begin, end], file)


def levels(umtop: str, pid: str, seconds: str, repeats: str, out: str) -> None:
    spans = []
    for turn in range(int(repeats)):
        # Every other turn backwards, so that drift falls on all alike.
        for level in LEVELS if turn % 2 == 0 else LEVELS[::-1]:
            begin = raw_ns()
            if level == "none":
                time.sleep(float(seconds))
            else:
                done = subprocess.run([umtop, "watch", pid, "--for", f"{seconds}s", "--trace", level, "--format", "json"],
                                      capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    print(f"FAILED: {level}: {done.stderr.strip()}")
                else:
                    got = json.loads(done.stdout)
                    print(f"  {level}: lost {got['lost']}, watched {got['watched_ns'] / 1e9:.3f} s, "
                          f"{(got['bytes_htod'] + got['bytes_dtoh']) / got['watched_ns']:.3f} GB/s")
            spans.append([level, begin, raw_ns()])
    with open(os.path.join(out, "levels.json"), "w", encoding="utf-8") as file:
        json.dump(spans, file)


def median(values: list) -> str:
    return f"{statistics.median(values) / 1e6:.2f} ms (n {len(values)})" if values else "n/a"


def times(log: str, out: str) -> None:
    rounds = own(log)[0]["times"]
    # The start and the end of a watch are left out of its level.
    edge = 400_000_000
    spans = totals(os.path.join(out, "levels.json"))
    by_level = {level: [] for level in LEVELS}
    for level, begin, end in spans:
        by_level[level] += [r for r in rounds if begin + edge <= r[0] and r[0] + r[1] + r[2] <= end - edge / 2]
    base = [r[1] for r in by_level["none"]]
    for level in LEVELS:
        gpu, cpu = [r[1] for r in by_level[level]], [r[2] for r in by_level[level]]
        slower = f"{statistics.median(gpu) / statistics.median(base):.2f}" if gpu and base else "n/a"
        print(f"  {level:9} GPU sweep {median(gpu)}, ratio to none {slower}; CPU read-back {median(cpu)}")
    begin, end = totals(os.path.join(out, "attach-span.json"))
    before = [r[1] for r in rounds if r[0] + r[1] < begin]
    after = [r[1] for level, b, e in spans if level == "none" for r in rounds if b + edge <= r[0] <= e - edge]
    print(f"  GPU sweep before 100 attachments {median(before)}, during {median([r[1] for r in rounds if begin < r[0] < end])}, "
          f"unwatched afterwards {median(after)}")


def alone(log: str) -> None:
    for program in own(log):
        print(f"  rounds {program['rounds']}, wrong {program['wrong']}, GPU sweep {median([r[1] for r in program['times']])}, "
              f"last five {median([r[1] for r in program['times'][-5:]])}")


if __name__ == "__main__":
    commands = {"ratio": ratio, "attach": attach, "levels": levels, "times": times, "alone": alone}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    commands[sys.argv[1]](*sys.argv[2:])
