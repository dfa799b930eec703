# SPDX-License-Identifier: Apache-2.0
"""Do two processes on the same cores starve each other? Times a model alone and in two processes at
once, in turn, each with 2 threads: two_processes.py QUERN MODEL [quern bench options]

Without losses the pair's runs take twice as long as one's alone. On a machine that is busy with
something else the figure means little: look at the spread first."""
import json
import statistics
import subprocess
import sys

ROUNDS = 5


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def median_ms(process):
    return json.loads(process.communicate()[0])["benchmarks"][0]["real_time"]


def main():
    quern, model, *options = sys.argv[1:]
    command = [quern, "bench", model, "--threads", "2", "--time", "2", "--json", *options]
    alone, paired = [], []
    for _ in range(ROUNDS):
        alone.append(median_ms(start(command)))
        pair = [start(command), start(command)]
        paired += [median_ms(p) for p in pair]
    one, two = statistics.median(alone), statistics.median(paired)
    print(f"alone   {one:8.3f} ms  ({min(alone):.3f} to {max(alone):.3f})")
    print(f"paired  {two:8.3f} ms  ({min(paired):.3f} to {max(paired):.3f})")
    print(f"paired runs take {two / one:.2f} times as long; 2.00 is half of the speed")


if __name__ == "__main__":
    main()
