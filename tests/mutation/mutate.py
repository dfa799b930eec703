#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how strong the tests are: makes small semantic changes and reports those that no test sees.

A copy of the tree is built once with every change in it, each behind a number (QUERN_MUTANT in the
environment chooses one), so that a change costs a run of the tests and no build; changes of shaders
are built one by one. Each suite first runs without a change and notes which changes it reaches: only
those are tried on it. Changes are drawn in turn from the areas below, always the same for one seed.

  tests/mutation/mutate.py --count 200 --seed 1            all areas
  tests/mutation/mutate.py --count 20 --area engine -v     one area, with what each test said
  tests/mutation/mutate.py --list --count 50               what would be changed

Survivors that change nothing that can be seen are listed in equivalent.txt with the reason.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A change is on where its number is the chosen one. What processes come by is marked in the file
# QUERN_REACHED, a byte a change; it is shared, so that it does not matter how they end.
MOST = 4096
TOO_LATE = "too late"
HEADER = """#pragma once
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>
namespace quern_mutation {
struct Changes {
  int chosen = 0;
  char* reached = nullptr;

  Changes() {
    if (const char* text = std::getenv("QUERN_MUTANT")) chosen = std::atoi(text);
    const char* path = std::getenv("QUERN_REACHED");
    const int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void* map = mmap(nullptr, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) reached = static_cast<char*>(map);
  }
  bool is_on(int n) {
    if (reached && !reached[n]) reached[n] = 1;
    return chosen == n;
  }
};
inline Changes& changes() {
  static Changes all;
  return all;
}
}  // namespace quern_mutation
#define QUERN_MUTANT(n) (::quern_mutation::changes().is_on(n))
""".replace("MOST", str(MOST))

# Area -> its sources. The longest folder wins.
AREAS = {
    "kernels": ["kernels"],
    "gpu": ["kernels/gpu"],
    "passes": ["graph/passes"],
    "graph": ["graph"],
    "planner": ["graph/memory"],
    "lowering": ["engine/lowering"],
    "engine": ["engine", "engine/cpu", "engine/c_api"],
    "vulkan": ["engine/vulkan"],
    "parser": ["frontends/onnx-parser"],
    "wasi-nn": ["frontends/wasi-nn"],
    "shaders": ["shaders"],
}
# Suites in the order in which they are tried, those of an area first.
FIRST = {
    "kernels": ["kernels", "random", "conformance"],
    "gpu": ["vulkan", "conformance-vulkan"],
    "passes": ["passes", "random", "conformance"],
    "graph": ["graph", "passes", "parser"],
    "planner": ["planner"],
    "lowering": ["lowering", "engine", "random"],
    "engine": ["engine", "allocation", "c_api"],
    "vulkan": ["vulkan", "conformance-vulkan"],
    "parser": ["parser", "conformance"],
    "wasi-nn": ["wasi-nn"],
    "shaders": ["vulkan", "conformance-vulkan"],
}
VULKAN = ["vulkan", "conformance-vulkan", "random-vulkan"]
# What an area cannot break, or another suite sees sooner, is not run for it.
WITHOUT = {
    "wasi-nn": VULKAN,
    "planner": VULKAN,
    "kernels": VULKAN,
    "passes": VULKAN,
    "graph": VULKAN,
    "parser": VULKAN,
    "shaders": ["planner", "parser", "passes", "graph", "random", "conformance", "dressed", "lowering"],
}


