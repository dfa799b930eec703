# SPDX-License-Identifier: Apache-2.0
"""Runs quern-compare on a small model and quern-kernel-bench on small kernels.

    python3 programs_test.py path/to/quern-compare path/to/quern-kernel-bench path/to/source

With QUERN_ORT_LIBRARY, the path of libonnxruntime.so.1, the comparison has both sides.
"""
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMPARE, KERNELS = sys.argv[1:3]
MODEL = pathlib.Path(sys.argv[3]) / "examples/digits/model.onnx"
ORT = os.environ.get("QUERN_ORT_LIBRARY", "")
QUICK = ("--rounds", 3, "--cold", 2)


def run(program, *words, code=0):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


class Compare(unittest.TestCase):
    def check_performance(self, performance):
        self.assertGreater(performance["run"]["median_ms"], 0)
        self.assertGreaterEqual(performance["run"]["count"], 3)
        self.assertLessEqual(performance["run"]["min_ms"], performance["run"]["median_ms"])
        self.assertGreater(performance["run"]["processor_ms"], 0)
        self.assertEqual(performance["cold"]["count"], 2)
        memory = performance["bytes_after_rounds"]
        self.assertGreaterEqual(memory["peak"], performance["bytes_after_first_run"]["peak"])
        self.assertGreater(memory["anonymous"], 0)

    def test_quern_alone(self):
        result = json.loads(run(COMPARE, "--only", "quern", "--threads", "1,2", "--json", *QUICK, MODEL).stdout)
        self.assertEqual([c["threads"] for c in result["comparisons"]], [1, 2])
        for comparison in result["comparisons"]:
            (performance,) = comparison["engines"]
            self.check_performance(performance)

    @unittest.skipUnless(ORT, "QUERN_ORT_LIBRARY is not set")
    def test_both(self):
        result = json.loads(run(COMPARE, "--threads", 2, "--json", *QUICK, MODEL).stdout)
        (comparison,) = result["comparisons"]
        engines = {e["engine"]: e for e in comparison["engines"]}
        self.assertEqual(set(engines), {"quern", "ort", "ort-no-spinning"})
        for performance in engines.values():
            self.check_performance(performance)
        best = min(engines[e]["run"]["median_ms"] for e in engines if e != "quern")
        self.assertTrue(math.isclose(comparison["ratios"]["run"], best / engines["quern"]["run"]["median_ms"]))
        self.assertNotIn("disagreement", comparison)
        self.assertIn("agree", run(COMPARE, *QUICK, MODEL).stdout)

    def test_what_stands_for_the_runs(self):
        for by in ("least", "processor"):
            words = ("--only", "quern", "--by", by, "--json", "--rounds", 1, "--cold", 1, MODEL)
            self.assertEqual(json.loads(run(COMPARE, *words).stdout)["context"]["warm_runs_by"], by)

    @unittest.skipUnless(ORT, "QUERN_ORT_LIBRARY is not set")
    def test_random_models(self):
        words = (COMPARE, "--random", "20", "--seed", "1", "--nodes", "1..3", "--json")
        done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
        result = json.loads(done.stdout)
        outcomes = [m["outcome"] for m in result["models"]]
        self.assertEqual(result["agree"] + result["failed"] + result["refused"], len(outcomes))
        self.assertEqual([m["seed"] for m in result["models"]], list(range(1, 21)))
        self.assertGreater(outcomes.count("agree"), 8)
        self.assertEqual(done.returncode, 1 if result["failed"] else 0)
        self.assertFalse({"quern is wrong", "refused by the reference", "crashed"} & set(outcomes))

    def test_errors(self):
        self.assertIn("--only", run(COMPARE, "--only", "quern", "--random", 3, code=2).stderr)
        self.assertIn("none.onnx", run(COMPARE, "--only", "quern", "none.onnx", code=1).stdout)
        self.assertIn("none.so", run(COMPARE, "--ort", "none.so", MODEL, code=2).stderr)
        self.assertIn("--models", run(COMPARE, "--only", "quern", code=2).stderr)
        self.assertIn("no number", run(COMPARE, "--only", "quern", "--threads", "x", MODEL, code=2).stderr)
        self.assertIn("Examples:", run(COMPARE, "--help").stdout)

    def test_an_interrupt_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [COMPARE, "--only", "quern", "--rounds", "100000", "--time", "60", str(MODEL)]
            process = subprocess.Popen(words, env={**os.environ, "TMPDIR": folder}, start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 30
            while not list(pathlib.Path(folder).rglob("*.pb")) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertTrue(list(pathlib.Path(folder).iterdir()))
            os.killpg(process.pid, signal.SIGINT)
            self.assertEqual(process.wait(timeout=30), 1)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_the_standard_set_is_looked_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "digits")
            path.mkdir()
            (path / "model.onnx").write_bytes(MODEL.read_bytes())
            listed = pathlib.Path(folder, "list.txt")
            listed.write_text("# two\nmissing\ndigits\n")
            done = run(COMPARE, "--only", "quern", "--list", listed, "--models", folder, *QUICK)
        self.assertIn("missing is in no --models folder", done.stderr)
        self.assertIn("digits", done.stdout)


class Kernels(unittest.TestCase):
    def test_a_kernel_on_every_device(self):
        words = ("--benchmark_filter=^reduce/mean-last", "--benchmark_min_time=0.01", "--benchmark_format=json")
        rows = {b["name"]: b for b in json.loads(run(KERNELS, *words).stdout)["benchmarks"]}
        for device in ("cpu", "reference"):
            row = rows[f"reduce/mean-last/128x768/{device}/threads:1/manual_time"]
            self.assertNotIn("error_occurred", row)
            self.assertGreater(row["FLOP/s"], 0)
            self.assertGreater(row["B/s"], 0)
        self.assertGreater(rows["reduce/mean-last/128x768/cpu/threads:1/manual_time"]["roof"], 0)

    def test_every_kernel_runs(self):
        words = ("--benchmark_filter=/cpu/threads:1", "--benchmark_min_time=0.001", "--benchmark_format=json")
        for row in json.loads(run(KERNELS, *words).stdout)["benchmarks"]:
            self.assertNotIn("error_occurred", row, row["name"])


class TwoBuilds(unittest.TestCase):
    SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/two_builds.py"

    def compare(self, old_ms, new_ms, code):
        """Compares programs that answer like `quern bench`, always with the same time."""
        with tempfile.TemporaryDirectory() as folder:
            programs = []
            for name, ms in (("old", old_ms), ("new", new_ms)):
                numbers = {"real_time": ms, "total_ms": 5, "peak_process_bytes": 3e6, "session_bytes": 2e6}
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\necho '{json.dumps({'benchmarks': [numbers]})}'\n")
                program.chmod(0o755)
                programs.append(program)
            return run(sys.executable, self.SCRIPT, *programs, "model.onnx", "--rounds", 3, code=code).stdout

    def test_what_takes_more_is_worse(self):
        self.assertIn("1.030 (1.030 to 1.030) WORSE", self.compare(100, 103, code=1))
        for new in (101, 50):
            self.assertNotIn("WORSE", self.compare(100, new, code=0))
        self.assertIn("run ms: geometric mean of the ratios 0.500, 0.500 to 0.500", self.compare(100, 50, code=0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
