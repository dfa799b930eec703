# SPDX-License-Identifier: Apache-2.0
"""Guests in `quern wasm`: guests_test.py QUERN SOURCE [GUESTS], where GUESTS is a folder of guests
with expected texts. Exits with 77 where no guest can be built."""
import pathlib
import sys
import tempfile

from guests import SKIPPED, Runner, can_build, check_all, check_wit, compiled, has_gpu


def check_example(runner, source, folder):
    guest = compiled(source / "examples/wasi-nn/read_digit.c", folder)
    digits = source / "examples/digits"
    host = ["--model", f"digits={digits}/digits.onnx", "--dir", f"{digits}::."]
    refused = runner.run(guest, *host, "--log", "--", "none", "seven.png")
    assert refused.returncode == 1 and "no model 'none'" in refused.stderr, refused
    outside = runner.run(guest, *host, "--", "digits", "../ocr/sign.jpg")
    assert outside.returncode == 1 and "no PNG" in outside.stderr, outside
    limited = runner.run(guest, *host, "--limits", "contexts=0", "--", "digits", "seven.png")
    assert limited.returncode == 1 and "error 7" in limited.stderr, limited
    assert runner.run(guest, "--limits", "cats=1").returncode == 2
    assert runner.run(source / "README.md").returncode == 1  # no module


def check_targets(runner, source, folder):
    """A GPU that is asked for and is not there is an error; auto takes what there is."""
    guest = compiled(source / "examples/wasi-nn/read_digit.c", folder)
    digits = source / "examples/digits"
    words = ["--model", f"digits={digits}/digits.onnx", "--dir", f"{digits}::.", "--", "digits",
             "seven.png"]
    none = runner.run(guest, "--target", "gpu", "--gpu", "vulkan:none such", *words)
    assert none.returncode != 0 and "none such" in none.stderr, none
    assert runner.text(guest, "--target", "auto", *words).startswith("7")
    if has_gpu():
        validated = runner.on_gpu("--gpu", "vulkan,validate")
        assert validated.text(guest, *words).startswith("7")


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


def main():
    runner, source = Runner(sys.argv[1], "wasm"), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        if not can_build(folder):
            print("clang cannot build for wasm32-wasi here")
            return SKIPPED
        check_example(runner, source, folder)
        check_folders(runner, source, folder)
        check_wit(runner, source, compiled(source / "tests/wasi-nn/wit_guest.c", folder))
        check_targets(runner, source, folder)
        check_all(runner, source, sys.argv[3:], lambda s: compiled(s, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