def suites(build):
    """Name -> command, for what was built: those of ctest, each on one processor."""
    binary = build / "bin"
    cases = pathlib.Path("/usr/share/libonnx-testdata/data")
    release = "1.17" if (cases / "node/test_string_concat").exists() else "1.12"
    gaps = ROOT / f"tests/conformance/gaps-{release}.txt"
    tests = {
        "graph": "graph_tests", "passes": "graph_passes_tests", "planner": "graph_memory_tests",
        "kernels": "kernels_tests", "parser": "onnx-parser_tests", "lowering": "engine_lowering_tests",
        "engine": "engine_tests", "allocation": "engine_allocation_tests", "c_api": "c_api_tests",
        "wasi-nn": "wasi-nn_tests", "vulkan": "engine_vulkan_tests", "tools": "tools_tests",
    }
    found = {name: [binary / program, "--gtest_brief=1"] for name, program in tests.items()}
    quern = binary / "quern"
    if cases.exists():
        found["conformance"] = [quern, "verify", cases, "-j", "1", "--gaps", gaps]
        found["dressed"] = found["conformance"] + ["--dress", "all"]
        found["conformance-vulkan"] = found["conformance"] + ["--device", "vulkan"]
    found["digits"] = [quern, "verify", ROOT / "examples/digits", "--threads", "1,2"]
    random_models = [quern, "verify", "-j", "1", "--random"]
    found["random"] = random_models + ["150", "--seed", "1000000"]
    found["random-vulkan"] = random_models + ["25", "--seed", "2000000", "--device", "vulkan"]
    for target in ("onnx", "run", "c_api", "wasi_nn", "plan", "trace"):
        corpus = run([ROOT / "tests/fuzz/corpus_of", target]).stdout.strip()
        found[f"fuzz-{target}"] = [binary / f"{target}_fuzz_replay", corpus]
    return {name: [str(part) for part in command] for name, command in found.items()}


# ---- changes -----------------------------------------------------------------------------------

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "),
         (" != ", " == "), (" && ", " || "), (" || ", " && "), (" + 1", ""), (" - 1", ""),
         (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), ("std::min", "std::max"),
         ("std::max", "std::min"), ("ranges::any_of", "ranges::all_of"),
         ("ranges::all_of", "ranges::any_of"), ("ranges::none_of", "ranges::any_of"),
         ("true", "false"), ("false", "true"), ("axis", "axis + 1"), ("min(", "max("), ("max(", "min(")]


class Change:
    """`after` is the line that is built, with the number of the change for @, `shown` what it then means."""

    def __init__(self, area, path, line, kind, before, after, shown):
        self.area, self.path, self.line, self.kind = area, path, line, kind
        self.before, self.after, self.shown = before, after, shown
        self.number = 0

    def key(self):
        """What names the change in equivalent.txt, also when lines move."""
        text = f"{self.path}|{self.before.strip()}|{self.shown.strip()}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self):
        return f"{self.path}:{self.line + 1}: {self.kind}: {self.before.strip()}  ->  {self.shown.strip()}"


