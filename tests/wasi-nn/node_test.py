# SPDX-License-Identifier: Apache-2.0
"""Guests in Node, whose WASI calls are Node's own: node_test.py FOLDER SOURCE [GUESTS], where FOLDER
has the addon with its JavaScript. Exits with 77 where there is no Node or no guest can be built."""
import pathlib
import subprocess
import sys
import tempfile

from guests import SKIPPED, Runner, can_build, check_all, compiled, node_flags, node_version


def main():
    addon, source = (pathlib.Path(a) for a in sys.argv[1:3])
    if node_version() < 18:
        print("there is no Node 18")
        return SKIPPED
    subprocess.run(["node", "--no-warnings", source / "tests/wasi-nn/addon_test.mjs", addon,
                    source / "examples/digits/digits.onnx"], check=True, timeout=60)
    runner = Runner("node", *node_flags(), addon / "run.mjs")
    with tempfile.TemporaryDirectory() as folder:
        if not can_build(folder):
            print("clang cannot build for wasm32-wasi here")
            return SKIPPED
        check_all(runner, source, sys.argv[3:], lambda s: compiled(s, folder))
        refused = runner.run(pathlib.Path(folder) / "read_digit.wasm", "--", "none", "seven.png")
        assert refused.returncode == 1, refused
    return 0


if __name__ == "__main__":
    sys.exit(main())
