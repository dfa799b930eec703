# SPDX-License-Identifier: Apache-2.0
"""Holds the table of docs/sizes.md to what is built:

  sizes_test.py whole BUILD SOURCE CONFIGURATION    the libraries of a release build (others are skipped)
  sizes_test.py small SOURCE WORK ROW...            builds libquern_run as QUERN_OPS_FROM makes it for each row
"""
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

MOST_MORE = 1.03  # of the size in the table
LEAST = 0.90      # below it the table is out of date
COMPILERS = ("12", "14")  # versions of gcc, as the columns of the table


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def rows(source):
    """Name -> (kB by compiler, kB that it may be at most)."""
    found = re.findall(r"^\| `([^`]+)` \|[^|]*\| (\d*) \| (\d*) \| (\d+) \|", (source / "docs/sizes.md").read_text(), re.M)
    return {name: (dict(zip(COMPILERS, sizes)), int(most)) for name, *sizes, most in found}


def compiler():
    """The column of the table, "" where it has none."""
    version = run("c++", "-dumpversion").split(".")[0].strip()
    return version if platform.machine() == "x86_64" else ""


def kilobytes(path):
    """Stripped, in units of 1000 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / path.name
        run("strip", "-o", stripped, path)
        return round(stripped.stat().st_size / 1000)


def check(table, name, path):
    size = kilobytes(path)
    sizes, most = table[name]
    wanted = int(sizes.get(compiler()) or 0)
    print(f"{name}: {size} kB stripped, {wanted or 'nothing'} in docs/sizes.md, at most {most}")
    wrong = []
    if size > most:
        wrong.append(f"{name} takes {size} kB stripped, at most {most} are wanted")
    elif wanted and not LEAST * wanted <= size <= MOST_MORE * wanted:
        wrong.append(f"{name} takes {size} kB stripped, docs/sizes.md says {wanted}")
    return wrong


def no_compiler_inside(library):
    """The runner has no code of the reader, the passes, the searches: its own symbols tell."""
    names = run("nm", "-C", library)
    found = [what for what in ("parse_onnx", "run_passes", "first_segment", "best_schedule", "find_strategy",
                               "quern::to_text") if re.search(rf"\b{what}\b", names)]
    return [f"{library.name} has {what}()" for what in found]


def whole(build, source):
    table = rows(source)
    wrong = no_compiler_inside(build / "libquern_run.so")
    for name in ("libquern.so", "libquern_run.so"):
        wrong += check(table, name, (build / name).resolve())
    return wrong


def small(source, work, names):
    table = rows(source)
    here = source / "tests/sizes"
    wrong = []
    for name in names:
        models = "all" if name == "all operators" else here / f"{name}.needs"
        build = work / name.split()[0]
        run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DQUERN_OPS_FROM={models}")
        run("cmake", "--build", build, "-j2")
        if name == "all operators":
            wrong += check(table, name, (build / "libquern_run.so").resolve())
            continue
        program = build / "runner"
        run("cc", "-Os", "-o", program, source / "tests/install/consumer/run_any.c", f"-I{source / 'engine/include'}",
            build / "libquern_run.a", "-flto=auto", "-no-pie", "-Wl,--gc-sections,-z,noseparate-code", "-lstdc++", "-lm", "-ldl")
        wrong += check(table, name, program)
    return wrong


if __name__ == "__main__":
    mode, first, second, *more = sys.argv[1:]
    folders = [pathlib.Path(a).resolve() for a in (first, second)]
    if mode == "small":
        sys.exit("\n".join(small(*folders, more)) or 0)
    if more != ["Release"]:
        print("sizes are those of release builds")
        sys.exit(77)
    sys.exit("\n".join(whole(*folders)) or 0)