def balanced(text, start):
    """The end of the parenthesis that opens at `start`, or -1."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def expressions(line):
    """Spans of whole expressions of a line whose value a change may take the place of."""
    found = []
    condition = re.match(r"\s*(?:\} else )?(?:if|while) \(", line)
    if condition and "constexpr" not in line:
        end = balanced(line, condition.end() - 1)
        begin = condition.end()
        if end > 0 and ";" in line[begin:end]:
            begin = line.rindex("; ", begin, end) + 2
        if end > 0 and " = " not in line[begin:end]:
            found.append((begin, end))
    loop = re.match(r"\s*for \([^;]*; ([^;]+); [^;]+\)", line)
    if loop:
        found.append(loop.span(1))
    for pattern in (r"\s*return ([^{}\[\"]+);$",
                    r"\s*(?:const )?(?:auto|bool|int|float|double|std::\w+)&? \w+ = ([^{}\[\"]+);$"):
        match = re.match(pattern, line)
        if match and match.group(1).count("(") == match.group(1).count(")"):
            found.append(match.span(1))
    return found


def changes_of(area, path, text):
    found = []
    is_shader = area == "shaders"
    for number, line in enumerate(text.splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.strip() or "static_assert" in code or "constexpr" in code or code.lstrip().startswith("#"):
            continue
        for begin, end in expressions(code):
            inner = code[begin:end]
            for old, new in SWAPS:
                at = inner.find(old)
                if at < 0 or (old.isalpha() and re.search(r"\w", inner[at + len(old):at + len(old) + 1] or " ")):
                    continue
                changed = inner[:at] + new + inner[at + len(old):]
                whole = changed if is_shader else f"(QUERN_MUTANT(@) ? ({changed}) : ({inner}))"
                found.append(Change(area, path, number, "swap", line, code[:begin] + whole + code[end:],
                                    code[:begin] + changed + code[end:]))
            if re.match(r"\s*if \(", code):
                never = "false" if is_shader else f"(!QUERN_MUTANT(@) && ({inner}))"
                found.append(Change(area, path, number, "never", line, code[:begin] + never + code[end:],
                                    code[:begin] + "false" + code[end:]))
        call = re.match(r"(\s+)((?:QUERN_TRY|[a-z_][\w.\->]*)\(.*\);)$", code)
        if call and code.count("(") == code.count(")") and not re.match(r"\s*(return|if|for|while|switch)\b", code):
            # In braces, so that an else behind it stays with its own if.
            drop = "{}" if is_shader else f"{{ if (!QUERN_MUTANT(@)) {call.group(2)} }}"
            found.append(Change(area, path, number, "drop", line, call.group(1) + drop, call.group(1) + "(nothing)"))
    return found


def area_of(path):
    best = max(((folder, area) for area, folders in AREAS.items() for folder in folders
                if path.startswith(folder + "/")), key=lambda p: len(p[0]), default=None)
    return best[1] if best else None


def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        area = area_of(path)
        suffixes = (".comp", ".glsl") if area == "shaders" else (".cpp",)
        if area and path.endswith(suffixes):
            yield area, path


def draw(count, seed, only):
    """At most one change a line, from the areas in turn."""
    lots = random.Random(seed)
    by_area = {}
    for area, path in sources():
        if only and area not in only:
            continue
        by_area.setdefault(area, []).extend(changes_of(area, path, (ROOT / path).read_text()))
    for candidates in by_area.values():
        lots.shuffle(candidates)
    drawn, lines = [], set()
    while len(drawn) < count and any(by_area.values()):
        for area in sorted(by_area):
            while by_area[area] and len(drawn) < count:
                change = by_area[area].pop()
                if (change.path, change.line) in lines:
                    continue
                lines.add((change.path, change.line))
                change.number = len(drawn) + 1
                drawn.append(change)
                break
    return drawn


# ---- building ----------------------------------------------------------------------------------

def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **options)


class Tree:
    """A copy of the sources with the changes in it, and its build."""

    def __init__(self, folder, jobs):
        # Where the presets build too: for a compiler's cache, the same commands.
        self.source, self.build, self.jobs = folder / "tree", folder / "tree/build/release", jobs
        self.source.mkdir(parents=True, exist_ok=True)

    def write(self, changes):
        listed = run(["git", "ls-files"], cwd=ROOT).stdout.split()
        by_path = {}
        for c in changes:
            if c.area != "shaders":
                by_path.setdefault(c.path, []).append(c)
        for path in listed:
            self.put(path, by_path.get(path, []))
        header = self.source / "mutant.h"
        if not header.exists():
            header.write_text(HEADER)

    def put(self, path, changes):
        data = (ROOT / path).read_bytes()
        for c in changes:
            lines = data.decode().split("\n")
            lines[c.line] = c.after.replace("@", str(c.number))
            data = "\n".join(lines).encode()
        if any(c.area != "shaders" for c in changes):
            # Not by -include: what is not changed may come from the compiler's cache.
            data = b'#include "mutant.h"\n#line 1\n' + data
        target = self.source / path
        if target.exists() and target.read_bytes() == data:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod((ROOT / path).stat().st_mode)

    def configure(self):
        launcher = run(["sh", "-c", "command -v ccache"]).stdout.strip()
        command = ["cmake", "--preset", "release", "-DQUERN_TESTS=ON", "-DQUERN_BENCH=ON"]
        if launcher:
            command += [f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}",
                        "-DQUERN_PRECOMPILED_HEADERS=OFF"]
        done = run(command, cwd=self.source)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)

    def make(self):
        return run(["cmake", "--build", self.build, "-j", str(self.jobs), "--", "-k", "0"])

    def build_all(self, changes):
        """Leaves out changes that do not compile; answers those that do."""
        alive = list(changes)
        for _ in range(20):
            self.write(alive)
            done = self.make()
            if done.returncode == 0:
                return alive
            wrong = set(re.findall(r"([\w./-]+\.(?:cpp|h)):(\d+):\d+: error", done.stdout))
            bad = []
            for path, line in wrong:
                here = [c for c in alive if path.endswith("/" + c.path) or path == c.path]
                at = [c for c in here if abs(c.line + 1 - int(line)) <= 1]
                bad += at or here
            if not bad:
                sys.exit(done.stdout[-4000:] + done.stderr[-2000:])
            alive = [c for c in alive if c not in bad]
        sys.exit("the changed tree does not build")


# ---- running -----------------------------------------------------------------------------------

class Runner:
    def __init__(self, tree, names, verbose):
        self.commands = {n: c for n, c in suites(tree.build).items()
                         if pathlib.Path(c[0]).exists() and (not names or n in names)}
        self.seconds, self.reached, self.verbose = {}, {}, verbose
        self.marks = tree.source.parent / "reached"

    def one(self, name, number, limit, **environment):
        began = time.monotonic()
        try:
            done = run(self.commands[name], env=dict(os.environ, QUERN_MUTANT=str(number), **environment),
                       timeout=limit, cwd=ROOT, stdin=subprocess.DEVNULL)
            code, text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, text = "timeout", ""
        return code, text, time.monotonic() - began

    def baseline(self):
        """The tests without a change: what fails is no measure and stays out."""
        for name in list(self.commands):
            self.marks.write_bytes(bytes(MOST))
            code, text, seconds = self.one(name, 0, 1800, QUERN_REACHED=str(self.marks))
            self.seconds[name] = seconds
            self.reached[name] = {n for n, mark in enumerate(self.marks.read_bytes()) if mark}
            print(f"  {name:20} {seconds:7.1f} s  reaches {len(self.reached[name]):4}  "
                  f"{'ok' if code == 0 else 'fails without a change: left out'}", flush=True)
            if code != 0:
                if self.verbose:
                    print(text[-1500:])
                del self.commands[name]

    def order(self, area):
        first = [n for n in FIRST[area] if n in self.commands]
        skipped = set(WITHOUT.get(area, []))
        rest = sorted((n for n in self.commands if n not in first and n not in skipped), key=self.seconds.get)
        return first + rest

    def try_change(self, change):
        """The suite that sees the change; None: none does."""
        for name in self.order(change.area):
            if change.area != "shaders" and change.number not in self.reached[name]:
                continue
            code, text, _ = self.one(name, change.number, 20 + 4 * self.seconds[name])
            if code != 0:
                if self.verbose:
                    print("    " + "\n    ".join(text.splitlines()[-3:]))
                return name if code != "timeout" else name + " (time)"
        return None


def known_equivalents():
    """Key -> reason."""
    path = pathlib.Path(__file__).with_name("equivalent.txt")
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {row[0]: row[-1] for row in rows}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="changes to draw (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area; may be repeated")
    parser.add_argument("--suite", action="append", help="only this suite of tests; may be repeated")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: when all are tried")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutation", help="of the changed tree")
    parser.add_argument("--out", type=pathlib.Path, help="a JSON object a line, for each change")
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    changes = draw(args.count, args.seed, args.area)
    if args.list:
        print("\n".join(map(str, changes)))
        return
    tree = Tree(args.folder, args.jobs)
    tree.source.joinpath("mutant.h").write_text(HEADER)
    print(f"building a tree with {len(changes)} changes in {args.folder}", flush=True)
    tree.write(changes)
    tree.configure()
    alive = tree.build_all(changes)
    print(f"{len(alive)} of {len(changes)} compile; the tests without a change:", flush=True)
    runner = Runner(tree, args.suite, args.verbose)
    runner.baseline()
    equivalents, rows = known_equivalents(), []
    end = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")

    def tell(change, seen):
        equal = equivalents.get(change.key())
        rows.append({"area": change.area, "change": str(change), "key": change.key(), "seen": seen,
                     "equivalent": equal})
        mark = f"seen by {seen}" if seen else f"equivalent: {equal}" if equal else "MISSED"
        print(f"[{len(rows)}/{len(alive)}] {change.key()} {change}\n    {mark}", flush=True)
        if args.out:
            with args.out.open("a") as out:
                out.write(json.dumps(rows[-1]) + "\n")

    compiled = [c for c in alive if c.area != "shaders"]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as workers:
        waiting = {workers.submit(lambda c: runner.try_change(c) if time.monotonic() < end else TOO_LATE, c): c
                   for c in compiled}
        for done in concurrent.futures.as_completed(waiting):
            if done.result() != TOO_LATE:
                tell(waiting[done], done.result())
    for change in (c for c in alive if c.area == "shaders" and time.monotonic() < end):
        tree.put(change.path, [change])
        if tree.make().returncode == 0:
            tell(change, runner.try_change(change))
        tree.put(change.path, [])
    if len(rows) < len(alive):
        print(f"{len(alive) - len(rows)} changes were not tried: out of time, or shaders that do not compile")
    summary(rows)


if __name__ == "__main__":
    main()
