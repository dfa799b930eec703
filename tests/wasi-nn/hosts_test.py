# SPDX-License-Identifier: Apache-2.0
"""Guests in an example host on a runtime: hosts_test.py wamr|wasmedge|wasmtime SOURCE LIBRARY [GUESTS],
where LIBRARY is libquern_wasi_nn.so. The host is built as an embedder would: in C99 with the compiler's
warnings as errors, against our own declarations of the runtime first and against its own where it is
installed (elsewhere than in the usual folders: CPATH and LIBRARY_PATH). Exits with 77 where it is not, or
where no guest can be built."""
import pathlib
import subprocess
import sys
import tempfile

from guests import (SKIPPED, Runner, can_build, check_digits, check_reference_guests, check_wit,
                    compiled)


RUNTIMES = {"wamr": "iwasm", "wasmedge": "wasmedge", "wasmtime": "wasmtime"}  # and their libraries


def compile_host(runtime, source, *words):
    """The compiler's exit status and what it said."""
    return subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror",
                           f"-I{source}/frontends/wasi-nn/include", f"-I{source}/engine/include", *map(str, words),
                           str(source / f"examples/wasi-nn/hosts/{runtime}.c")], capture_output=True, text=True)


def host_program(runtime, source, library, folder):
    """The host on the runtime itself; None where that is not installed."""
    declared = compile_host(runtime, source, "-fsyntax-only", f"-I{source}/tests/wasi-nn/bindings/declarations")
    assert declared.returncode == 0, declared.stderr
    if compile_host(runtime, source, "-E", "-o", "/dev/null").returncode:
        return None
    target = pathlib.Path(folder) / runtime
    linked = ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}", f"-l{RUNTIMES[runtime]}", "-lpthread",
              "-lm", "-ldl"]
    built = compile_host(runtime, source, "-O1", "-o", target, *linked)
    assert built.returncode == 0, built.stderr
    return target


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
    runtime, source, library = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        host = host_program(runtime, source, library, folder)
        if not host or not can_build(folder):
            print("clang cannot build for wasm32-wasi here" if host else f"{runtime} is not installed")
            return SKIPPED
        runner = Runner(host)
        check_digits(runner, source, compiled(source / "examples/wasi-nn/read_digit.c", folder))
        check_options(runner, source, folder)
        check_wit(runner, source, compiled(source / "tests/wasi-nn/wit_guest.c", folder))
        for guests in sys.argv[4:]:
            check_reference_guests(runner, pathlib.Path(guests), lambda s: compiled(s, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
