# SPDX-License-Identifier: Apache-2.0
"""Guests in an example host on a runtime that is installed: hosts_test.py HOST SOURCE [GUESTS].
Exits with 77 where no guest can be built."""
import pathlib
import sys
import tempfile

from guests import (SKIPPED, Runner, can_build, check_digits, check_reference_guests, check_wit,
                    compiled)


def main():
    runner, source = Runner(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        if not can_build(folder):
            print("clang cannot build for wasm32-wasi here")
            return SKIPPED
        check_digits(runner, source, compiled(source / "examples/wasi-nn/read_digit.c", folder))
        check_wit(runner, source, compiled(source / "tests/wasi-nn/wit_guest.c", folder))
        for guests in sys.argv[3:]:
            check_reference_guests(runner, pathlib.Path(guests), lambda s: compiled(s, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
