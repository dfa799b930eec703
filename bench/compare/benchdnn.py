#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times ten convolutions and ten products by `quern kernel --impl onednn` and by oneDNN's own benchdnn.

Both call the same library with one thread. Rounds alternate; the least time of each is compared, since
benchdnn tells no median. benchdnn must be built from the sources of the library's version
(docs/kernel-lab.md says how).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

CONVOLUTIONS = [  # channels, size, results, kernel, stride, pad, groups
    (3, 224, 64, 7, 2, 3, 1), (64, 56, 64, 3, 1, 1, 1), (64, 56, 256, 1, 1, 0, 1), (128, 28, 128, 3, 1, 1, 1),
    (256, 14, 256, 3, 1, 1, 1), (512, 7, 512, 3, 1, 1, 1), (256, 56, 512, 1, 2, 0, 1), (96, 56, 96, 3, 1, 1, 96),
    (384, 14, 96, 1, 1, 0, 1), (384, 14, 384, 3, 1, 1, 384)]
PRODUCTS = [(128, 384, 384), (128, 1536, 384), (128, 384, 1536), (256, 1024, 1024), (64, 768, 768), (512, 512, 512),
            (1024, 256, 64), (32, 3072, 768), (197, 768, 2304), (16, 1000, 2048)]  # m, n, k


def problems():
    for c, h, o, k, s, p, g in CONVOLUTIONS:
        out = (h + 2 * p - k) // s + 1
        yield (f"conv:n1c{c}h{h}o{o}k{k}s{s}p{p}g{g}", "--conv", ["--dir=FWD_I"],
               f"g{g}mb1ic{c}ih{h}oc{o}oh{out}kh{k}sh{s}ph{p}")
    for m, n, k in PRODUCTS:
        yield (f"matmul:m{m}n{n}k{k}", "--matmul", ["--stag=ab", "--wtag=any", "--dtag=ab"], f"{m}x{k}:{k}x{n}")


def by_quern(quern, problem, seconds):
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as out:
        subprocess.run([quern, "kernel", problem, "--impl", "onednn-direct" if problem.startswith("conv") else "onednn", "-t", "1", "--time", str(seconds), "--precision",
                        "0.001", "--save", out.name], check=True, stdout=subprocess.DEVNULL)
        records = [json.loads(line) for line in open(out.name, encoding="utf-8")]
    record = next(r for r in records if r.get("implementation", "").startswith("onednn"))
    return min(record["wall_us"]), record["implementation"]


def by_benchdnn(benchdnn, driver, options, problem, seconds):
    text = subprocess.run([benchdnn, driver, "--mode=P", f"--max-ms-per-prb={1000 * seconds:g}",
                           "--perf-template=TIME %-time% %impl%", *options, problem], check=True, text=True,
                          capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    for line in text.splitlines():
        if line.startswith("TIME "):
            _, milliseconds, implementation = line.split()
            return 1000 * float(milliseconds), implementation
    sys.exit(f"benchdnn said nothing of {problem}:\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quern", default="build/release/bin/quern")
    parser.add_argument("--benchdnn", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one problem in one round")
    args = parser.parse_args()
    ratios = []
    print(f"{'problem':28}{'quern us':>10}{'benchdnn us':>13}{'ratio':>8}  implementations")
    for ours, driver, options, theirs in problems():
        rounds = [(by_quern(args.quern, ours, args.seconds), by_benchdnn(args.benchdnn, driver, options, theirs, args.seconds))
                  for _ in range(args.rounds)]
        quern, peer = (min(r[i][0] for r in rounds) for i in (0, 1))
        ratios.append(quern / peer)
        print(f"{ours:28}{quern:10.1f}{peer:13.1f}{ratios[-1]:8.3f}  {rounds[0][0][1]}, {rounds[0][1][1]}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}; "
          f"{sum(abs(r - 1) <= 0.03 for r in ratios)} of {len(ratios)} within 3 %")


if __name__ == "__main__":
    main()
