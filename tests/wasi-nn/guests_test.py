# SPDX-License-Identifier: Apache-2.0
"""Guests in `quern wasm`: guests_test.py QUERN SOURCE [GUESTS], where GUESTS is a folder of guests
with expected texts. Exits with 77 where no guest can be built."""
import json
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
             "r:/etc/passwd": False, "r:none": False, "w:new": False, "w:sub/file": False,
             "p:sub/file": True}
    text = runner.text(guest, "--dir", f"{inside}::.", "--", *asked)
    for line, (word, allowed) in zip(text.splitlines(), asked.items(), strict=True):
        assert line.startswith(word) and line.endswith(" yes") == allowed, text
    assert (inside / "sub/file").read_text() == "text" and not (inside / "new").exists()


def check_figures(runner, source, folder):
    """What a guest took, on stderr, as JSON and as metrics; its own output stays as it is."""
    guest = compiled(source / "examples/wasi-nn/read_digit.c", folder)
    digits = source / "examples/digits"
    words = ["--model", f"digits={digits}/digits.onnx", "--dir", f"{digits}::.", "--", "digits",
             "seven.png"]
    page = pathlib.Path(folder) / "guest.prom"
    plain = runner.text(guest, *words)
    table = runner.run(guest, "--stats", *words)
    assert table.stdout == plain and "1 ok, 0 timed out" in table.stderr, table
    done = runner.run(guest, "--json", "--metrics", page, *words)
    figures = json.loads(done.stderr)
    assert done.stdout == plain and figures["computes"]["ok"] == 1, done
    assert figures["resident_bytes_peak"] >= sum(figures["resident"].values()) > 0, figures
    assert figures["compute_ms"] > 0 and figures["compile_ms"] > 0, figures
    sample = 'quern_nn_computes_total{tenant="read_digit.wasm",result="ok"} 1'
    assert sample in page.read_text().splitlines(), page.read_text()
    refused = runner.run(guest, "--json", "--limits", "contexts=0", *words)
    last = json.loads(refused.stderr[refused.stderr.index("{"):])  # the guest wrote before
    assert refused.returncode == 1 and last["computes"]["ok"] == 0, refused
    nowhere = runner.run(guest, "--metrics", f"{folder}/none/such", *words)
    assert nowhere.returncode != 0 and "none/such" in nowhere.stderr, nowhere


def check_limits_file(runner, source, folder):
    """--limits FILE.json has models and limits; the command's own options come before."""
    guest = compiled(source / "examples/wasi-nn/read_digit.c", folder)
    digits = source / "examples/digits"
    path = pathlib.Path(folder) / "tenant.json"
    words = ["--limits", path, "--dir", f"{digits}::.", "--", "digits", "seven.png"]

    def run(text):
        path.write_text(text)
        return runner.run(guest, *words)

    model = f'"models": {{"digits": "{digits}/digits.onnx"}}'
    assert run(f'{{{model}, "names_only": true, "threads": 1}}').stdout.startswith("7")
    assert "error 7" in run(f'{{{model}, "contexts": 0}}').stderr
    assert "no model 'digits'" not in run(f'{{{model}}}').stderr
    wrong = run('{"contexts": "none"}')
    assert wrong.returncode == 2 and not wrong.stdout, wrong
    for part in (str(path), "'contexts'", "'\"none\"'", "whole number"):
        assert part in wrong.stderr, wrong
    gone = run('{"models": {"digits": "gone.onnx"}}')
    assert gone.returncode == 2 and "gone.onnx" in gone.stderr, gone
    path.unlink()
    assert runner.run(guest, *words).returncode == 2


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
        check_figures(runner, source, folder)
        check_limits_file(runner, source, folder)
        check_all(runner, source, sys.argv[3:], lambda s: compiled(s, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
