#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory planning over instances: what an arena takes over its lower bound, and how long that takes.

    python3 bench/planning/planning.py build/release/bin/quern FILE.csv ... [--strategy NAMES] [--limits 0.1,1]
    python3 bench/planning/planning.py build/release/bin/quern A.1048576.csv --minimalloc path/to/minimalloc

With --minimalloc each instance is in addition asked at its capacity (the number before .csv, else the bound) of
both, in turns; "planted:400:1" and its like are instances, too.
"""
import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time


def plan(quern, instance, strategy, seconds, capacity=None):
    words = [quern, "plan", instance, "--strategy", strategy, "--time-limit", str(seconds), "--json"]
    if capacity:
        words += ["--capacity", str(capacity)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def minimalloc(binary, instance, capacity, seconds):
    """Seconds by its clock, or None when it has no answer."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        words = [binary, f"--capacity={capacity}", f"--input={instance}", f"--output={out.name}",
                 f"--timeout={seconds}s"]
        begin = time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        taken = time.monotonic() - begin
    if done.returncode != 0:
        return None
    told = re.search(r"[Ee]lapsed time:? ([0-9.e-]+)", done.stdout + done.stderr)
    return float(told[1]) if told else taken


def beside(args, instance, bound):
    known = re.search(r"\.(\d+)\.csv$", instance)
    capacity = int(known[1]) if known else bound
    ours, theirs = [], []
    for _ in range(args.rounds):
        row = plan(args.quern, instance, "auto", args.timeout, capacity)["strategies"][0]
        ours.append(row["plan_ms"] / 1000 if row["arena_bytes"] <= capacity else None)
        theirs.append(minimalloc(args.minimalloc, instance, capacity, args.timeout))
    return [statistics.median(t) if None not in t else None for t in (ours, theirs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("quern")
    parser.add_argument("instances", nargs="+")
    parser.add_argument("--strategy", default="auto", help="names with commas between them (auto)")
    parser.add_argument("--limits", default="0.1,1", help="seconds for each strategy that searches (0.1,1)")
    parser.add_argument("--minimalloc", help="its binary")
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison (3)")
    parser.add_argument("--timeout", type=int, default=60, help="seconds, in the comparison (60)")
    args = parser.parse_args()
    limits = [float(s) for s in args.limits.split(",")]
    ratios = {}
    totals = [0.0, 0.0]
    for instance in args.instances:
        cells = []
        bound = 0
        for seconds in limits:
            for row in plan(args.quern, instance, args.strategy, seconds)["strategies"]:
                bound = max(row["lower_bound"], 1)
                ratio = row["arena_bytes"] / bound
                ratios.setdefault((row["strategy"], seconds), []).append(ratio)
                cells.append(f"{row['strategy']} {seconds:g} s: {ratio:.4f}, {row['plan_ms']:.0f} ms, {row['status']}")
        if args.minimalloc:
            times = beside(args, instance, bound)
            totals = [a + (t or args.timeout) for a, t in zip(totals, times)]
            cells.append("at the capacity quern %s, minimalloc %s" %
                         tuple(f"{t:.3f} s" if t is not None else "none" for t in times))
        print(f"{instance.rsplit('/', 1)[-1]}: " + " | ".join(cells), flush=True)
    for (strategy, seconds), list_of in ratios.items():
        within = ", ".join(f"{sum(r <= limit + 1e-9 for r in list_of)} within {limit:.2f}" for limit in (1, 1.03, 1.05, 1.1))
        print(f"{strategy} {seconds:g} s: of {len(list_of)} {within}; worst {max(list_of):.4f}")
    if args.minimalloc:
        print(f"in all: quern {totals[0]:.2f} s, minimalloc {totals[1]:.2f} s")


if __name__ == "__main__":
    main()
