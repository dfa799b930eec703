# SPDX-License-Identifier: Apache-2.0
"""Runs the quern command on models that it writes itself: exit codes and key lines.

    python3 cli_test.py path/to/quern path/to/source
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

QUERN = sys.argv[1]
SOURCE = pathlib.Path(sys.argv[2])
ONNX_DATA = pathlib.Path("/usr/share/libonnx-testdata/data")  # Debian's libonnx-testdata

FLOAT, INT64 = 1, 7


# ---- a model, in protobuf's wire format

def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, values, dtype=FLOAT):
    raw = struct.pack(f"<{len(values)}{'f' if dtype == FLOAT else 'q'}", *values)
    return b"".join(number(1, d) for d in dims) + number(2, dtype) + block(8, name) + block(9, raw)


def value_info(name, dims, dtype=FLOAT):
    shape = b"".join(block(1, block(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, dtype) + block(2, shape)))


def node(op, inputs, outputs, domain="", **integers):
    attributes = b"".join(block(5, block(1, k) + number(3, v) + number(20, 2)) for k, v in integers.items())
    return (b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs) + block(3, f"n_{op}")
            + block(4, op) + attributes + block(7, domain))


def model(nodes, inputs, outputs, constants=(), opset=13, metadata=()):
    graph = (b"".join(block(1, n) for n in nodes) + block(2, "g") + b"".join(block(5, c) for c in constants)
             + b"".join(block(11, i) for i in inputs) + b"".join(block(12, o) for o in outputs))
    properties = b"".join(block(14, block(1, k) + block(2, v)) for k, v in metadata)
    return number(1, 8) + block(2, "cli_test") + block(7, graph) + block(8, block(1, "") + number(2, opset)) + properties


def add_relu(dims=(2, 3)):
    """y = relu(x + [-1, 0, 1])"""
    return model([node("Add", ["x", "c"], ["s"]), node("Relu", ["s"], ["y"])], [value_info("x", dims)],
                 [value_info("y", dims)], [tensor("c", [3], [-1, 0, 1])])


def classifier(**options):
    """Means of the channels of a picture, as scores of three classes."""
    return model([node("GlobalAveragePool", ["x"], ["m"]), node("Flatten", ["m"], ["y"])],
                 [value_info("x", [1, 3, 4, 4])], [value_info("y", [1, 3])], **options)


def png(width, height, colour):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def quern(self, *words, code=0, environment=None):
        done = subprocess.run([QUERN, *map(str, words)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **(environment or {})}, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *words, code=0):
        printed = json.loads(self.quern(*words, "--json", code=code).stdout)
        self.assertEqual(list(printed)[:1], ["schema"])
        return printed

    def case(self, name, data, expected, sets=1):
        self.write(f"{name}/model.onnx", data)
        for k in range(sets):
            self.write(f"{name}/test_data_set_{k}/input_0.pb", tensor("x", [2, 3], [-1, 0, 1, 2, 3, 4]))
            self.write(f"{name}/test_data_set_{k}/output_0.pb", tensor("y", [2, 3], expected))


class Help(Cli):
    def test_overview_and_verbs(self):
        overview = self.quern("--help").stdout
        for verb in ("run", "verify", "bench", "inspect", "profile", "kernel", "plan", "devices", "version"):
            self.assertIn(f"  {verb}", overview)
            text = self.quern(verb, "--help").stdout
            self.assertIn("Examples:", text)
            self.assertIn("Exit codes:", text)
        self.assertIn(".TH QUERN 1", self.quern("--man").stdout)
        self.assertIn("quern ", self.quern("--version").stdout)

    def test_bash_completes(self):
        script = self.quern("--completion", "bash").stdout
        (self.folder / "model.onnx").touch()
        ask = 'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _quern; echo "${COMPREPLY[@]}"'

        def completed(*words):
            run = subprocess.run(["bash", "-c", script + ask, "bash", "quern", *words], cwd=self.folder,
                                 capture_output=True, text=True, check=True)
            self.assertEqual(run.stderr, "")
            return run.stdout.split()

        self.assertEqual(completed("insp"), ["inspect"])
        self.assertIn("--math", completed("run", "--m"))
        self.assertEqual(completed("run", "--math", "bf"), ["bf16", "bf16x3"])
        self.assertEqual(completed("run", "mod"), ["model.onnx"])
        self.assertIn("tcsh", self.quern("--completion", "tcsh", code=2).stderr)

    def test_other_shells_accept_their_completion(self):
        for shell in filter(shutil.which, ("zsh", "fish")):
            script = self.write(f"completion.{shell}", self.quern("--completion", shell).stdout.encode())
            done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def test_usage_errors(self):
        self.assertIn("Usage", self.quern(code=2).stderr)
        self.assertIn("no verb", self.quern("rnu", code=2).stderr)
        self.assertIn("--help", self.quern("run", code=2).stderr)
        self.assertIn("no such", self.quern("run", self.folder / "none.onnx", code=2).stderr.lower())
        self.assertEqual(self.json("run", self.folder / "none.onnx", code=2)["exit_code"], 2)

    def test_no_colours_in_a_pipe(self):
        self.assertNotIn("\x1b", self.quern("devices", environment={"TERM": "xterm"}).stdout)


class Run(Cli):
    def test_generated_inputs(self):
        done = self.quern("run", self.write("m.onnx", add_relu()))
        self.assertIn("'x' is generated", done.stderr)
        self.assertIn("f32[2,3]", done.stdout)
        self.assertIn("load ", done.stdout)

    def test_files_in_and_out(self):
        path = self.write("m.onnx", add_relu())
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
        data = struct.pack("<6f", -1, 0, 1, 2, 3, 4)
        x = self.write("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
        expected = struct.pack("<6f", 0, 0, 2, 1, 3, 5)
        self.quern("run", path, "--input", f"x={x}", "--out", self.folder / "o")
        self.assertIn(expected, (self.folder / "o/output_0.pb").read_bytes())
        self.quern("run", path, "--input", x, "--out", self.folder / "o", "--format", "npy")
        self.assertTrue((self.folder / "o/output_0.npy").read_bytes().endswith(expected))
        raw = self.write("x.bin", data)
        j = self.json("run", path, "--input", f"x={raw}", "--device", "reference")
        self.assertEqual(j["outputs"][0]["tensors"][0]["max"], 5)

    def test_inputs_that_do_not_fit(self):
        path = self.write("m.onnx", add_relu())
        self.assertIn("x", self.quern("run", path, "--input", "z=ones", code=2).stderr)
        self.assertIn("f32[5]", self.quern("run", path, "--input", "ones", "--shape", "5", code=2).stderr)
        self.assertIn("output", self.quern("run", path, "--outputs", "nope", code=2).stderr)

    def test_free_dimensions(self):
        path = self.write("m.onnx", add_relu(("batch", 3)))
        self.assertIn("f32[7,3]", self.quern("run", path, "--dim", "batch=7").stdout)
        self.assertIn("f32[4,3]", self.quern("run", path, "--shape", "x=4x3").stdout)
        self.assertIn("batch", self.quern("run", path, "--dim", "n=7", code=2).stderr)

    def test_output_that_is_lost(self):
        path = self.write("m.onnx", add_relu())
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([QUERN, "run", path], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written", done.stderr)

    def test_files_are_whole_or_as_they_were(self):
        path = self.write("m.onnx", add_relu())
        old = self.write("old.html", "old")
        link = self.folder / "link.html"
        link.symlink_to(old)
        self.quern("profile", path, "--html", link, "--runs", 1)
        self.assertTrue(link.is_symlink())
        self.assertIn("<html", pathlib.Path(old).read_text().lower())
        self.assertIn("cannot write", self.quern("profile", path, "--html", self.folder / "none" / "p.html",
                                                 "--runs", 1, code=2).stderr)
        self.assertIn("<html", self.quern("profile", path, "--html", "/dev/stdout", "--runs", 1).stdout.lower())
        self.assertEqual([p.name for p in self.folder.iterdir() if ".part" in p.name], [])

    def test_limits(self):
        path = self.write("m.onnx", add_relu())
        self.quern("run", path, "--memory-limit", "64MB", "--time-limit", "60")
        self.assertIn("memory budget", self.quern("run", path, "--memory-limit", "16", code=1).stderr)
        self.assertIn("256MB", self.quern("run", path, "--memory-limit", "much", code=2).stderr)
        large = self.write("large.onnx", add_relu((4000, 4000, 3)))
        for limits in (["--memory-limit", "64MB"], ["--memory-limit", "64MB", "--input", "x=zeros"]):
            error = self.quern("plan", large, *limits, code=1).stderr
            self.assertIn("takes 192000000 bytes, 64000000 are left of 64000000 for generated inputs", error)
        error = self.quern("run", self.write("larger.onnx", add_relu((40000, 40000, 3))), code=1).stderr
        self.assertIn("takes 19200000000 bytes, 4294967296 are left", error)
        late = self.quern("run", path, "--time-limit", "0.000001", code=1).stderr
        self.assertIn("m.onnx: the deadline has passed", late)  # while it was read

    def test_picture_and_labels(self):
        path = self.write("m.onnx", classifier(metadata=[("labels", "red,green,blue"), ("quern.input.range", "0..255")]))
        picture = self.write("p.png", png(8, 6, [250, 10, 5]))
        text = self.quern("run", path, "--image", picture, "--top", 2).stdout
        self.assertIn("softmax applied", text)
        self.assertRegex(text, r"1\s+100.0 %\s+red")
        bgr = self.json("run", path, "--image", picture, "--top", 1, "--order", "bgr")
        self.assertEqual(bgr["top"][0]["label"], "blue")
        self.assertIn("class scores", self.quern("run", self.write("n.onnx", model(
            [node("Relu", ["x"], ["y"])], [value_info("x", [2, 3, 4])], [value_info("y", [2, 3, 4])])), "--top", 1, code=2).stderr)

    def test_device_and_refused_models(self):
        path = self.write("m.onnx", add_relu())
        self.assertIn("quern devices", self.quern("run", path, "--device", "warp", code=4).stderr)
        self.assertIn("not", self.quern("run", self.write("text.onnx", "hello"), code=3).stderr)
        broken = self.write("b.onnx", model([node("Frobnicate", ["x"], ["y"])], [value_info("x", [1])], [value_info("y", [1])]))
        self.assertIn("quern inspect", self.quern("run", broken, code=3).stderr)


class Verify(Cli):
    good = [0, 0, 2, 1, 3, 5]

    def test_counts_and_worst_element(self):
        self.case("all/a", add_relu(), self.good, sets=2)
        self.case("all/b", add_relu(), [0, 0, 2, 1, 9, 5])
        done = self.quern("verify", self.folder / "all", "--threads", "1,2", code=1)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 1 failed, 0 skipped")
        self.assertRegex(done.stdout, r"ok\s+a ")
        self.assertRegex(done.stdout, r"FAIL\s+b .*at \[1,1\] got 3, wanted 9")
        only = self.quern("verify", self.folder / "all", "--filter", "a")
        self.assertEqual(only.stdout.splitlines()[-1], "1 passed, 0 failed, 0 skipped")

    def test_gaps_only_shrink(self):
        self.case("all/a", add_relu(), self.good)
        self.case("all/b", add_relu(), [9] * 6)
        gaps = self.folder / "gaps.txt"
        self.quern("verify", self.folder / "all", "--gaps", gaps, "--update-gaps", code=1)
        self.assertIn("b\t", gaps.read_text())
        done = self.quern("verify", self.folder / "all", "--gaps", gaps)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 1 skipped")
        gaps.write_text(gaps.read_text() + "a\tnot done yet\n")
        done = self.quern("verify", self.folder / "all", "--gaps", gaps, code=1)
        self.assertIn("remove it from the list", done.stdout)
        self.quern("verify", self.folder / "all", "--gaps", gaps, "--update-gaps")
        self.assertNotIn("a\t", gaps.read_text())

    def test_index_says_how_close(self):
        self.case("all/a", add_relu(), [0, 0, 2, 1, 3, 5.5])
        self.quern("verify", self.folder / "all", code=1)
        entry = {"name": "a", "criterion": "elementwise", "sets": [{"outputs": [{"rtol": 0, "tol_abs": 0.6}]}]}
        self.write("all/index.json", json.dumps({"models": [entry]}))
        self.quern("verify", self.folder / "all")

    def test_dresses(self):
        self.case("all/a", add_relu(), [0, 0, 2, 1, 3, 5])
        self.case("all/b", add_relu(), [0, 0, 2, 1, 3, 6])
        done = self.quern("verify", self.folder / "all/a", "--dress", "all", "--threads", "1,2")
        self.assertIn("1 passed, 0 failed", done.stdout)
        # A case that fails as it is is not dressed.
        done = self.quern("verify", self.folder / "all", "--dress", "handed-out", code=1)
        self.assertIn("1 passed, 1 failed", done.stdout)
        self.assertNotIn("dressed", done.stdout)
        self.assertIn("handed-out", self.quern("verify", self.folder / "all", "--dress", "no", code=2).stderr)
        self.assertIn("stepped-out", self.quern("verify", "--help").stdout)

    def test_against(self):
        m = self.write("m/model.onnx", model(
            [node("Add", ["x", "c"], ["s"]), node("Exp", ["s"], ["e"]), node("Tanh", ["e"], ["y"])],
            [value_info("x", [2, 300])], [value_info("y", [2, 300])], [tensor("c", [1], [-1])]))
        done = self.quern("verify", m, "--against", "reference", "--seed", "3")
        self.assertIn("cpu against reference, generated inputs, seed 3", done.stdout)
        self.assertIn("3 values agree", done.stdout)
        # Held to the last bit, a kernel for vectors and the plain one part.
        exact = ("--rtol", "0", "--atol", "0", "--mtol", "0")
        part = self.folder / "part"
        done = self.quern("verify", m, "--against", "reference", *exact, "--bisect", "--write", part, code=1)
        self.assertIn("node 2 of 3: 'n_Exp' (Exp)", done.stdout)
        self.assertIn("this node by itself shows it", done.stdout)
        self.assertIn("kernel ", done.stdout)
        j = self.json("verify", m, "--against", "reference", *exact, "--bisect", code=1)
        self.assertFalse(j["agree"])
        first = j["data_sets"][0]["first"]
        self.assertEqual((first["name"], first["difference"]["value"]), ("n_Exp", "e"))
        self.assertEqual([n["op"] for n in j["data_sets"][0]["bisect"]["nodes"]], ["Exp"])
        # The written folder is a case, and its expected outputs are the reference's.
        self.assertIn("1 passed", self.quern("verify", part, "--device", "reference").stdout)

    def test_against_with_data_sets(self):
        self.case("a", add_relu(), [0, 0, 0, 0, 0, 0], sets=2)
        done = self.quern("verify", self.folder / "a", "--against", "reference")
        self.assertIn("test_data_set_1", done.stdout)
        self.quern("verify", self.folder / "a", self.folder / "a", "--against", "reference", code=2)
        self.quern("verify", self.folder / "a", "--against", "reference", "--write", "x", code=2)
        self.quern("verify", self.folder / "a", "--against", "warp", code=4)

    def test_nothing_to_do(self):
        self.quern("verify", self.folder, code=2)
        self.write("c/model.onnx", add_relu())
        self.assertIn("0 passed, 0 failed, 1 skipped", self.quern("verify", self.folder / "c").stdout)
        self.quern("verify", self.folder / "c", "--device", "warp", code=4)

    def test_random_models(self):
        done = self.quern("verify", "--random", "3", "--seed", "5", "--device", "reference")
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 0 failed, 0 skipped")
        self.assertRegex(done.stdout, r"the oracle judged \d+ of \d+ rounded elements \(\d+\.\d\d %\)")
        j = self.json("verify", "--random", "2", "--nodes", "3..5", "--device", "reference")
        self.assertEqual((j["summary"], len(j["models"])), ("2 passed, 0 failed, 0 skipped", 2))
        self.assertGreater(j["oracle"]["judged"], 0)
        self.assertLessEqual(j["oracle"]["judged"], j["oracle"]["elements"])
        self.quern("verify", code=2)
        self.quern("verify", self.folder, "--random", "1", code=2)
        self.quern("verify", "--random", "1", "--nodes", "9..3", code=2)
        self.assertIn("there is", self.quern("verify", "--random", "1", "--levers", "warp=on", code=2).stderr)

    def test_levers_of_cases(self):
        self.case("all/a", add_relu(), self.good)
        levers = "onednn=off,simd=baseline,order=off,alias=off,optimize=off,threads=2"
        self.quern("verify", self.folder / "all", "--levers", levers)
        for kind in ("sealed", "portable"):
            self.quern("verify", self.folder / "all", "--levers", f"artefact={kind}")
        self.quern("verify", self.folder / "all", "--levers", "order=maybe", code=2)

    def test_broken_model_is_a_failure(self):
        self.case("all/a", b"junk", self.good)
        j = self.json("verify", self.folder / "all", code=1)
        self.assertEqual((j["passed"], j["failed"]), (0, 1))

    @unittest.skipUnless(ONNX_DATA.is_dir(), "needs libonnx-testdata")
    def test_onnx_data(self):
        done = self.quern("verify", ONNX_DATA / "node", "--filter", "test_add*")
        self.assertRegex(done.stdout, r"\d+ passed, 0 failed, 0 skipped\n$")


class Other(Cli):
    def test_inspect(self):
        path = self.write("m.onnx", add_relu(("batch", 3)))
        text = self.quern("inspect", path).stdout
        self.assertIn("f32[batch,3]", text)
        self.assertIn("Binary.add", text)
        j = self.json("inspect", path, "--plan", "--dim", "batch=2")
        self.assertEqual(j["parameters"], 3)
        self.assertTrue(j["plan"]["steps"])
        memory = j["plan"]["memory"]
        self.assertEqual(memory["total"], memory["weights"] + memory["arena"] + memory["staging"] + memory["pool"])
        self.assertTrue(memory["is_complete"])
        self.assertIn("a session holds at most", self.quern("inspect", path, "--plan", "--dim", "batch=2").stdout)
        self.assertIn("Relu", self.quern("inspect", path, "--text").stdout + "Relu")

    def test_inspect_lists_all_problems(self):
        path = self.write("m.onnx", model([node("Frobnicate", ["x"], ["a"]), node("Mangle", ["a"], ["y"])],
                                          [value_info("x", [1])], [value_info("y", [1])]))
        text = self.quern("inspect", path, code=3).stdout
        self.assertIn("Frobnicate", text)
        self.assertIn("Mangle", text)

    def test_operators_are_documented(self):
        text = self.quern("inspect", "--operators").stdout
        committed = (SOURCE / "docs/operators.md").read_text()
        self.assertEqual(text, committed, "run: quern inspect --operators > docs/operators.md")

    def test_bench(self):
        path = self.write("m.onnx", add_relu())
        before = self.write("before.json", self.quern("bench", path, "--runs", 5, "--json").stdout)
        j = json.loads(pathlib.Path(before).read_text())
        self.assertEqual(j["benchmarks"][0]["iterations"], 5)
        self.assertGreater(j["context"]["roof_gflops"], 0)
        text = self.quern("bench", path, "--runs", 5, "--compare", before).stdout
        self.assertIn("run, median", text)
        cold = self.json("bench", path, "--cold", "--runs", 2)
        self.assertGreater(cold["benchmarks"][0]["total_ms"], 0)
        self.assertNotIn("empty_caches", cold["benchmarks"][0])
        if any(d["kind"] == "gpu" for d in self.json("devices")["devices"]):
            cold = self.json("bench", path, "--cold", "--runs", 1, "--device", "vulkan")
            self.assertGreater(cold["benchmarks"][0]["empty_caches"]["plan_ms"], 0)
        self.quern("bench", path, "--runs", 1, "--compare", self.write("x.json", "{}"), code=2)

    def test_compile(self):
        path = self.write("m.onnx", add_relu())
        out = self.folder / "m.quern"
        made = self.json("compile", path, "-o", out)
        self.assertEqual((made["plans"], made["bytes"]), (1, out.stat().st_size))
        answers = [self.json("run", file)["outputs"] for file in (path, out)]
        self.assertEqual(*answers)
        self.assertGreater(self.json("bench", out, "--runs", 2)["benchmarks"][0]["iterations"], 0)
        self.assertIn("Binary", self.quern("inspect", out, "--plan").stdout)
        self.assertIn("graph", self.quern("inspect", out, "--text").stdout)
        self.assertIn("--math is decided by", self.quern("run", out, "--math", "bf16", code=2).stderr)
        self.assertIn("compiled already", self.quern("compile", out, code=2).stderr)
        self.assertIn("device cpu, here reference", self.quern("run", out, "-d", "reference", code=3).stderr)
        whole = out.read_bytes()
        out.write_bytes(whole[:-1])
        self.assertIn("truncated or changed", self.quern("run", out, code=3).stderr)

    def test_quantize(self):
        digits = str(SOURCE / "examples/digits")
        path, out = f"{digits}/digits.onnx", self.folder / "digits.int8.onnx"
        made = self.json("quantize", path, "--data", digits, "-o", out)
        self.assertGreater(made["samples"], 10)
        self.assertLess(made["bytes"], 0.5 * made["bytes_before"])
        scores = made["outputs"][0]
        self.assertGreater(scores["cosine"], 0.99)
        self.assertGreaterEqual(scores["same_class"], scores["rows"] - 1)
        self.assertIn("u8", self.quern("inspect", out, "--text").stdout)
        self.assertIn("--data", self.quern("quantize", path, code=2).stderr)
        self.assertIn("no node", self.quern("quantize", path, "--data", digits, "--keep", "x", code=2).stderr)
        self.json("quantize", path, "--weights-only", "--bits", "4", "-o", out)
        self.assertIn("--bits", self.quern("quantize", path, "--weights-only", "--bits", "5", code=2).stderr)

    def test_diff(self):
        def write(name, nodes, weights, rank=3, **more):
            return self.write(name, model(nodes, [value_info("x", [1, rank])], [value_info("y", [1, rank])],
                                          [tensor("w", [len(weights)], weights)], **more))
        concat = [node("Add", ["x", "w"], ["a"]), node("Softmax", ["a"], ["y"], axis=1)]
        a = write("a.onnx", concat, [1, 2, 3], metadata=[("key", "one")])
        same = self.quern("diff", a, a).stdout
        self.assertIn("2 nodes and 1 constants are equal", same)
        b = write("b.onnx", [node("Add", ["x", "w"], ["a"]), node("Softmax", ["a"], ["y"], axis=0)], [1, 2, 5], opset=17,
                  metadata=[("key", "two")])
        found = json.loads(self.quern("diff", a, b, "--json", code=1).stdout)
        rows = {(r["part"], r["name"], r["what"]): r for r in found["differences"]}
        self.assertEqual(set(rows), {("opset", "ai.onnx", "version"), ("metadata", "key", "value"), ("constant", "w", "values"),
                                     ("node", "n_Softmax", "attribute axis")})
        values = rows["constant", "w", "values"]
        self.assertEqual(values["max_difference"], 2)
        self.assertAlmostEqual(values["mean_difference"], 2 / 3)
        self.assertEqual([rows["node", "n_Softmax", "attribute axis"][k] for k in "ab"], ["1", "0"])
        # Another name for what lies between, and a node more.
        c = write("c.onnx", [node("Add", ["x", "w"], ["other"]), node("Softmax", ["other"], ["s"], axis=1),
                             node("Neg", ["s"], ["y"])], [1, 2, 3], metadata=[("key", "one")])
        found = json.loads(self.quern("diff", a, c, "--json", code=1).stdout)
        self.assertEqual([(r["part"], r["name"], r["what"]) for r in found["differences"]], [("node", "n_Neg", "only in B")])
        self.assertIn("wants two models", self.quern("diff", a, code=2).stderr)
        broken = self.folder / "broken.onnx"
        broken.write_bytes(pathlib.Path(a).read_bytes()[:-30])
        self.quern("diff", a, broken, code=3)

    def test_optimize(self):
        path = self.write("net.onnx", model(
            [node("Identity", ["x"], ["a"]), node("Exp", ["a"], ["b"]), node("Exp", ["x"], ["c"]), node("Mul", ["b", "c"], ["y"])],
            [value_info("x", ["batch", 3])], [value_info("y", ["batch", 3])], metadata=[("key", "kept")]))
        out = self.folder / "small.onnx"
        made = self.json("optimize", path, "-o", out)
        self.assertEqual((made["nodes_before"], made["nodes"]), (4, 2))
        self.assertEqual(made["operators"], {"Exp": 1, "Mul": 1})
        self.assertEqual(made["outputs"], [{"name": "y", "max_difference": 0}])
        self.assertEqual(self.json("inspect", out)["metadata"], {"key": "kept"})
        fates = [(n["name"], n["operator"], n["fate"], n.get("into")) for n in made["by_node"]]
        self.assertEqual(fates, [("n_Identity", "Identity", "replaced", "x"), ("n_Exp", "Exp", "kept", None),
                                 ("n_Exp", "Exp", "replaced", "b"), ("n_Mul", "Mul", "kept", None)])
        self.assertIn("replaced by x", self.quern("optimize", path, "-o", out, "--by-node").stdout)
        self.assertEqual(self.json("optimize", path, "-o", out, "--opset", "21")["opset"], 21)
        self.assertEqual(self.json("inspect", out)["opsets"], {"ai.onnx": 21})
        self.assertIn("opset 999 is not known", self.quern("optimize", path, "-o", out, "--opset", "999", code=2).stderr)
        self.quern("optimize", path, "-o", out, "--dim", "batch=4", "--level", "basic")
        self.assertEqual([self.json("inspect", out)[k][0]["dims"] for k in ("inputs", "outputs")], [[4, 3], [4, 3]])
        self.assertIn("'batch'", self.quern("optimize", path, "-o", out, "--dim", "bath=4", code=2).stderr)
        self.quern("optimize", path, "--level", "most", code=2)
        self.assertIn("did you mean '--level'?", self.quern("optimize", path, "--levl", "basic", code=2).stderr)
        self.assertIn("did you mean 'optimize'?", self.quern("optimise", path, code=2).stderr)
        self.assertIn("no pass 'fold_constant' at this level; did you mean 'fold_constants'?",
                      self.quern("optimize", path, "--skip", "fold_constant", code=2).stderr)
        self.quern("optimize", path, "-o", self.folder / "none/small.onnx", code=2)
        broken = self.folder / "broken.onnx"
        broken.write_bytes(pathlib.Path(path).read_bytes()[:-40])
        self.quern("optimize", broken, "-o", out, code=3)

    def test_compile_for_dimensions(self):
        path = self.write("free.onnx", model([node("Relu", ["x"], ["y"])], [value_info("x", ["batch", 3])],
                                             [value_info("y", ["batch", 3])]))
        out = self.folder / "free.quern"
        self.assertEqual(self.json("compile", path, "-o", out)["portable"], True)
        self.assertEqual(self.json("compile", path, "-o", out, "--dim", "batch=1,8")["plans"], 2)
        self.quern("run", out, "--dim", "batch=8")
        self.assertIn("x f32[1,3]; x f32[8,3]", self.quern("run", out, "--dim", "batch=2", code=3).stderr)
        self.quern("compile", path, "-o", out, "--dim", "batch=1,8", "--portable")
        self.quern("run", out, "--dim", "batch=2")

    def test_bench_inflight(self):
        digits = SOURCE / "examples/digits/digits.onnx"
        together, apart, one = self.json("bench", digits, "--inflight", 2, "--runs", 3, "-t", 1)["benchmarks"]
        self.assertTrue(together["name"].endswith("/t1/inflight2"), together["name"])
        self.assertEqual(apart["arena_bytes"], 2 * one["arena_bytes"])
        self.assertLess(together["arena_bytes"], apart["arena_bytes"])
        for row in (together, apart, one):
            self.assertGreater(row["runs_per_second"], 0)
        text = self.quern("bench", digits, "--inflight", 3, "--time", 0.05).stdout
        self.assertIn("3 in one arena", text)
        self.quern("bench", digits, "--inflight", 2, "--cold", code=2)
        self.quern("bench", digits, "--inflight", 17, code=2)

    def test_guessed_dimensions(self):
        # Two lengths, and what holds both: no single number for all three fits.
        free = [value_info(n, [1, n + "_len"]) for n in ("past", "now", "both")]
        path = self.write("m.onnx", model([node("Concat", ["past", "now"], ["c"], axis=1), node("Add", ["c", "both"], ["y"])],
                                          free, [value_info("y", [1, "y_len"])]))
        self.assertIn("both f32[1,32]", self.quern("bench", path, "--runs", 1).stdout.replace("  ", " "))
        self.json("plan", path, "--dim", "now_len=3")
        failed = self.quern("plan", path, "--dim", "now_len=3", "--dim", "both_len=5", code=3).stderr
        self.assertIn("past_len=16, which are guesses: --dim decides", failed)
        # A name is one number wherever it appears, also where one input is given.
        path = self.write("n.onnx", model([node("MatMul", ["a", "b"], ["y"])],
                                          [value_info("a", ["m", "k"]), value_info("b", ["k", "n"])],
                                          [value_info("y", ["m", "n"])]))
        self.quern("run", path)
        self.quern("run", path, "--input", "b=ones", "--shape", "b=5x2")

    def test_profile(self):
        path = self.write("m.onnx", add_relu())
        trace, page = self.folder / "t.json", self.folder / "p.html"
        text = self.quern("profile", path, "--runs", 3, "--trace", trace, "--html", page).stdout
        self.assertIn("kernels", text)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertTrue(any(e["ph"] == "X" for e in events))
        html = page.read_text()
        self.assertIn("<svg", html)
        for outside in ("src=", "href=", "@import", "fetch("):
            self.assertNotIn(outside, html)
        j = self.json("profile", path, "--runs", 2)
        self.assertEqual({s["lane"] for s in j["steps"]}, {"host"})
        self.assertGreater(j["steps"][0]["roof_share"], 0)
        if any(d["kind"] == "gpu" for d in self.json("devices")["devices"]):
            j = self.json("profile", path, "--runs", 2, "--device", "vulkan", "--trace", trace)
            self.assertEqual([s["lane"] for s in j["steps"]], ["upload", "device", "download"])
            self.assertGreater(j["lanes_ms"]["device"], 0)
            self.assertGreater(j["roof"]["gflops_per_second"], 0)
            self.assertGreater(j["roof"]["copy_gbytes_per_second"], 0)
            events = json.loads(trace.read_text())["traceEvents"]
            named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
            shown = [named[e["tid"]] for e in events if e["ph"] == "X"]
            self.assertEqual(shown, ["upload", "device", "download"])

    def test_plan(self):
        path = self.write("m.onnx", add_relu())
        self.assertIn("greedy-by-size", self.quern("plan", path).stdout)
        j = self.json("plan", path, "--strategy", "none")
        self.assertEqual(len(j["strategies"]), 1)
        self.assertIn("greedy-by-size", self.quern("plan", path, "--strategy", "nope", code=2).stderr)

    def test_traces_and_pools(self):
        path, trace = self.write("m.onnx", add_relu(("batch", 3))), self.folder / "trace.csv"
        for n in (2, 5, 2):
            self.assertIn("trace.csv", self.quern("run", path, "--dim", f"batch={n}", "--record-trace", trace).stderr)
        self.json("bench", path, "--runs", 1, "--dim", "batch=3", "--record-trace", trace)
        lines = trace.read_text().splitlines()
        self.assertEqual(lines[0], "run,event,id,bytes,alignment")
        self.assertEqual(sorted({line.split(",")[0] for line in lines[1:]}), ["0", "1", "2", "3"])
        text = self.quern("plan", trace).stdout
        self.assertIn("4 runs, 3 different", text)
        table = [line for line in text.splitlines() if " x " in line]
        self.assertEqual(len({line.index(" x ") for line in table}), 1, "columns line up")
        j = self.json("plan", trace, "--pools", "all")
        self.assertEqual([p["completed"] for p in j["pools"]], [True] * len(table))
        self.assertEqual(j["pools"][0]["pool"], "best-fit-arena")
        self.assertGreaterEqual(j["pools"][0]["peak_reserved"], j["static_bytes"])
        self.assertEqual(len(self.json("plan", trace, "--pools", "bfc")["pools"]), 1)
        self.quern("plan", trace, "--pools", "best-fit-arena", "--assert-peak", "100000")
        self.assertIn("wanted at most 9", self.quern("plan", trace, "--assert-peak", 9, code=1).stderr)
        self.assertIn("stopped at event", self.quern("plan", trace, "--capacity", 9, code=1).stdout)
        self.assertEqual(self.json("plan", path, "--pools", "tlsf", "--dim", "batch=2")["runs"], 1)

    def test_faults_of_traces_and_pools(self):
        path, trace = self.write("m.onnx", add_relu()), self.write("t.csv", "run,event,id,bytes\n0,alloc,1,x\n")
        self.assertIn("trace line 2", self.quern("plan", trace, code=2).stderr)
        self.assertIn("trace line 2", self.quern("run", path, "--record-trace", trace, code=2).stderr)
        other = self.write("other.csv", "hello\n")
        self.assertIn("is no trace", self.quern("run", path, "--record-trace", other, code=2).stderr)
        self.assertEqual(pathlib.Path(other).read_text(), "hello\n")
        self.assertIn("best-fit-arena:", self.quern("plan", trace, "--pools", "nope", code=2).stderr)
        self.assertIn("power of two", self.quern("plan", trace, "--page", "100", code=2).stderr)
        self.assertIn("best-fit-arena, best-fit-arena-kept, bfc", self.quern("run", path, "--pool", "nope", code=2).stderr)
        self.quern("run", path, "--record-trace", self.folder / "none" / "t.csv", code=2)

    def test_plan_of_lifetimes_by_shape(self):
        lives = self.write("lives.csv", "seq,id,lower,upper,size\n8,a,0,2,64\n8,b,1,3,64\n9,a,0,2,128\n9,b,1,3,64\n")
        runs = self.write("runs.csv", "run,seq\n0,8\n1,9\n2,8\n")
        j = self.json("plan", lives, "--runs", runs)
        self.assertEqual((j["runs"], j["static_plans"], j["static_bytes"]), (3, 2, 192))
        unknown = self.write("unknown.csv", "run,seq\n0,7\n")
        self.assertIn("runs line 2", self.quern("plan", lives, "--runs", unknown, code=2).stderr)

    def test_plan_of_csv(self):
        path = self.write("buffers.csv", b"id,lower,upper,size\na,0,2,8\nb,1,3,8\nc&<,2,4,8\n")
        out = {k: str(self.folder / ("plan." + k)) for k in ("svg", "html", "csv")}
        j = self.json("plan", path, "--time-limit", "0.1", "--svg", out["svg"], "--html", out["html"],
                      "--csv", out["csv"])
        self.assertEqual(j["lower_bound"], 16)
        self.assertEqual(j["peak"]["bytes"], 16)
        by_name = {s["strategy"]: s for s in j["strategies"]}
        self.assertEqual(by_name["auto"]["status"], "optimal")
        self.assertEqual(by_name["none"]["arena_bytes"], 24)
        text = {k: pathlib.Path(p).read_text() for k, p in out.items()}
        self.assertTrue(text["csv"].startswith("id,lower,upper,size,offset\n"))
        self.assertIn("c&amp;&lt;: 8 bytes", text["svg"])
        for picture in (text["svg"], text["html"]):
            for outside in ("src=", "href=", "@import", "fetch("):
                self.assertNotIn(outside, picture)
        self.quern("plan", path, "--assert-peak", "16")
        self.assertIn("wanted at most 15", self.quern("plan", path, "--assert-peak", "15", code=1).stderr)
        self.assertIn("infeasible", self.quern("plan", path, "--capacity", "15", code=1).stdout)
        broken = self.write("broken.csv", b"id,lower,upper,size\na,2,1,8\n")
        self.assertIn("line 2", self.quern("plan", broken, code=2).stderr)

    def program(self, name, text):
        path = self.write(name, text.encode())
        pathlib.Path(path).chmod(0o755)
        return "exec:" + str(path)

    def test_plan_by_a_program(self):
        path = self.write("buffers.csv", b"id,lower,upper,size,alignment\na,0,2,8,4\nb,1,3,9,16\nc,2,4,8,1\n")
        mine = "exec:" + str(SOURCE / "examples/planning/first_fit.py")
        rows = self.json("plan", path, "--strategy", "auto," + mine)["strategies"]
        self.assertEqual([r["strategy"] for r in rows], ["auto", mine])
        self.assertEqual(rows[1]["arena_bytes"], 20)
        head = "#!/bin/sh\ncat > /dev/null\n"
        faults = {
            "echo id,lower,upper,size,offset; echo 0,0,2,8,0; echo 1,1,3,9,0; echo 2,2,4,8,0": "overlap",
            "echo id,lower,upper,size,offset; echo 0,0,2,8,0": "no buffer 1",
            "echo id,lower,upper,size; echo 0,0,2,8; echo 1,1,3,9; echo 2,2,4,8": "no offset for buffer 0",
            "echo id,lower,upper,size,offset; echo 7,0,2,8,0": "was not asked for",
            "echo id,lower,upper,size,offset; echo 0,0,2,8,x": "line 2",
            "exit 3": "exit code 3",
            "kill -SEGV $$": "ended by",
            "yes": "longer than",
            "exec sleep 60": "its time is over",
        }
        for script, sentence in faults.items():
            done = self.quern("plan", path, "--time-limit", "0.1", "--strategy",
                              self.program("mine.sh", head + script), code=None)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(sentence, done.stderr)
        self.assertIn("could not be started", self.quern("plan", path, "--strategy", "exec:/none", code=2).stderr)
        # No shell sees the words.
        marker = self.folder / "marker"
        self.quern("plan", path, "--strategy", f"exec:/none;touch {marker}", code=2)
        self.assertFalse(marker.exists())

    def test_plan_by_a_shared_object(self):
        path = self.write("buffers.csv", b"id,lower,upper,size\na,0,2,8\nb,1,3,9\nc,2,4,8\n")
        compiler = shutil.which("cc")
        if not compiler:
            self.skipTest("no C compiler")
        library = self.folder / "first_fit.so"

        def build(code):
            subprocess.run([compiler, "-shared", "-fPIC", "-std=c99", "-I", str(SOURCE / "engine/include"), code,
                            "-o", str(library)], check=True)

        build(str(SOURCE / "examples/planning/first_fit.c"))
        row = self.json("plan", path, "--strategy", f"so:{library}")["strategies"][0]
        self.assertEqual(row["arena_bytes"], 17)
        head = "#include <quern/c/strategy.h>\nint quern_plan(const quern_plan_buffer* b, size_t n, " \
               "uint64_t c, double s, uint64_t* o) { (void)b; (void)n; (void)c; (void)s; (void)o; "
        faults = {"*(volatile int*)0 = 0; return 0; }": "SIGSEGV", "for (;;) {} }": "its time is over",
                  "return 5; }": "returned 5", "o[0] = o[1] = o[2] = 0; return 0; }": "overlap"}
        for body, sentence in faults.items():
            build(str(self.write("bad.c", (head + body).encode())))
            done = self.quern("plan", path, "--time-limit", "0.1", "--strategy", f"so:{library}", code=None)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(sentence, done.stderr)
        self.assertIn("cannot be loaded", self.quern("plan", path, "--strategy", "so:/none.so", code=2).stderr)

    def test_plan_over_banks(self):
        svg, plan = str(self.folder / "banks.svg"), str(self.folder / "banks.csv")
        banks = "--bank", "sram=30000:1:50", "--bank", "psram=any:4"
        text = self.quern("plan", "planted:60:1", *banks, "--svg", svg, "--csv", plan).stdout
        self.assertIn("greedy-by-size", text)
        self.assertIn("bank sram: 30.0 kB, cost 1 a byte, 50 a buffer that is reused", text)
        with open(svg) as f:
            drawn = f.read()
        self.assertIn("bank sram", drawn)
        self.assertIn("bank psram", drawn)
        best = self.json("plan", plan, "--strategy", "greedy-by-size")["strategies"][0]  # each at its place
        j = self.json("plan", "planted:60:1", *banks, "--strategy", "auto")["strategies"][0]
        self.assertEqual((j["cost"], j["arena_bytes"]), (best["cost"], best["arena_bytes"]))
        self.assertEqual(j["arena_bytes"], sum(b["bytes"] for b in j["banks"]))
        self.assertLessEqual(j["banks"][0]["bytes"], 30000)
        self.quern("plan", "planted:60:1", *banks, "--assert-peak", 1000000)
        self.assertIn("wanted at most 9", self.quern("plan", "planted:60:1", *banks, "--assert-peak", 9, code=1).stderr)
        self.assertIn("no plan fits the banks", self.quern("plan", "planted:60:1", "--bank", "a=3", code=1).stderr)
        for wrong in ("a", "a=", "=3", "a=1:2:3:4", "a=1:-1"):
            self.assertIn("wanted NAME=BYTES", self.quern("plan", "planted:9:1", "--bank", wrong, code=2).stderr)
        for more in (("--capacity", 9), ("--inflight", 2), ("--bank", "a=1")):
            self.quern("plan", "planted:9:1", "--bank", "a=any", *more, code=2)
        refused = self.quern("plan", "planted:9:1", "--bank", "a=any", "--strategy", "so:./none.so", code=3).stderr
        self.assertIn("knows no banks", refused)
        echo = self.write("echo.py", b"import sys\nfor line in sys.stdin.read().split('\\n\\n'): print(line, end='\\n\\n')\n")
        said = self.quern("plan", "planted:9:1", "--bank", "a=any", "--strategy", f"exec:python3 {echo}", code=2).stderr
        self.assertIn("no offset for buffer 0", said)
        stack = self.write("stack.py", b"""import csv, sys
