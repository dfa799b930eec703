#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is known of the open instances again: optima.csv and the page of results.

    python3 bench/planning/results.py build/release/bin/quern [--seconds 10] [--only NAME,NAME]

Each answer is judged by check.py. What optima.csv has is kept where it is better; a proof is kept in any case.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import check
import instances

PAGE = pathlib.Path(__file__).resolve().parents[1] / "results" / "2026-11-28-open-instances.md"
COLUMNS = ["name", "buffers", "banks", "cost", "bytes", "proof"]


def solve(quern, folder, name, strategy, seconds):
    """(cost, bytes) of a judged plan, or None, and what the strategy says of it."""
    out = folder / "answer.csv"
    out.unlink(missing_ok=True)
    done = subprocess.run([quern, "plan", folder / f"{name}.csv", "--strategy", strategy, "--time-limit", str(seconds),
                           "--csv", out, "--json"], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    row = json.loads(done.stdout)["strategies"][0]
    if not out.exists():
        return None, row["status"]
    return check.judge((folder / f"{name}.csv").read_text(), out.read_text()), row["status"]


def better(a, b):
    return b is None or (a is not None and a < b)


def known_of(name, text, old):
    problem = check.Problem(text)
    best = (int(old["cost"]), int(old["bytes"])) if old and old["cost"] else None
    proof = old["proof"] if old else "open"
    if name.startswith("full"):  # cut out of the banks: no step leaves a byte
        best, proof = (0, sum(check.number(b, "capacity") for b in problem.banks.values())), "planted"
    return problem, best, proof


def cell(value):
    return "none" if value is None else f"{value[0]:,} / {value[1]:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("quern")
    parser.add_argument("--seconds", type=float, default=10, help="for the proofs (10)")
    parser.add_argument("--only", default="", help="names with commas between them; others stay as they are")
    args = parser.parse_args()
    old = check.optima() if check.OPTIMA.exists() else {}
    only = [n for n in args.only.split(",") if n]
    rows, lines = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, text in instances.instances():
            if only and name not in only:
                rows += [old[name]] if name in old else []
                continue
            (folder / f"{name}.csv").write_text(text)
            problem, best, proof = known_of(name, text, old.get(name))
            found = {}
            for strategy, seconds in (("greedy-by-size", 1), ("auto", 1), ("auto", args.seconds), ("exact", args.seconds)):
                plan, status = solve(args.quern, folder, name, strategy, seconds)
                found[strategy, seconds] = plan
                if plan and better(plan, best):
                    if proof != "open":
                        raise SystemExit(f"{name}: {plan} is better than {best}, which is {proof}")
                    best = plan
                if status == "optimal" and proof == "open":
                    best, proof = plan, "search"
            rows.append(dict(zip(COLUMNS, (name, len(problem.buffers), len(problem.banks), *(best or ("", "")), proof))))
            lines.append(f"| {name} | {len(problem.buffers)} | {len(problem.banks)} | {cell(found['greedy-by-size', 1])} | "
                         f"{cell(found['auto', 1])} | {cell(best)} | {proof} |")
            print(lines[-1], flush=True)
    with open(check.OPTIMA, "w", newline="") as f:
        writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if not only:
        PAGE.write_text(PAGE_HEAD.replace("SECONDS", f"{args.seconds:g}") + "\n".join(lines) + "\n")


PAGE_HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Open instances of planning with banks, rings and prices of reuse

Written by `python3 bench/planning/results.py build/release/bin/quern --seconds SECONDS`. Cost / bytes of plans that
`bench/planning/check.py` has judged; `greedy-by-size` is what ExecuTorch does over banks, `auto` has a second.
Proof: `planted`, the instance was cut out of its banks; `search`, every plan was excluded that is better; `open`, this
is the best that is known. `bench/planning/instances.py` says what the families are and writes them.

| instance | buffers | banks | greedy-by-size | auto, 1 s | known | proof |
|---|---|---|---|---|---|---|
"""


if __name__ == "__main__":
    main()
