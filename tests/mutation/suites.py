# SPDX-License-Identifier: Apache-2.0
"""The tests in pieces, each a process: what they come by, and which of them see a change."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import time

from changes import ROOT
from trees import run

MOST = 4096
TESTS_A_PIECE = 8

# Suites in the order in which they are tried, those of an area first. Tests of GPUs take long: there
# the pieces that are about the change come first, whatever their suite.
FIRST = {
    "kernels": ["kernels", "random", "conformance"],
    "passes": ["passes", "lowering", "texts", "random", "conformance"],
    "graph": ["graph", "passes", "parser", "texts"],
    "planner": ["planner"],
    "lowering": ["lowering", "texts", "engine", "random"],
    "engine": ["engine", "allocation", "c_api"],
    "gpu": ["lowering", "texts"],
    "vulkan": ["vulkan"],
    "parser": ["parser", "texts", "conformance"],
    "wasi-nn": ["wasi-nn", "commands"],
}
VULKAN = ["vulkan", "conformance-vulkan", "random-vulkan", "hardware"]
# These areas skip suites that they cannot break, or that see a change later than another suite.
WITHOUT = {area: VULKAN for area in ("wasi-nn", "planner", "kernels", "passes", "graph", "parser")}

PROGRAMS = {
    "graph": "graph_tests", "passes": "graph_passes_tests", "planner": "graph_memory_tests",
    "kernels": "kernels_tests", "parser": "onnx-parser_tests", "lowering": "engine_lowering_tests",
    "engine": "engine_tests", "allocation": "engine_allocation_tests", "c_api": "c_api_tests",
    "wasi-nn": "wasi-nn_tests", "vulkan": "engine_vulkan_tests", "tools": "tools_tests", "limits": "limits_tests",
    "texts": "tools_random_tests",
}
# Tests of ctest that are programs in C or scripts.
COMMANDS = ("c_api/digits", "wasi-nn/c", "wasi-nn/wamr-backend", "wasi-nn/wasmtime", "wasi-nn/guests", "wasi-nn/node",
            "wasi-nn/component", "cli", "bench/programs")
# These are the suites that .ci/sanitizers runs.
SANITIZED = [suite for suite in PROGRAMS if suite not in ("vulkan", "limits", "texts")] + [
    "conformance", "digits", "random", "fuzz-onnx", "fuzz-run", "fuzz-c_api", "fuzz-wasi_nn", "fuzz-plan",
    "fuzz-trace"]


class Piece:
    def __init__(self, suite, name, command):
        self.suite, self.name, self.command = suite, name, [str(part) for part in command]
        self.seconds, self.reached, self.shaders = 0.0, set(), set()

    def breadth(self):
        """Of how much it comes by."""
        return 1 + len(self.reached) + len(self.shaders)


def pieces_of_program(suite, program):
    """So many tests of a test suite of GoogleTest each: what a piece does not come by is not run."""
    found = []
    for line in run([program, "--gtest_list_tests"]).stdout.splitlines():
        name = line.split("#")[0].strip()
        if line[:1].isalnum() and name.endswith("."):
            group = name
            tests = []
        elif name and line.startswith(" "):
            if len(tests) % TESTS_A_PIECE == 0:
                tests = []
                found.append((group + name, tests))
            tests.append(group + name)
    return [Piece(suite, name, [program, "--gtest_brief=1", "--gtest_fail_fast",
                                f"--gtest_filter={':'.join(tests)}"]) for name, tests in found]


def pieces_of_commands(build):
    tests = json.loads(run(["ctest", "--test-dir", build, "--show-only=json-v1"]).stdout)["tests"]
    return [Piece("commands", t["name"], t["command"]) for t in tests if t["name"] in COMMANDS]


def pieces_of_cases(suite, command, folder, size):
    """So many cases of the ONNX data each: neighbours by name test one operator."""
    cases = sorted(path.parent for path in folder.glob("*/*/model.onnx"))
    return [Piece(suite, cases[at].name, [*command, *cases[at:at + size]]) for at in range(0, len(cases), size)]


def pieces_of_random(suite, command, seed, count, size):
    return [Piece(suite, str(seed + at), [*command, "--random", size, "--seed", seed + at])
            for at in range(0, count, size)]


def all_pieces(build, names):
    """Those of the suites that were built, of all where no names are given."""
    binary = build / "bin"
    quern = binary / "quern"
    verify = [quern, "verify", "-j", "1"]
    found = []
    for suite, program in PROGRAMS.items():
        if (binary / program).exists():
            found += pieces_of_program(suite, binary / program)
    found += pieces_of_commands(build)
    cases = pathlib.Path("/usr/share/libonnx-testdata/data")
    if cases.exists():
        release = "1.17" if (cases / "node/test_string_concat").exists() else "1.12"
        command = verify + ["--gaps", ROOT / f"tests/conformance/gaps-{release}.txt"]
        found += pieces_of_cases("conformance", command, cases, 40)
        found += pieces_of_cases("dressed", command + ["--dress", "all"], cases, 40)
        found += pieces_of_cases("conformance-vulkan", command + ["--device", "vulkan"], cases, 20)
        found += pieces_of_cases("hardware", command + ["--device", "vulkan,as-hardware"], cases, 20)
    found.append(Piece("digits", "digits", verify + [ROOT / "examples/digits", "--threads", "1,2"]))
    found += pieces_of_random("random", verify, 1000000, 150, 10)
    found += pieces_of_random("random", verify + ["--nodes", "1..4"], 4000000, 2000, 200)
    found += pieces_of_random("random-vulkan", verify + ["--device", "vulkan"], 2000000, 25, 5)
    found += pieces_of_random("random-vulkan", verify + ["--device", "vulkan", "--nodes", "1..3"], 5000000, 120, 20)
    for target in ("onnx", "run", "c_api", "wasi_nn", "plan", "trace"):
        if (binary / f"{target}_fuzz_replay").exists():
            corpus = run([ROOT / "tests/fuzz/corpus_of", target]).stdout.strip()
            found.append(Piece(f"fuzz-{target}", target, [binary / f"{target}_fuzz_replay", corpus]))
    return [piece for piece in found if not names or piece.suite in names]


class Runner:
    def __init__(self, tree, names, jobs, verbose):
        self.folder, self.jobs, self.verbose = tree.source.parent, jobs, verbose
        self.variants = tree.variants()
        self.pieces = all_pieces(tree.build, names)
        self.unproven = set()

    def one(self, piece, number, limit, **environment):
        """Exit status, what was written, seconds."""
        began = time.monotonic()
        environment = dict(os.environ, QUERN_MUTANT=str(number), ASAN_OPTIONS="allocator_may_return_null=1",
                           **environment)
        try:
            done = run(piece.command, env=environment, timeout=limit, cwd=ROOT, stdin=subprocess.DEVNULL)
            code, text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, text = "timeout", ""
        return code, text, time.monotonic() - began

    def measure(self, numbered):
        """A piece without a change; answers whether it passes."""
        index, piece = numbered
        marks, used = self.folder / f"reached-{index}", self.folder / f"used-{index}"
        marks.write_bytes(bytes(MOST))
        used.mkdir(exist_ok=True)
        code, text, piece.seconds = self.one(piece, 0, 1800, QUERN_REACHED=str(marks), QUERN_SHADERS=str(used))
        piece.reached = {n for n, mark in enumerate(marks.read_bytes()) if mark}
        piece.shaders = {path.name for path in used.iterdir()}
        marks.unlink()
        shutil.rmtree(used)
        if code != 0:
            print(f"  {piece.suite} {piece.name} fails without a change: left out", flush=True)
            if self.verbose:
                print(text[-1500:])
        return code == 0

    def baseline(self):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as workers:
            passes = list(workers.map(self.measure, enumerate(self.pieces)))
        self.pieces = [piece for piece, passed in zip(self.pieces, passes) if passed]
        for suite in dict.fromkeys(piece.suite for piece in self.pieces):
            mine = [piece for piece in self.pieces if piece.suite == suite]
            reached = set().union(*(piece.reached for piece in mine))
            print(f"  {suite:20} {len(mine):4} pieces {sum(p.seconds for p in mine):7.1f} s  "
                  f"reaches {len(reached):4}", flush=True)

    def take_over(self, other):
        """What the pieces of another build of the same tree came by. Whether one passes without a change
        is seen when it first fails with one."""
        known = {(piece.suite, piece.name): piece for piece in other.pieces}
        self.pieces = [p for p in self.pieces if (p.suite, p.name) in known]
        for piece in self.pieces:
            like = known[piece.suite, piece.name]
            piece.seconds, piece.reached = 10 * like.seconds, like.reached
        self.unproven = set(self.pieces)

    def is_sound(self, piece):
        if piece in self.unproven:
            if self.one(piece, 0, 1800)[0] != 0:
                print(f"  {piece.suite} {piece.name} fails without a change: left out", flush=True)
                self.pieces = [p for p in self.pieces if p is not piece]
                return False
            self.unproven.discard(piece)
        return True

    def order(self, change):
        """The pieces that come by a change: its area's first, then those that take little time and come by
        little else, which are about it. Where the suites of an area take long, only that counts."""
        first, without = FIRST.get(change.area, []), WITHOUT.get(change.area, [])
        if change.area == "shaders":
            variants = self.variants_of(change)
            pieces = [p for p in self.pieces if p.shaders & variants]
        else:
            pieces = [p for p in self.pieces if change.number in p.reached and p.suite not in without]
        rank = {suite: n for n, suite in enumerate(first)}
        return sorted(pieces, key=lambda p: (rank.get(p.suite, len(first)), p.seconds * p.breadth()))

    def variants_of(self, change):
        used = set().union(*(piece.shaders for piece in self.pieces))
        return {name for name, sources in self.variants.items() if change.path in sources and name in used}

    def try_change(self, change, environment, budget=float("inf")):
        """The piece that sees the change; None: none does of those that take `budget` seconds together."""
        for piece in self.order(change):
            budget -= piece.seconds
            if budget < 0:
                return None
            code, text, _ = self.one(piece, change.number, 20 + 4 * piece.seconds, **environment)
            if code != 0 and self.is_sound(piece):
                if self.verbose:
                    print("    " + "\n    ".join(text.splitlines()[-3:]))
                return f"{piece.suite} {piece.name}" + (" (time)" if code == "timeout" else "")
        return None
