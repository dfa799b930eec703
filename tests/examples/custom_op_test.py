# SPDX-License-Identifier: Apache-2.0
"""examples/custom-op as a stranger uses it: built with a C compiler alone, run by the command and by the C API,
held to its reference in random models; and objects that are wrong.

  custom_op_test.py CC QUERN LIBQUERN ROOT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

CC, QUERN, LIBRARY, ROOT = (sys.argv[1], *(pathlib.Path(p).resolve() for p in sys.argv[2:]))
EXAMPLE = ROOT / "examples" / "custom-op"
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-I", ROOT / "engine" / "include"]
# (what is replaced in the template, by what, what the command says of the object)
WRONG_OBJECTS = [
    ("quern_status quern_register_ops", "quern_status other_name", "has no function quern_register_ops"),
    ("return host->add(host, &op);", "return QUERN_OK;", "registers no operator"),
    ("return host->add(host, &op);", "host->add(host, &op); return QUERN_BUSY;", "gave status 7"),
    ("op.run = run,", "", "quern_custom_op.run is NULL"),
    ("return host->add(host, &op);", "host->add(host, &op); return host->add(host, &op);", "registered twice"),
]


def run(*words, code=0):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=200)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}, wanted {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def want(part, text):
    if part not in text:
        sys.exit(f"wanted '{part}' in:\n{text}")


def build(source, out, *more):
    run(CC, *FLAGS, source, "-o", out, *more)
    return out


def shared(source, out):
    return build(source, out, "-shared", "-fPIC", "-lm")


def by_command(ops, folder):
    model = EXAMPLE / "model.onnx"
    want("y", run(QUERN, "run", model, "--ops", ops))
    want("this operator is not supported", run(QUERN, "run", model, code=3))
    want("1 passed, 0 failed", run(QUERN, "verify", EXAMPLE, "--ops", ops))
    want("1 passed, 0 failed", run(QUERN, "verify", EXAMPLE, "--ops", ops, "--levers", "artefact=portable"))
    want("org.example.RowNorm", run(QUERN, "inspect", model, "--plan", "--ops", ops))
    want("RowNorm", run(QUERN, "profile", model, "--ops", ops, "--runs", "3"))
    want("median", run(QUERN, "bench", model, "--ops", ops, "--runs", "5"))
    want("lower bound", run(QUERN, "plan", model, "--ops", ops, "--strategy", "auto"))
    run(QUERN, "verify", model, "--against", "reference", "--ops", ops)
    compiled = folder / "model.quern"
    run(QUERN, "compile", model, "-o", compiled, "--dim", "N=3", "--ops", ops)
    want("y", run(QUERN, "run", compiled, "--dim", "N=3", "--ops", ops))
    want("is not registered here", run(QUERN, "run", compiled, "--dim", "N=3", code=3))


def in_random_models(ops, folder):
    done = json.loads(run(QUERN, "verify", "--random", "25", "--seed", "1", "-j", "2", "--ops", ops, "--json"))
    if done["passed"] != 25:
        sys.exit(f"random models: {done}")
    # One that is off by a little where the reference is not, so that somebody looks.
    text = (EXAMPLE / "row_norm.c").read_text()
    (folder / "off.c").write_text(text.replace("y[i] = x[i] * scale;", "y[i] = x[i] * scale * 1.001f;"))
    off = shared(folder / "off.c", folder / "off.so")
    want("FAIL", run(QUERN, "verify", "--random", "8", "--seed", "1", "-j", "2", "--ops", off, code=1))
    want("1 failed", run(QUERN, "verify", EXAMPLE, "--ops", off, code=1))


def wrong_objects(folder):
    text = (EXAMPLE / "row_norm.c").read_text()
    for i, (before, after, said) in enumerate(WRONG_OBJECTS):
        assert before in text
        source = folder / f"wrong{i}.c"
        source.write_text(text.replace(before, after))
        out = folder / f"wrong{i}.so"
        run(CC, "-w", "-I", ROOT / "engine" / "include", source, "-o", out, "-shared", "-fPIC", "-lm")
        want(said, run(QUERN, "run", EXAMPLE / "model.onnx", "--ops", out, code=2))
    want("no such file", run(QUERN, "run", EXAMPLE / "model.onnx", "--ops", "/no/such.so", code=2))
    want("no shared object", run(QUERN, "run", EXAMPLE / "model.onnx", "--ops", ROOT / "README.md", code=2))


def main():
    lines = len((EXAMPLE / "row_norm.c").read_text().splitlines())
    if lines > 60:
        sys.exit(f"the template has {lines} lines, 60 are promised")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ops = shared(EXAMPLE / "row_norm.c", folder / "row_norm.so")
        by_command(ops, folder)
        program = build(ROOT / "tests" / "c_api" / "custom_op_test.c", folder / "program", LIBRARY, "-lm",
                        f"-Wl,-rpath,{LIBRARY.parent}")
        data = EXAMPLE / "test_data_set_0"
        run(program, ops, EXAMPLE / "model.onnx", data / "input_0.pb", data / "output_0.pb", folder)
        in_random_models(ops, folder)
        wrong_objects(folder)


if __name__ == "__main__":
    main()
