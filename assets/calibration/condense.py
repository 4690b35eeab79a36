#!/usr/bin/env python3
"""Condenses what `umtop bench --format json` said on a real card into the rows that tests/simulator.rs compares with.

usage: condense.py FOLDER > h200.toml

FOLDER holds NAME-faults.json and NAME-full.json of the same benches at trace levels faults and full, and recordings
seq-full.umr and so on, made at level full, for the sizes of copies (needs the program zstd). Times, faults and
batches are taken from level faults, since level full slows the card; copies by cause are taken from level full."""
import json
import pathlib
import statistics
import subprocess
import sys

NAMES = "seq-64MiB seq-256MiB seq-1GiB random strided block bothways pingpong4k pingpong1m pingpong2m readmostly trap preferred firstgpu firstcpu".split()
# One of several benches of the same thing is enough.
SKIPPED = [("bothways", "none", "managed", False), ("bothways", "none", "explicit", False),
           ("preferred", "none", "managed", False), ("preferred", "preferred-cpu+accessed-by", "managed", False),
           ("readmostly", "none", "managed", True), ("trap", "none", "managed", False)]

RECORDINGS = {"seq-full": "sequential", "random-full": "random", "ppb-full": "ping-pong-block", "trap-full": "read-mostly-trap"}
LIMITS = [4096, 16384, 65536, 262144]


def results(folder, name, level):
    text = json.loads((folder / f"{name}-{level}.json").read_text())
    return text, {(r["variant"]["advice"], r["variant"]["memory"], r["variant"]["prefetch"]): r for r in text["results"]}


def spread(values):
    values = sorted(values)
    return f"[{statistics.median(values):.12g}, {values[0]:.12g}, {values[-1]:.12g}]"


def row(name, key, plain, full):
    advice, memory, prefetch = key
    print("\n[[row]]")
    print(f'workload = "{plain["workload"]}"\nmemory = "{memory}"\nadvice = "{advice}"\nprefetch = {str(prefetch).lower()}')
    print(f'size_bytes = {plain["variant"]["size_bytes"]}\npasses = {len(plain["passes"])}')
    print(f'time_us = {spread([t / 1e3 for t in plain["times_ns"]])}')
    for phase in ("cpu_write", "cpu_read", "move_to_cpu"):
        if phase in plain["phases"]:
            print(f'{phase}_us = {spread([t / 1e3 for t in plain["phases"][phase]["host_ns"]])}')
    for count in ("bytes_htod", "bytes_dtoh", "cpu_faults", "gpu_faults"):
        print(f'{count} = {spread([p["uvm"]["counters"][count] for p in plain["passes"]])}')
    for count in ("gpu_faults_raw", "batches", "thrashing", "throttled", "remote_maps"):
        print(f'{count} = {spread([p["uvm"]["events"][count] for p in plain["passes"]])}')
    causes = {}
    for p in full["passes"]:
        for m in p["uvm"]["events"]["migrated"]:
            way = "htod" if m["src"] == "cpu" else "dtoh"
            causes.setdefault((way, m["cause"]), []).append((m["bytes"], m["copies"]))
    for (way, cause), seen in causes.items():
        bytes_, copies = (statistics.median(s[i] for s in seen) for i in (0, 1))
        print(f'{way}_{cause} = [{bytes_:.12g}, {copies:.12g}]')


def copies(folder, name, workload):
    """Shares of all copies of a recording that are no larger than each limit."""
    sizes, advice, size = {}, "none", 0
    for line in subprocess.run(["zstd", "-dcq", folder / f"{name}.umr"], capture_output=True, text=True).stdout.splitlines():
        try:
            body = json.loads(line)["body"]
        except (ValueError, KeyError):
            continue  # the format's first line, or a last one that was cut
        if "started" in body.get("run", {}):
            settings = body["run"]["started"]["settings"]
            advice, size = settings["advice"], settings["size"]
        for length, count in (body.get("uvm", {}).get("events") or {}).get("copy_bytes", []):
            sizes[length] = sizes.get(length, 0) + count
    total = sum(sizes.values())
    shares = [sum(n for length, n in sizes.items() if length <= limit) / total for limit in LIMITS]
    print("\n[[copies]]")
    print(f'workload = "{workload}"\nadvice = "{advice}"\nsize_bytes = {size}')
    print(f"count = {total}\nup_to_4_16_64_256_kib = [{', '.join(f'{share:.4f}' for share in shares)}]")


def main():
    folder = pathlib.Path(sys.argv[1])
    machine, _ = results(folder, NAMES[0], "faults")
    device, host = machine["device"], machine["host"]
    print(f"# {device['name']}, driver {device['driver']} (CUDA {device['cuda']}), {host['kernel'].split('-')[0]}, PCIe {device['link_max'][0]}.0 "
          f"x{device['link_max'][1]}, {host['cores']} cores, {machine['started'][:10]}.")
    print("# umtop bench WORKLOAD --trace faults|full --format json, condensed by condense.py: median, least and greatest of the")
    print("# passes at level faults; copies by cause, [bytes, copies] a pass, medians at level full. Times in µs.")
    for name in NAMES:
        _, plain = results(folder, name, "faults")
        _, full = results(folder, name, "full")
        for key in plain:
            if (name, *key) not in SKIPPED:
                row(name, key, plain[key], full[key])
    for name, workload in RECORDINGS.items():
        copies(folder, name, workload)


main()
