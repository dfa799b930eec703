# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of quern for Python, from the source: python_test.py SOURCE VERSION libquern.so libquern_plan.so"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def output(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def python_with_numpy():
    """This Python or the system's; a folder of versions may stand before the latter in PATH."""
    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", "import numpy"], capture_output=True,
                                                   check=False).returncode == 0:
            return python
    print("skipped: no Python with numpy (Debian: python3-numpy)")
    sys.exit(SKIPPED)


def run_tests(python, source, package, libraries, work):
    """From an empty folder, with the package in the folder `package` and libraries that `libraries` may name."""
    unneeded = ("QUERN_LIBRARY", "QUERN_PLAN_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH")
    env = {k: v for k, v in os.environ.items() if k not in unneeded}
    env |= {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", "QUERN_SOURCE_DIR": str(source), **libraries}
    where = output(python, "-c", "import quern; print(quern.__file__)", env=env, cwd=work).strip()
    assert pathlib.Path(where).is_relative_to(package), where
    for name in ("plan_test.py", "engine_test.py"):
        done = subprocess.run([python, source / "tests/python" / name], env=env, cwd=work, check=False)
        if done.returncode:
            sys.exit(done.returncode)


def main():
    source, arguments = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    python = python_with_numpy()
    named = dict(zip(("QUERN_LIBRARY", "QUERN_PLAN_LIBRARY"), arguments[1:]))
    with tempfile.TemporaryDirectory() as folder:
        run_tests(python, source, source / "frontends/python", named, folder)
    print("ok")


if __name__ == "__main__":
    main()
