# SPDX-License-Identifier: Apache-2.0
"""Guests in C built with clang for wasm32-wasi, and what every runner must make of them."""
import json
import os
import pathlib
import subprocess

BUILD = ["clang", "--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-isystem", "/usr/include/stb"]
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples/wasi-nn"
SKIPPED = 77


def compiled(source, folder, *flags):
    target = pathlib.Path(folder) / (source.stem + ".wasm")
    subprocess.run([*BUILD, *flags, f"-I{EXAMPLES}", str(source), "-o", str(target)], check=True)
    return target


def can_build(folder):
    source = pathlib.Path(folder) / "probe.c"
    source.write_text("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n")
    try:
        return subprocess.run([*BUILD, str(source), "-o", f"{folder}/probe.wasm"],
                              capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def node_version():
    """The first number; 0 where there is no Node."""
    try:
        done = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
        return int(done.stdout.lstrip("v").split(".")[0])
    except (FileNotFoundError, ValueError):
        return 0


def node_flags():
    """Node before 20 has WASI behind a flag."""
    before_20 = ["--experimental-wasi-unstable-preview1"] if node_version() < 20 else []
    return ["--no-warnings", *before_20]


def has_gpu():
    """Whether quern (by the environment) finds one, if only in software."""
    if "QUERN" not in os.environ:
        return False
    devices = subprocess.run([os.environ["QUERN"], "devices", "--json"], capture_output=True,
                             text=True, check=True).stdout
    return any(d["kind"] == "gpu" for d in json.loads(devices)["devices"])


class Runner:
    """A command that takes GUEST [--model NAME=FILE] [--dir HOST::GUEST] [--target cpu|gpu]
    -- ARGUMENTS. `options` are put before those of each call."""

    def __init__(self, *command, options=()):
        self.command = [str(c) for c in command]
        self.options = options

    def on_gpu(self, *more):
        return Runner(*self.command, options=("--target", "gpu", *more))

    def run(self, guest, *words):
        return subprocess.run([*self.command, str(guest), *self.options, *map(str, words)],
                              capture_output=True, text=True, timeout=240, check=False)

    def text(self, guest, *words):
        done = self.run(guest, *words)
        assert done.returncode == 0 and not done.stderr, (guest, done)
        return done.stdout


def check_digits(runner, source, guest):
    """The example reads its ten pictures."""
    digits = source / "examples/digits"
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for digit, name in enumerate(names):
        text = runner.text(guest, "--model", f"digits={digits}/digits.onnx", "--dir",
                           f"{digits}::.", "--", "digits", f"{name}.png")
        first = text.splitlines()[0].split()
        assert int(first[0]) == digit and float(first[1]) > 90, (name, first)


def check_all(runner, source, reference_guests, prepared):
    """The example and the reference guests, on the CPU and on a GPU."""
    runners = [runner]
    if has_gpu():
        runners.append(runner.on_gpu())
    else:
        print("there is no GPU: guests ran on the CPU only")
    guest = prepared(source / "examples/wasi-nn/read_digit.c")
    for each in runners:
        check_digits(each, source, guest)
    for folder in reference_guests:
        for each in runners:
            check_reference_guests(each, pathlib.Path(folder), prepared)


WIT_TEXT = """load-by-name: 6, 1 bytes of text
type 1, 1x10, 40 bytes, sum 1.000
wrong shape: 0, 1 bytes of text
wrong name: 6, 1 bytes of text
no tensor: 0, 1 bytes of text
no context: 0, 1 bytes of text
PASS wit
"""


def check_wit(runner, source, guest):
    """A guest of the lowered imports of wasi:nn."""
    text = runner.text(guest, "--model", f"digits={source}/examples/digits/digits.onnx", "--",
                       "digits", "image")
    assert text == WIT_TEXT, text


CLASSIFY, MULTI, IMAGE = "models/classify.onnx", "models/multi.onnx", "models/image.ppm"
REFERENCE = {"classify": [CLASSIFY, IMAGE], "byname": ["clf", IMAGE],
             "contexts": [CLASSIFY, MULTI], "lifecycle": [CLASSIFY]}


def check_reference_guests(runner, guests, prepared):
    """Guests with expected texts, compared byte for byte; `prepared` makes what runs of a source.
    Nothing where the folder is not there."""
    if not (guests / "expected").is_dir():
        return
    for name, words in REFERENCE.items():
        text = runner.text(prepared(guests / f"{name}.c"), "--model", f"clf={guests / CLASSIFY}",
                           "--dir", f"{guests}::.", "--", *words)
        assert text == (guests / f"expected/{name}.txt").read_text(), (name, text)
