#SPDX - License - Identifier : Apache - 2.0
"""Builds guests with clang for wasm32-wasi and runs them in `quern wasm`:
guests_test.py QUERN SOURCE [GUESTS], where GUESTS is a folder of guests with expected texts. Exits
with 77 where no guest can be built."""
import pathlib
import subprocess
import sys
import tempfile

BUILD = ["clang", "--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-isystem", "/usr/include/stb"]
SKIPPED = 77


def compiled(source, folder):
    target = pathlib.Path(folder) / (source.stem + ".wasm")
    subprocess.run([*BUILD, str(source), "-o", str(target)], check=True)
    return target


def can_build(folder):
    source = pathlib.Path(folder) / "probe.c"
    source.write_text("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n")
    try:
        return subprocess.run([*BUILD, str(source), "-o", f"{folder}/probe.wasm"],
                              capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class Runner:
    def __init__(self, quern):
        self.quern = quern

    def run(self, guest, *words):
        return subprocess.run([self.quern, "wasm", str(guest), *map(str, words)],
                              capture_output=True, text=True, timeout=120, check=False)

    def text(self, guest, *words):
        done = self.run(guest, *words)
        assert done.returncode == 0 and not done.stderr, (guest, done)
        return done.stdout


def check_example(runner, source, folder):
    guest = compiled(source / "examples/wasi-nn/read_digit.c", folder)
    digits = source / "examples/digits"
    host = ["--model", f"digits={digits}/digits.onnx", "--dir", f"{digits}::."]
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for digit, name in enumerate(names):
        first = runner.text(guest, *host, "--", "digits", f"{name}.png").splitlines()[0].split()
        assert int(first[0]) == digit and float(first[1]) > 90, (name, first)

    refused = runner.run(guest, *host, "--log", "--", "none", "seven.png")
    assert refused.returncode == 1 and "no model 'none'" in refused.stderr, refused
    outside = runner.run(guest, *host, "--", "digits", "../ocr/sign.jpg")
    assert outside.returncode == 1 and "no PNG" in outside.stderr, outside
    limited = runner.run(guest, *host, "--limits", "contexts=0", "--", "digits", "seven.png")
    assert limited.returncode == 1 and "error 7" in limited.stderr, limited
    assert runner.run(guest, "--limits", "cats=1").returncode == 2
    assert runner.run(source / "README.md").returncode == 1  # no module


def check_folders(runner, source, folder):
    """Guests read below their folders, through no link, and write nothing."""
    guest = compiled(source / "tests/wasi-nn/folders.c", folder)
    inside = pathlib.Path(folder) / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub/file").write_text("text")
    (inside / "link").symlink_to("sub/file")
    (inside / "folder").symlink_to("sub")
    (pathlib.Path(folder) / "secret").write_text("secret")
    asked = {"r:sub/file": True, "r:./sub/../sub/file": False, "r:link": False,
             "r:folder/file": False, "r:../secret": False, "r:sub/../../secret": False,
             "r:/etc/passwd": False, "r:none": False, "w:new": False, "w:sub/file": False}
    text = runner.text(guest, "--dir", f"{inside}::.", "--", *asked)
    for line, (word, allowed) in zip(text.splitlines(), asked.items(), strict=True):
        assert line.startswith(word) and line.endswith(" yes") == allowed, text
    assert (inside / "sub/file").read_text() == "text" and not (inside / "new").exists()


def check_reference_guests(runner, guests, folder):
    classify, multi, image = "models/classify.onnx", "models/multi.onnx", "models/image.ppm"
    rows = {
          "classify" : [ classify, image ],
                       "byname" : [ "clf", image ],
                                  "contexts" : [ classify, multi ],
                                               "lifecycle" : [classify]}
    for name, words in rows.items():
        guest = compiled(guests / f"{name}.c", folder)
        text = runner.text(guest, "--model", f"clf={guests / classify}", "--dir", f"{guests}::.",
                           "--", *words)
        assert text == (guests / f"expected/{name}.txt").read_text(), (name, text)


def main():
    runner, source = Runner(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        if not can_build(folder):
            print("clang cannot build for wasm32-wasi here")
            return SKIPPED
        check_example(runner, source, folder)
        check_folders(runner, source, folder)
        if len(sys.argv) > 3:
            check_reference_guests(runner, pathlib.Path(sys.argv[3]), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
