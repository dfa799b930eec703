#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Much work on many machines: generated planning instances, or a folder of pictures through a model.

    sweep.py plan RESULTS.jsonl [--count 2000] [--families spill,rings] [--strategy auto] [--seconds 1]
    sweep.py pictures RESULTS.jsonl MODEL.onnx FOLDER [--top 5] [--white 255] [--bgr]

Both take --workers N, processes of this machine, or --scheduler ADDRESS, a scheduler of Dask's with workers anywhere.
Each line of the results is one item. Started again with the same file, a sweep does what is not there yet.
"""
import argparse
import itertools
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PATHS = [str(HERE), str(ROOT / "bench/planning"), str(ROOT / "frontends/python")]


class Results:
    """A file of JSON lines, one an item, by the field `key`. A line that a process did not finish does not count, nor
    does one of an item that was lost with its workers."""

    def __init__(self, path):
        self._rows = {}
        path = pathlib.Path(path)
        whole = path.read_bytes() if path.exists() else b""
        for line in whole.splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and "key" in row and not row.get("lost"):
                self._rows[row["key"]] = row
        self._file = open(path, "a", encoding="utf-8")
        if whole and not whole.endswith(b"\n"):
            self._file.write("\n")

    def __contains__(self, key):
        return key in self._rows

    def __len__(self):
        return len(self._rows)

    def rows(self):
        return self._rows.values()

    def add(self, row):
        if not row.get("lost"):
            self._rows[row["key"]] = row
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def close(self):
        self._file.close()


def run(client, function, items, results, ahead=8):
    """Does the items (key -> argument) that have no result yet, and yields their rows as they come.

    Dask gives the work of a worker that died to the others. A task that fails is a row with `error`; one that several
    workers died of, or that was given up with them, is a row with `lost`, and is tried again by the next sweep.
    `ahead`: tasks that wait for each thread of the workers.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    todo = ((key, item) for key, item in items.items() if key not in results)
    keys = {}
    pending = as_completed()

    def submit(count):
        for key, item in itertools.islice(todo, count):
            future = client.submit(function, item, pure=False)
            keys[future.key] = key
            pending.add(future)

    submit(ahead * max(1, sum(client.nthreads().values())))
    for future in pending:
        row = {"key": keys.pop(future.key)}
        error = future.exception() if future.status != "cancelled" else None
        if future.status == "cancelled" or isinstance(error, KilledWorker):
            row |= {"lost": True, "error": str(error or "cancelled")}
        elif error:
            row |= {"error": f"{type(error).__name__}: {error}"}
        else:
            row |= future.result()
        future.release()
        results.add(row)
        submit(1)
        yield row


def instances_of(args):
    """Sizes by families in turns; the seed tells instances of one size apart."""
    families = args.families.split(",")
    made = {}
    for n in range(args.count):
        family, buffers, seed = families[n % len(families)], 8 + n // len(families) % 24, n
        made[f"{family}-{buffers}-{seed}"] = {"family": family, "buffers": buffers, "seed": seed,
                                              "strategy": args.strategy, "seconds": args.seconds}
    return made


def pictures_of(args):
    paths = sorted(p.resolve() for p in pathlib.Path(args.folder).iterdir()
                   if p.suffix.lower() in (".pgm", ".ppm", ".png", ".jpg", ".jpeg"))
    return {path.name: {"picture": str(path), "model": str(pathlib.Path(args.model).resolve()), "threads": args.threads,
                        "white": args.white, "bgr": args.bgr, "top": args.top} for path in paths}


def client_of(args):
    import distributed
    if args.scheduler:
        return distributed.Client(args.scheduler)
    return distributed.Client(distributed.LocalCluster(n_workers=args.workers, threads_per_worker=1, host="127.0.0.1",
                                                       dashboard_address=None))


def summary(rows):
    rows = list(rows)
    errors = sum("error" in row for row in rows)
    proven = sum(row.get("status") in ("optimal", "none") for row in rows)
    planned = sum("status" in row for row in rows)
    text = f"{len(rows)} results, {errors} errors"
    return text + (f"; {proven} of {planned} are optimal, or have no plan" if planned else "")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    plan, pictures = verbs.add_parser("plan"), verbs.add_parser("pictures")
    for verb in (plan, pictures):
        verb.add_argument("results")
        verb.add_argument("--workers", type=int, default=os.cpu_count())
        verb.add_argument("--scheduler", help="tcp://host:8786; workers need the same paths as this machine")
    plan.add_argument("--count", type=int, default=2000)
    plan.add_argument("--families", default="spill,apart,reuse,rings,spring,full")
    plan.add_argument("--strategy", default="auto")
    plan.add_argument("--seconds", type=float, default=1)
    pictures.add_argument("model")
    pictures.add_argument("folder")
    pictures.add_argument("--top", type=int, default=5)
    pictures.add_argument("--threads", type=int, default=1, help="of a run")
    pictures.add_argument("--white", type=float, default=1, help="what the number 255 becomes")
    pictures.add_argument("--bgr", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    sys.path[:0] = PATHS
    # Workers of this machine inherit it.
    os.environ["PYTHONPATH"] = os.pathsep.join([*PATHS, *filter(None, [os.environ.get("PYTHONPATH")])])
    import tasks
    items = instances_of(args) if args.verb == "plan" else pictures_of(args)
    results = Results(args.results)
    there = sum(key in results for key in items)
    print(f"{len(items)} items, {there} of them are there already", flush=True)
    begin = time.monotonic()
    with client_of(args) as client:
        for n, _ in enumerate(run(client, tasks.plan if args.verb == "plan" else tasks.look, items, results), 1):
            if n % 500 == 0:
                print(f"{there + n} of {len(items)}, {n / (time.monotonic() - begin):.0f} a second", flush=True)
    print(summary(results.rows()))
    results.close()


if __name__ == "__main__":
    main()
