# SPDX-License-Identifier: Apache-2.0
"""Guests in an example host on a runtime that is installed: hosts_test.py HOST SOURCE [GUESTS].
Exits with 77 where no guest can be built."""
import pathlib
import sys
import tempfile

from guests import (SKIPPED, Runner, can_build, check_digits, check_reference_guests, check_wit,
                    compiled)


def check_options(runner, source, folder):
    """--threads and --limits, which the hosts have in common."""
    guest = compiled(source / "examples/wasi-nn/read_digit.c", folder)
    digits = source / "examples/digits"
    words = ["--model", f"digits={digits}/digits.onnx", "--dir", f"{digits}::.", "--", "digits",
             "seven.png"]
    assert runner.text(guest, "--threads", "1", *words).startswith("7")
    for wrong in ("0", "1025", "two", "2x"):
        done = runner.run(guest, "--threads", wrong, *words)
        assert done.returncode == 1 and "1 to 1024" in done.stderr, done
    limits = pathlib.Path(folder) / "limits.json"
    limits.write_text('{"contexts": 0}')
    refused = runner.run(guest, "--limits", limits, *words)
    assert refused.returncode == 1 and "error 7" in refused.stderr, refused
    limits.write_text('{"contexts": -1}')
    wrong = runner.run(guest, "--limits", limits, *words)
    assert wrong.returncode == 1 and "'contexts' is '-1'" in wrong.stderr, wrong


def main():
    runner, source = Runner(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        if not can_build(folder):
            print("clang cannot build for wasm32-wasi here")
            return SKIPPED
        check_digits(runner, source, compiled(source / "examples/wasi-nn/read_digit.c", folder))
        check_options(runner, source, folder)
        check_wit(runner, source, compiled(source / "tests/wasi-nn/wit_guest.c", folder))
        for guests in sys.argv[3:]:
            check_reference_guests(runner, pathlib.Path(guests), lambda s: compiled(s, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
