# SPDX-License-Identifier: Apache-2.0
"""Installs into a temporary prefix, moves it, and builds a stranger's project against it, by find_package and by
pkg-config, with shared libraries, with archives and fully static: install_test.py BUILD SOURCE QUERN"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def run(*command, env=None):
    done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def reads_a_seven(output):
    rows = [line.split() for line in output.splitlines()]
    best = max(rows, key=lambda row: float(row[1]))
    assert best[0] == "7" and float(best[1]) > 50, output


def places_two_buffers(program, work, env=None):
    """The second buffer begins as the first ends."""
    work.with_suffix(".csv").write_text("id,lower,upper,size\na,0,2,48\nb,2,4,48\n")
    assert run(program, work.with_suffix(".csv"), env=env).startswith("<svg")


def with_cmake(prefix, work, source, digits, compiled):
    run("cmake", "-G", "Ninja", "-S", HERE / "consumer", "-B", work, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DSOURCE_ROOT={source}")
    run("cmake", "--build", work)
    reads_a_seven(run(work / "with_c", digits))
    assert run(work / "with_cpp", digits) == "1 input\n"
    assert run(work / "run_shared", compiled).startswith("40 bytes\n")
    assert run(work / "run_static", compiled) == "40 bytes\n"
    assert run(work / "with_wasi_nn", digits) == "ok\n"
    places_two_buffers(work / "with_planner", work)


def with_pkg_config(prefix, work, source, digits, compiled):
    folder = next(prefix.rglob("quern.pc")).parent
    env = dict(os.environ, PKG_CONFIG_PATH=str(folder), LD_LIBRARY_PATH=str(folder.parent))

    def flags(package):
        return run("pkg-config", "--cflags", "--libs", package, env=env).split()

    work.mkdir()
    run("cc", "-std=c99", "-o", work / "c", source / "examples/minimal.c", *flags("quern"), env=env)
    reads_a_seven(run(work / "c", digits, env=env))
    run("c++", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-o", work / "cpp",
        HERE / "consumer/with_cpp.cpp", *flags("quern-cpp"), env=env)
    assert run(work / "cpp", digits, env=env) == "1 input\n"
    with_the_runner(work, source, digits, compiled, flags("quern-run"), env)
    fully_static(work, source, digits, compiled, lambda name: run("pkg-config", "--static", "--cflags", "--libs", name,
                                                                 env=env).split())
    planner = source / "examples/planning/place.c"
    run("cc", "-std=c99", "-o", work / "plan", planner, *flags("quern-plan"), env=env)
    places_two_buffers(work / "plan", work, env)
    # The same without the shared library.
    archive = folder.parent / "libquern_plan.a"
    run("cc", "-std=c99", "-o", work / "static", planner, f"-I{prefix / 'include'}", archive, "-lstdc++", "-lm")
    places_two_buffers(work / "static", work)
    run("cc", "-std=c99", "-o", work / "nn", source / "tests/wasi-nn/c_test.c", *flags("quern-wasi-nn"),
        env=env)
    assert run(work / "nn", digits, env=env) == "ok\n"


def with_the_runner(work, source, digits, compiled, flags, env):
    """The same program as with the whole library, which is told what the runner does not do."""
    run("cc", "-std=c99", "-o", work / "run", source / "examples/minimal.c", *flags, env=env)
    reads_a_seven(run(work / "run", compiled, env=env))
    refused = subprocess.run([work / "run", digits], env=env, capture_output=True, text=True)
    assert refused.returncode == 1 and "unsupported: libquern_run reads no ONNX" in refused.stderr, refused.stderr


def fully_static(work, source, digits, compiled, flags):
    """No shared library is opened, and quern's own kernels run: C with the runner, C++ with everything."""
    # The linker warns of dlopen(), which is never called here.
    run("c++", "-static", "-o", work / "alone", "-x", "c", "-std=c99", HERE / "consumer/run_any.c", "-x", "none",
        *flags("quern-run"), "-Wl,--gc-sections")
    told = run(work / "alone", compiled)
    assert told.startswith("40 bytes\n") and "a fully static program opens no shared libraries" in told, told
    run("c++", "-static", "-std=c++20", "-o", work / "alone_cpp", source / "examples/minimal.cpp", *flags("quern-cpp"),
        "-Wl,--gc-sections")
    reads_a_seven(run(work / "alone_cpp", digits))


def only_the_c_api(prefix):
    for library, shown in (("libquern.so", "quern_"), ("libquern_run.so", "quern_"), ("libquern_plan.so", "quern_planner_"),
                           ("libquern_plan_banks.so", "quern_planner_"),
                           ("libquern_wasi_nn.so", "quern_nn_")):
        path = next(prefix.rglob(library))
        names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", path).splitlines()]
        strangers = [n for n in names if not n.startswith((shown, "QUERN_"))]
        assert names and not strangers, strangers


def main():
    build, source, quern = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    digits = source / "examples/digits/digits.onnx"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        installed = work / "prefix"
        run("cmake", "--install", build, "--prefix", installed)
        prefix = installed.rename(work / "another-place")
        compiled = work / "digits.quern"
        run(quern, "compile", digits, "--shape", "1x1x28x28", "--portable", "-o", compiled)
        only_the_c_api(prefix)
        with_cmake(prefix, work / "cmake", source, digits, compiled)
        with_pkg_config(prefix, work / "pkg-config", source, digits, compiled)
    print("ok")


if __name__ == "__main__":
    main()
