# SPDX-License-Identifier: Apache-2.0
"""quern kernel as people call it: problems, contenders, files of results, models, a kernel of one's own.

    python3 kernel_test.py CC path/to/quern path/to/source
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

CC, QUERN, SOURCE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
PRODUCT = "matmul:m32n48k64 f32 bias +relu"
QUICK = ("--time", "0.05", "-t", "1")


class Kernel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def quern(self, *words, code=0):
        done = subprocess.run([QUERN, "kernel", *map(str, words)], capture_output=True, text=True, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *words, code=0):
        printed = json.loads(self.quern(*words, "--json", code=code).stdout)
        self.assertEqual(list(printed)[:1], ["schema"])
        return printed

    def test_all_implementations_are_measured_and_believed(self):
        problem = self.json(PRODUCT, "--impl", "all", *QUICK)["problems"][0]
        kernels = {k["kernel"]: k for k in problem["kernels"]}
        self.assertIn("rows", kernels)
        self.assertIn("reference", kernels)
        self.assertEqual(problem["judge"], "oracle")
        for k in kernels.values():
            self.assertTrue(k["is_believed"], k)
            self.assertGreater(k["wall_us"]["median"], 0)
            self.assertGreaterEqual(k["wall_us"]["high"], k["wall_us"]["median"])
            self.assertEqual(k["threads"], 1)
        # The product, and an addition and a comparison for each result that may stand beside it.
        self.assertGreaterEqual(kernels["rows"]["flops"], 2 * 32 * 48 * 64)
        self.assertLess(kernels["rows"]["wall_us"]["median"], kernels["reference"]["wall_us"]["median"])

    def test_fewer_instructions_are_contenders_in_processes_of_their_own(self):
        kernels = self.json(PRODUCT, "--impl", "rows,rows@baseline", *QUICK)["problems"][0]["kernels"]
        self.assertEqual([k["kernel"] for k in kernels], ["rows", "rows@baseline"])
        self.assertTrue(all(k["is_believed"] for k in kernels), kernels)
        self.assertIn("baseline", kernels[1]["implementation"])
        self.assertEqual(kernels[0]["flops"], kernels[1]["flops"])
        cold = self.json(PRODUCT, "--impl", "rows@baseline", "--cold", *QUICK)["problems"][0]["kernels"]
        self.assertTrue(cold[0]["is_believed"], cold)
        self.assertIn("no lever", self.quern(PRODUCT, "--impl", "rows@best", code=2).stderr)

    def test_weights_of_few_bits(self):
        for types, flag, bits in (("bf16*int4", "", 4), ("f32*i8", " quantize_x", 8), ("f16*u2", " bias +relu", 2)):
            line = f"matmul:m8n48k64 {types}{flag}"
            problem = self.json(line, "--impl", "all", *QUICK)["problems"][0]
            kernels = {k["kernel"]: k for k in problem["kernels"]}
            self.assertEqual({"few bits", "reference"} - set(kernels), set(), line)
            self.assertTrue(all(k["is_believed"] for k in kernels.values()), problem)
            self.assertIn("few bits", kernels["few bits"]["implementation"])
            if types.startswith("f32"):  # 16-bit floats are widened besides
                self.assertEqual(kernels["few bits"]["bytes"], 48 * 64 * bits // 8 + 4 * (8 * 64 + 8 * 48 + 48 * 2))
        self.assertIn("weights of i2, i4 or i8", self.quern("matmul:m8n8k8 f64*int4", code=2).stderr)

    def test_energy_is_told_where_the_cpu_tells_it(self):
        zone = self.folder / "intel-rapl:0"
        zone.mkdir()
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text("262143328850\n")
        over = threading.Event()

        def glow():  # ten watts
            while not over.is_set():
                (zone / "next").write_text(f"{int(time.monotonic() * 1e7) % 262143328850}\n")
                os.replace(zone / "next", zone / "energy_uj")
                time.sleep(0.001)

        (zone / "energy_uj").write_text("0\n")
        glowing = threading.Thread(target=glow)
        glowing.start()
        self.addCleanup(glowing.join)
        self.addCleanup(over.set)
        words = (PRODUCT, "--impl", "rows,rows@baseline", "--powercap", self.folder, *QUICK)
        for kernel in self.json(*words)["problems"][0]["kernels"]:
            self.assertGreater(kernel["energy_uj"], 0.2 * 10 * kernel["wall_us"]["low"], kernel)
        self.assertIn(" energy ", self.quern(*words).stdout)
        for more in (("--powercap", self.folder / "none"), ("--powercap", self.folder, "--cold")):
            words = (PRODUCT, *more, *QUICK)
            self.assertIsNone(self.json(*words)["problems"][0]["kernels"][0]["energy_uj"])
            self.assertNotIn(" energy ", self.quern(*words).stdout)

    def test_tables_line_up(self):
        text = self.quern(PRODUCT, "--impl", "rows,reference", *QUICK).stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], PRODUCT)
        self.assertIn("GFLOP/s", lines[1])
        column = lines[1].index("implementation")
        self.assertTrue(all(line[column - 1] == " " for line in lines[2:4]), text)

    def test_problems_from_files_and_sweeps(self):
        shapes = self.folder / "shapes.txt"
        shapes.write_text("# products\nmatmul:m{1..4*2}n8k8\nop:Softmax axis=-1 f32[2,{3,5}]\n")
        listed = self.quern("-f", shapes, "--list").stdout.splitlines()
        self.assertEqual(listed, ["matmul:m1n8k8", "matmul:m2n8k8", "matmul:m4n8k8", "op:Softmax axis=-1 f32[2,3]",
                                  "op:Softmax axis=-1 f32[2,5]"])
        self.assertEqual(len(self.json("-f", shapes, *QUICK)["problems"]), 5)

    def test_refuses_with_a_sentence(self):
        for words, part in [((), "no problem"), (("conv:c3",), "wants a size o"), (("op:Softmx f32[3]",), "no operator"),
                            (("-f", self.folder / "none"), "none"), (("op:Softmax const:f32[3]",), "has no input"),
                            ((PRODUCT, "--impl", "fastest"), "no implementation that was named"),
                            (("matmul:m6000n6000k6000",), "takes too long"), (("--compare", "a"), "two files"),
                            ((PRODUCT, "--between", "much"), "such as 40MB"),
                            ((PRODUCT, "--between", "2MB", "--cold"), "nothing is left in caches"),
                            (("conv:c6o4h5k3g4",), "problem 'conv:c6o4h5k3g4'")]:
            self.assertIn(part, self.quern(*words, code=2).stderr, words)
        self.quern(PRODUCT, "--device", "gpu:7", code=4)

    def test_cold_and_threads_and_pages(self):
        page = self.folder / "page.html"
        cold = self.json("op:Binary kind=add f32[65536] f32[65536]", "--cold", "--html", page, *QUICK)
        self.assertEqual(cold["mode"], "cold")
        self.assertGreater(cold["evicted"]["cold_line_ns"], cold["evicted"]["warm_line_ns"])
        self.assertIn("<circle", page.read_text())
        self.assertEqual(self.json(PRODUCT, "--between", "2MB", *QUICK)["mode"], "behind 2.00 MB")
        threads = self.json(PRODUCT, "--time", 0.05, "-t", 2)["problems"][0]["kernels"][0]
        self.assertTrue(threads["is_believed"])

    def test_results_are_files_that_can_be_compared(self):
        first, second, slower = (self.folder / name for name in ("a.jsonl", "b.jsonl", "c.jsonl"))
        for path in (first, second):
            self.quern(PRODUCT, "--impl", "rows,reference", "--save", path, *QUICK)
        records = [json.loads(line) for line in first.read_text().splitlines()]
        self.assertEqual([r["kernel"] for r in records], ["rows", "reference"])
        self.assertEqual(records[0]["problem"], PRODUCT)
        self.assertIn("cpu", records[0]["machine"])
        self.assertIn("--impl rows,reference --save", records[0]["command"])
        self.assertEqual(len(records[0]["wall_us"]), len(records[0]["processor_us"]))
        same = self.json("--compare", first, first)
        self.assertTrue(same["is_good"])
        self.assertEqual([k["verdict"] for k in same["kernels"]], ["same", "same"])
        for factor, path in ((1, first), (1.5, slower)):  # times that no other process disturbs
            for record in records:
                record["wall_us"] = [100 + 0.1 * i for i in range(40)]
                record["processor_us"] = [factor * us for us in record["wall_us"]]
            path.write_text("".join(json.dumps(r) + "\n" for r in records))
        worse = self.json("--compare", first, slower, code=1)
        self.assertEqual([k["verdict"] for k in worse["kernels"]], ["slower", "slower"])
        self.assertIn("faster", self.quern("--compare", slower, first).stdout)
        self.assertTrue(self.json("--compare", first, slower, "--by", "wall")["is_good"])
        slower.write_text("{}\n")
        self.assertIn("line 1", self.quern("--compare", first, slower, code=2).stderr)

    def test_files_over_time_are_a_history(self):
        first = self.folder / "a.jsonl"
        self.quern(PRODUCT, "--impl", "rows,reference", "--save", first, *QUICK)
        records = [json.loads(line) for line in first.read_text().splitlines()]
        self.assertRegex(records[0]["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

        def write(name, factor, **more):
            for record in records:
                record.update(more, wall_us=[100 + 0.1 * i for i in range(40)])
                record["processor_us"] = [factor * us for us in record["wall_us"]]
            path = self.folder / name
            path.write_text("".join(json.dumps(r) + "\n" for r in records))
            return path
        files = [write("z.jsonl", 1, date="2026-01-02T03:04:05Z"), write("y.jsonl", 2, date="2026-03-02T03:04:05Z"),
                 write("x.jsonl", 1.2, date="2026-02-02T03:04:05Z")]
        page = self.folder / "history.html"
        history = self.json("--history", *files, "--html", page)
        self.assertEqual([pathlib.Path(f["file"]).name for f in history["files"]], ["z.jsonl", "x.jsonl", "y.jsonl"])
        self.assertEqual([line["kernel"] for line in history["lines"]], ["rows", "reference"])
        medians = [p["median_us"] for p in history["lines"][0]["points"]]
        self.assertEqual([round(m / medians[0], 3) for m in medians], [1, 1.2, 2])
        self.assertEqual(history["lines"][0]["verdict"], "slower")
        self.assertEqual(page.read_text().count("<figure "), 2)
        self.assertIn("+100.0 %", self.quern("--history", *files).stdout)
        self.assertEqual(self.json("--history", *files, "--by", "wall")["lines"][0]["verdict"], "same")
        # Without a date it is that of the file.
        for record in records:
            del record["date"]
        undated = write("w.jsonl", 1)
        os.utime(undated, (1e9, 1e9))
        self.assertEqual(self.json("--history", *files, undated)["files"][0]["date"], "2001-09-09T01:46:40Z")
        for words, part in (((), "files of --save"), ((first, self.folder / "none"), "none")):
            self.assertIn(part, self.quern("--history", *words, code=2).stderr)
        undated.write_text("\n")
        self.assertIn("has no records", self.quern("--history", undated, code=2).stderr)

    def test_kernels_of_a_model(self):
        digits = SOURCE / "examples/digits/digits.onnx"
        listed = self.quern("--from", digits, "--list").stdout.splitlines()
        self.assertTrue(any(line.startswith("op:Conv") for line in listed), listed)
        lines = self.folder / "digits.txt"
        lines.write_text("\n".join(listed))
        self.assertEqual(self.quern("-f", lines, "--list").stdout.splitlines(), listed)
        measured = self.json("--from", digits, *QUICK)
        self.assertEqual([p["problem"] for p in measured["problems"]], listed)
        self.assertTrue(measured["mode"].startswith("behind "), measured["mode"])
        self.assertEqual(self.json("--from", digits, "--between", "0", *QUICK)["mode"], "warm")
        model = measured["model"]
        self.assertGreater(model["kernels_processor_us"], 0)
        self.assertGreater(model["run_processor_us"], 0)
        self.assertGreater(model["covered_us"], 0.5 * (model["covered_us"] + model["others_us"]))

    def test_a_kernel_of_ones_own(self):
        source = SOURCE / "examples/custom-op/softmax.c"
        right, wrong = self.folder / "softmax.so", self.folder / "wrong.so"
        build = [CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O3", "-shared", "-fPIC", "-I",
                 str(SOURCE / "engine/include")]
        subprocess.run([*build, str(source), "-o", str(right), "-lm"], check=True)
        broken = self.folder / "wrong.c"
        broken.write_text(source.read_text().replace("1 / sum", "1.01f / sum"))
        subprocess.run([*build, str(broken), "-o", str(wrong), "-lm"], check=True)
        line = "op:Softmax axis=-1 f32[8,1000]"
        kernels = self.json(line, "--ops", right, *QUICK)["problems"][0]["kernels"]
        self.assertEqual([k["kernel"] for k in kernels], ["cpu", "org.example.Softmax"])
        self.assertTrue(all(k["is_believed"] for k in kernels), kernels)
        liar = self.json(line, "--ops", wrong, *QUICK, code=1)["problems"][0]["kernels"][1]
        self.assertFalse(liar["is_believed"])
        self.assertIn("wrong answer", liar["refused"])
        note = self.quern("op:Softmax axis=0 f32[8,10]", "--ops", right, *QUICK).stderr
        self.assertIn("does not take part", note)
        self.json("op:org.example.Softmax f32[8,1000]", "--ops", right, *QUICK)

    def test_a_shader_of_ones_own(self):
        glslc = shutil.which("glslc")
        devices = subprocess.run([QUERN, "devices"], capture_output=True, text=True, check=True).stdout
        if not glslc or "vulkan:0" not in devices:
            self.skipTest("wants glslc and a Vulkan device")
        source = (SOURCE / "shaders/softmax.comp").read_text()

        def made(name, text):
            shader = self.folder / f"{name}.comp"
            shader.write_text(text)
            subprocess.run([glslc, "--target-env=vulkan1.1", "-I", str(SOURCE / "shaders"), str(shader), "-o",
                            str(self.folder / f"{name}.spv")], check=True)
            return f"vulkan:0,shader=softmax={self.folder / name}.spv"
        right = made("right", source.replace("exp(x[base + i] - most) * scale", "scale * exp(x[base + i] - most)"))
        wrong = made("wrong", source.replace("1.0 / sum", "1.01 / sum"))
        bound = made("bound", source.replace("binding = 1", "binding = 2"))
        line = "op:Softmax axis=-1 f32[8,1000]"
        kernels = self.json(line, "--device", f"vulkan:0,{right}", *QUICK)["problems"][0]["kernels"]
        self.assertEqual([k["kernel"] for k in kernels], ["vulkan:0", right])
        self.assertTrue(all(k["is_believed"] for k in kernels), kernels)
        liar = self.json(line, "--device", wrong, *QUICK, code=1)["problems"][0]["kernels"][0]
        self.assertIn("wrong answer", liar["refused"])
        self.assertIn("bindings", self.quern(line, "--device", bound, *QUICK, code=4).stderr)
        spirv = (self.folder / "right.spv").read_bytes()
        for name, data, part in (("empty", b"", "0 bytes"), ("odd", spirv[:-3], "whole words"), ("cut", spirv[:-4], "last function"),
                                 ("text", b"#version 450\n" + 11 * b" ", "begins with")):
            (self.folder / name).write_bytes(data)
            said = self.quern(line, "--device", f"vulkan:0,shader=softmax={self.folder / name}", *QUICK, code=4).stderr
            self.assertIn(part, said)
        self.assertIn("no shader 'softmx'", self.quern(line, "--device", "vulkan:0,shader=softmx=a", *QUICK, code=4).stderr)
        if shutil.which("spirv-val"):  # what the header and the interface do not show: operands
            words = list(struct.unpack(f"<{len(spirv) // 4}I", spirv))
            words[-2] = 1  # the last function returns what is no value
            (self.folder / "ids.spv").write_bytes(struct.pack(f"<{len(words)}I", *words))
            said = self.quern(line, "--device", f"vulkan:0,shader=softmax={self.folder}/ids.spv", *QUICK, code=4).stderr
            self.assertIn("spirv-val refuses", said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
