#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds quern to ONNX Runtime on public models: accepted, and with the same answer.

  bench/compare/real_models.py LIST.tsv CLONES... --ort $(bench/compare/get-ort) --keep /tmp/models
  bench/compare/real_models.py LIST.tsv CLONES... --ort LIB --only gpt2 --json

LIST.tsv has a line for each model, with a header: name, sha256, repository (owner/name), commit and
path. CLONES are git directories of these repositories, named as owner+name, or folders that hold
such. A model is taken from the commit that the list names, or from HEAD if its SHA-256 is the same
there. Both engines get the same inputs, generated so that they fit the model. The verdict of each
model is one of: right, different, refused (by quern), no peer (ONNX Runtime refuses it), absent.
"""
import argparse
import collections
import csv
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def repositories(folders):
    """The git directory of each repository that lies in a folder, by its name: owner/name."""
    found = {}
    for folder in map(pathlib.Path, folders):
        for clone in [folder, *sorted(p for p in folder.iterdir() if "+" in p.name)]:
            for git in (clone, clone / ".git", clone / "repo"):
                if "+" in clone.name and (git / "objects").is_dir():
                    found.setdefault(clone.name.replace("+", "/", 1), git)
    return found


def blob(git, commit, path):
    """The bytes of a file of a commit; nothing if there is none."""
    shown = subprocess.run(["git", f"--git-dir={git}", "cat-file", "blob", f"{commit}:{path}"], capture_output=True)
    return shown.stdout if shown.returncode == 0 else None


def content(row, git):
    """The bytes of the file whose hash the list names; nothing if the clone has no such file."""
    for commit in (row["commit"], "HEAD"):
        shown = blob(git, commit, row["path"])
        if shown is not None and hashlib.sha256(shown).hexdigest() == row["sha256"]:
            return shown
    return None


def bring_external(reason, row, git, folder):
    """Puts the file of external data that a model misses beside it; false if the clone has none."""
    missing = re.search(r"external data '([\w.-]+)': No such file", reason)
    if not missing or (folder / missing[1]).exists():
        return False
    beside = str(pathlib.PurePosixPath(row["path"]).parent / missing[1])
    for commit in (row["commit"], "HEAD"):
        data = blob(git, commit, beside)
        if data is not None:
            (folder / missing[1]).write_bytes(data)
            return True
    return False


def verdict_of(comparison):
    failure, difference = comparison.get("failure"), comparison.get("disagreement")
    if failure:
        return ("no peer" if failure.startswith("ort:") else "refused"), failure
    return ("different", difference) if difference else ("right", "")


def judge(folder, args):
    """Verdict and reason for a model in a folder of its own."""
    times = ["--rounds", "1", "--time", str(args.time), "--cold", "1"]
    command = [args.quern_compare, "--ort", args.ort, *times, "--json", folder]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=args.patience)
        verdict, reason = verdict_of(json.loads(run.stdout)["comparisons"][0])
    except subprocess.TimeoutExpired:
        return "refused", f"no answer after {args.patience} s"
    except (ValueError, LookupError):
        return "refused", f"quern-compare ended with {run.returncode}: {run.stderr.strip()[:200]}"
    return verdict, reason.replace(f"{folder}/model.onnx: ", "")


def results(args, rows, keep):
    clones = repositories(args.clones)
    for number, row in enumerate(rows, 1):
        git = clones.get(row["repository"])
        model = content(row, git) if git else None
        if model is None:
            yield row["name"], "absent", f"{row['repository']} is not there, or has no such file"
            continue
        folder = keep / row["name"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model)
        if sys.stderr.isatty():
            print(f"\r{number}/{len(rows)}", end=" ", file=sys.stderr, flush=True)
        verdict, reason = judge(str(folder), args)
        while verdict == "refused" and bring_external(reason, row, git, folder):
            verdict, reason = judge(str(folder), args)
        yield row["name"], verdict, reason


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=argparse.FileType())
    parser.add_argument("clones", nargs="+")
    parser.add_argument("--ort", required=True, help="libonnxruntime.so.1")
    parser.add_argument("--quern-compare", default=str(ROOT / "build/release/bin/quern-compare"))
    parser.add_argument("--keep", type=pathlib.Path, help="where the models stay; by default nowhere")
    parser.add_argument("--only", default="", help="models whose names contain this")
    parser.add_argument("--patience", type=int, default=120, help="seconds for a model")
    parser.add_argument("--time", type=float, default=1, help="seconds of a model's runs; few if only answers count")
    parser.add_argument("--at-least", type=int, default=0, help="fails where fewer are right")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [row for row in csv.DictReader(args.list, delimiter="\t") if args.only in row["name"]]
    with tempfile.TemporaryDirectory() as temporary:
        judged = list(results(args, rows, args.keep or pathlib.Path(temporary)))
    count = collections.Counter(verdict for _, verdict, _ in judged)
    if args.json:
        names = ("name", "verdict", "reason")
        print(json.dumps({"count": count, "models": [dict(zip(names, row)) for row in judged]}, indent=1))
    else:
        for name, verdict, reason in judged:
            if verdict != "right":
                print(f"{verdict:<10} {name}\n           {reason[:300]}")
        print(", ".join(f"{number} {verdict}" for verdict, number in count.most_common()), "of", len(rows))
    return int(count["right"] < args.at_least)


if __name__ == "__main__":
    sys.exit(main())
