#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how strong the tests are: makes small semantic changes and reports those that no test sees.

A copy of the tree is built once with every change in it, each behind a number (QUERN_MUTANT in the
environment chooses one), so that a change costs a run of the tests and no build; of a changed shader
the variants are compiled and taken instead of those that were built. The tests run in pieces, first
without a change, and note which changes and shaders they come by: only those pieces are tried. What
no piece sees is tried once more in a tree with sanitizers, as CI has one, where --sanitizers is given.
Changes are drawn in turn from the areas, always the same for one seed.

  tests/mutation/mutate.py --count 200 --seed 1            all areas
  tests/mutation/mutate.py --count 20 --area engine -v     one area, with what each test said
  tests/mutation/mutate.py --list --count 50               what would be changed
  tests/mutation/mutate.py --missed-in F                   what --out F says was missed, once more

Survivors that change nothing that can be seen are listed in equivalent.txt with the reason, and are
not tried again.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import time

from changes import AREAS, ROOT, draw, named
from suites import MOST, SANITIZED, Runner
from trees import Tree

TOO_LATE = "too late"
NOT_COMPILED = "not compiled"


def known_equivalents():
    """Key -> reason."""
    path = pathlib.Path(__file__).with_name("equivalent.txt")
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {row[0]: row[-1] for row in rows}


def missed_in(path):
    """Keys of the changes that a file of --out calls missed."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["key"] for row in rows if row["seen"] is None}


def summary(rows):
    areas = sorted({r["area"] for r in rows})
    print(f"\n{'area':12}{'changes':>9}{'seen':>7}{'missed':>8}{'equal':>7}{'share':>8}")
    for area in areas + ["all"]:
        mine = [r for r in rows if area in ("all", r["area"])]
        equal = sum(1 for r in mine if r["seen"] is None and r["equivalent"])
        seen = sum(1 for r in mine if r["seen"] is not None)
        judged = len(mine) - equal
        share = f"{100 * seen / judged:.0f} %" if judged else "-"
        print(f"{area:12}{len(mine):9}{seen:7}{judged - seen:8}{equal:7}{share:>8}")


class Measurement:
    def __init__(self, args):
        self.args, self.rows, self.equivalents = args, [], known_equivalents()
        self.end = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")

    def tell(self, change, seen):
        equal = self.equivalents.get(change.key())
        row = {"area": change.area, "change": str(change), "key": change.key(), "seen": seen, "equivalent": equal}
        self.rows.append(row)
        mark = f"seen by {seen}" if seen else f"equivalent: {equal}" if equal else "MISSED"
        print(f"[{len(self.rows)}] {change.key()} {change}\n    {mark}", flush=True)
        if self.args.out:
            with self.args.out.open("a") as out:
                out.write(json.dumps(row) + "\n")

    def attempt(self, runner, tree, change):
        if time.monotonic() > self.end:
            return TOO_LATE
        if change.key() in self.equivalents:
            return None
        if change.area != "shaders":
            return runner.try_change(change, {}, self.args.seconds)
        folder = tree.build_shaders(change, runner.variants_of(change))
        if not folder:
            return NOT_COMPILED
        seen = runner.try_change(change, {"QUERN_SPIRV": str(folder)}, self.args.seconds)
        shutil.rmtree(folder)
        return seen

    def run(self, tree, runner, changes, keep):
        """Tells of each change; those that `keep` and no test sees are answered instead."""
        kept = []
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as workers:
            waiting = {workers.submit(self.attempt, runner, tree, c): c for c in changes}
            for done in concurrent.futures.as_completed(waiting):
                change, seen = waiting[done], done.result()
                if seen is None and keep(change):
                    kept.append(change)
                elif seen not in (TOO_LATE, NOT_COMPILED):
                    self.tell(change, seen)
        return kept


def built(tree, changes):
    print(f"building {len(changes)} changes in {tree.build}", flush=True)
    tree.write(changes)
    tree.configure()
    alive = tree.build_all(changes)
    print(f"{len(alive)} of {len(changes)} compile", flush=True)
    return alive


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="changes to draw (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area; may be repeated")
    parser.add_argument("--suite", action="append", help="only this suite of tests; may be repeated")
    parser.add_argument("--sanitizers", action="store_true", help="try once more with ASan and UBSan")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: when all are tried")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="of tests for each change, as long as they take without it; a change that none of "
                             "those sees counts as missed, though more tests come by it")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutation", help="of the changed tree")
    parser.add_argument("--out", type=pathlib.Path, help="a JSON object a line, for each change")
    parser.add_argument("--unity", action="store_true",
                        help="build in batches: sooner from nothing, later after a change of the draw")
    parser.add_argument("--missed-in", type=pathlib.Path, metavar="FILE",
                        help="try what an --out of before says was missed, as far as it is still there")
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    changes = named(missed_in(args.missed_in), args.area) if args.missed_in else \
        draw(args.count, args.seed, args.area)
    if args.list:
        print("\n".join(map(str, changes)))
        return
    if len(changes) >= MOST:
        parser.error(f"--count {args.count}: at most {MOST - 1}")
    measurement = Measurement(args)
    plain = Tree(args.folder, "release", args.jobs, ["-DQUERN_BENCH=ON"], args.unity)
    alive = built(plain, changes)
    runner = Runner(plain, args.suite, args.jobs, args.verbose)
    print("the tests without a change:", flush=True)
    runner.baseline()
    # Drivers of GPUs are not built with sanitizers.
    missed = measurement.run(plain, runner, alive, lambda c: args.sanitizers and c.key() not in
                             measurement.equivalents and c.area not in ("gpu", "vulkan", "shaders"))
    if missed:
        checked = Tree(args.folder / "sanitizers", "fuzz", args.jobs, ["-DQUERN_VULKAN=OFF"], args.unity)
        alive = built(checked, missed)
        sanitized = Runner(checked, args.suite or SANITIZED, args.jobs, args.verbose)
        sanitized.take_over(runner)
        measurement.run(checked, sanitized, alive, lambda c: False)
    summary(measurement.rows)


if __name__ == "__main__":
    main()
