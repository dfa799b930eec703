# SPDX-License-Identifier: Apache-2.0
"""Guests that wasm2c made C of, linked with a host: wasm2c_test.py SOURCE BUILD_FLAGS... -- [GUESTS],
where the flags name the host's libraries. Exits with 77 where a tool is missing."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from guests import SKIPPED, Runner, can_build, check_all, compiled


class Wasm2c:
    def __init__(self, source, flags, folder):
        bindings = source / "tests/wasi-nn/bindings"
        self.glue = bindings / "wasm2c_guest.c"
        self.flags, self.folder = flags, pathlib.Path(folder)
        self.host = self.folder / "host.o"
        subprocess.run(["c++", "-std=c++20", "-O1", "-c", *[f for f in flags if f.startswith("-I")], "-o", self.host,
                        bindings / "wasm2c_host.cpp"], check=True)

    def program(self, guest_source):
        """The guest as a native program."""
        module = compiled(guest_source, self.folder)
        written = self.folder / "guest.c"
        subprocess.run(["wasm2c", module, "-n", "guest", "-o", written], check=True)
        target = self.folder / guest_source.stem
        subprocess.run(["cc", "-O1", "-w", f"-I{self.folder}", "-o", target, self.glue, written,
                        self.host, *self.flags], check=True)
        return target


def has_runtime(folder):
    """Whether wasm2c's header and library are where a compiler finds them."""
    probe = pathlib.Path(folder) / "probe.c"
    probe.write_text("#include <wasm-rt.h>\nint main(void) { return 0; }\n")
    return subprocess.run(["cc", "-o", f"{folder}/probe", str(probe), "-lwasm-rt-impl", "-lm"],
                          capture_output=True).returncode == 0


def main():
    split = sys.argv.index("--")
    source, flags = pathlib.Path(sys.argv[1]), sys.argv[2:split]
    with tempfile.TemporaryDirectory() as folder:
        if not shutil.which("wasm2c") or not has_runtime(folder) or not can_build(folder):
            print("there is no wasm2c with its runtime, or clang cannot build for wasm32-wasi")
            return SKIPPED
        wasm2c, runner = Wasm2c(source, flags, folder), Runner()
        check_all(runner, source, sys.argv[split + 1:], wasm2c.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
