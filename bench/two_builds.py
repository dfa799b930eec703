#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a change did to the speed, cold start and memory of models: two builds of quern, in turns.

    python3 bench/two_builds.py OLD/bin/quern NEW/bin/quern MODEL ... [--threads 1,2] [--rounds 9]

MODEL is an .onnx file or a folder with a model.onnx and perhaps a test_data_set_0. Each round runs both builds,
each in a process of its own, the new one first in every other round. A ratio is the median over the rounds of
new / old, so above 1 the new build takes more; behind it stand the quartiles. A ratio counts as worse where it is
above 1 + --worse and even its lower quartile is above 1. The exit code is 1 if one is.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

COLUMNS = {"run ms": "real_time", "cold ms": "total_ms", "peak MB": "peak_process_bytes", "held MB": "session_bytes"}


def data_of(model):
    """The file of a model, and the options that name its inputs."""
    if not os.path.isdir(model):
        return model, []
    data = os.path.join(model, "test_data_set_0")
    return os.path.join(model, "model.onnx"), ["--data-set", data] if os.path.isdir(data) else []


def bench(quern, model, options):
    file, inputs = data_of(model)
    words = [quern, "bench", file, *inputs, *options, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return json.loads(done.stdout)["benchmarks"][0]


def sample(quern, model, args, options):
    """Numbers of one turn; the peak is that of a fresh process, which measures no roof."""
    numbers = {}
    if args.time > 0:
        warm = bench(quern, model, [*options, "--time", str(args.time)])
        numbers["run ms"] = warm["real_time"]
        numbers["held MB"] = warm["session_bytes"] / 1e6
    if args.cold > 0:
        cold = bench(quern, model, [*options, "--cold", "--runs", str(args.cold)])
        numbers["cold ms"] = cold["total_ms"]
        numbers["peak MB"] = cold["peak_process_bytes"] / 1e6
    return numbers


def compare(model, args, options):
    """Per column the medians of both builds, and lower quartile, median and upper quartile of the ratios."""
    rounds = []
    for index in range(args.rounds):
        pair = {}
        for quern in (args.old, args.new) if index % 2 == 0 else (args.new, args.old):
            pair[quern] = sample(quern, model, args, options)
        rounds.append((pair[args.old], pair[args.new]))
    row = {}
    for column in COLUMNS:
        if column not in rounds[0][0]:
            continue
        ratios = [new[column] / old[column] for old, new in rounds if old[column]]
        if not ratios:
            continue
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        row[column] = {"old": statistics.median(old[column] for old, _ in rounds),
                       "new": statistics.median(new[column] for _, new in rounds),
                       "low": low, "ratio": middle, "high": high,
                       "worse": middle > 1 + args.worse and low > 1}
    return row


def show(name, row):
    cells = []
    for column, cell in row.items():
        mark = " WORSE" if cell["worse"] else ""
        cells.append(f"{column} {cell['old']:8.4g} {cell['new']:8.4g} {cell['ratio']:6.3f} "
                     f"({cell['low']:.3f} to {cell['high']:.3f}){mark}")
    print(f"{name:28} " + " | ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="quern of the one build")
    parser.add_argument("new", help="quern of the other")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1", help="numbers with commas between them (1)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--time", type=float, default=0.5, help="seconds of runs a turn; 0: none (0.5)")
    parser.add_argument("--cold", type=int, default=3, help="fresh processes a turn; 0: none (3)")
    parser.add_argument("--worse", type=float, default=0.02, help="what is more than noise (0.02)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", metavar="FILE", help="writes every number, too")
    args = parser.parse_args()
    table = {}
    for threads in args.threads.split(","):
        options = ["--device", args.device, "--threads", threads]
        for model in args.models:
            name = os.path.basename(os.path.normpath(model)).removesuffix(".onnx")
            table[f"{name}/t{threads}"] = compare(model, args, options)
            show(f"{name}/t{threads}", table[f"{name}/t{threads}"])
    for column in COLUMNS:
        ratios = [row[column]["ratio"] for row in table.values() if column in row]
        if ratios:
            print(f"{column}: geometric mean of the ratios {statistics.geometric_mean(ratios):.3f}, "
                  f"{min(ratios):.3f} to {max(ratios):.3f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(table, out, indent=1)
    sys.exit(any(cell["worse"] for row in table.values() for cell in row.values()))


if __name__ == "__main__":
    main()