banks, buffers = sys.stdin.read().split('\\n\\n')
print(banks + '\\n\\nid,lower,upper,size,bank,offset')
at = 0
for row in csv.DictReader(buffers.split('\\n')):
    print(row['id'], row['lower'], row['upper'], row['size'], 'b', at, sep=',')
    at += int(row['size'])
""")
        j = self.json("plan", "planted:9:1", "--bank", "a=any", "--bank", "b=any:2", "--strategy", f"exec:python3 {stack}")
        self.assertEqual(j["strategies"][0]["cost"], 2 * j["strategies"][0]["arena_bytes"])

    def test_plan_of_a_planted_problem(self):
        one, two = str(self.folder / "one.csv"), str(self.folder / "two.csv")
        j = self.json("plan", "planted:60:3:0.1", "--problem", one)
        self.json("plan", "planted:60:3:0.1", "--strategy", "none", "--problem", two)
        self.assertEqual(pathlib.Path(one).read_text(), pathlib.Path(two).read_text())
        self.assertEqual(j["lower_bound"], 65536)
        self.assertEqual(self.json("plan", one, "--strategy", "none")["lower_bound"], 65536)
        for wrong in ("planted:", "planted:0:1", "planted:10", "planted:10:1:2", "planted:x:1", "planted:9:1:0:0"):
            self.assertIn("wanted planted", self.quern("plan", wrong, code=2).stderr)

    def test_plan_tells_scratch_apart(self):
        path = self.write("b.csv", b"id,lower,upper,size\na,0,2,8\nscratch of k,1,2,5\nb,1,3,8\n")
        j = self.json("plan", path, "--strategy", "auto")
        self.assertEqual((j["lower_bound"], j["bound_without_scratch"]), (21, 16))
        self.assertIn("(16 B without the scratch of kernels)", self.quern("plan", path).stdout)

    def test_plan_levers(self):
        path = self.write("m.onnx", add_relu())
        for words in (["--order", "off"], ["--alias", "off"], ["--scratch", "off"], ["--stripes", "off"],
                      ["--inflight", "2"], ["--device", "page"]):
            self.json("plan", path, "--strategy", "auto", *words)
        self.assertIn("in flight", self.quern("plan", path, "--inflight", "2", "--strategy", "auto").stdout)
        self.assertIn("vulkan", self.quern("plan", path, "--device", "toaster", code=2).stderr)
        csv = self.write("b.csv", b"id,lower,upper,size\na,0,2,8\nb,1,3,8\n")
        wanted = {"cpu": 72, "vulkan": 264, "page": 4104}
        for device, size in wanted.items():
            self.assertEqual(self.json("plan", csv, "--device", device, "--strategy", "auto")["lower_bound"], size)
        page = self.folder / "two.html"
        self.quern("plan", csv, "--strategy", "auto,none", "--html", page)
        html = page.read_text()
        self.assertEqual(html.count("<svg class"), 2)
        self.assertIn("<option selected>", html)
        self.assertIn("<th>begins</th>", html)

    def test_arena_limit(self):
        digits = SOURCE / "examples/digits/digits.onnx"
        error = self.quern("run", digits, "--arena-limit", "1", code=1).stderr
        smallest = int(error.split("in stripes of rows, has ")[1].split(" bytes")[0])
        whole = self.json("inspect", digits, "--plan")["plan"]["arena_bytes"]
        self.assertLess(smallest, whole)
        for limit in (smallest, (smallest + whole) // 2):
            arena = self.json("inspect", digits, "--plan", "--arena-limit", limit)["plan"]["arena_bytes"]
            self.assertLessEqual(arena, limit)
        self.assertIn("write bytes", self.quern("run", digits, "--arena-limit", "few", code=2).stderr)

    def test_frontier(self):
        digits = SOURCE / "examples/digits/digits.onnx"
        page, picture = self.folder / "f.html", self.folder / "f.svg"
        points = self.json("plan", digits, "--frontier", "--html", page, "--svg", picture)["frontier"]
        arenas = [p["arena_bytes"] for p in points]
        self.assertGreater(len(points), 1)
        self.assertEqual(arenas, sorted(set(arenas)))
        self.assertTrue(all(p["run_ms"] > 0 and p["arena_bytes"] <= (p["arena_limit"] or 10**9) for p in points))
        self.assertEqual(picture.read_text().count("<circle"), len(points))
        self.assertIn("<svg", page.read_text())
        self.assertIn("of whole tensors", self.quern("plan", digits, "--frontier").stdout)

    def test_scratch(self):
        digits = SOURCE / "examples/digits/digits.onnx"
        arenas = []
        for scratch in ("on", "off"):
            planned = self.json("plan", digits, "--strategy", "auto", "--scratch", scratch)
            measured = self.json("bench", digits, "--runs", 1, "--scratch", scratch)["benchmarks"][0]
            self.assertEqual(planned["strategies"][0]["arena_bytes"], measured["arena_bytes"])
            arenas.append(measured["arena_bytes"])
        self.assertLessEqual(arenas[1], arenas[0])
        self.quern("run", digits, "--scratch", "off")
        self.assertIn("not in {on,off}", self.quern("run", digits, "--scratch", "maybe", code=2).stderr)

    def test_devices_and_version(self):
        names = [d["name"] for d in self.json("devices")["devices"]]
        self.assertIn("cpu", names)
        self.assertIn("reference", names)
        self.assertIn("onnx_opset", self.json("version"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
