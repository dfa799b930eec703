# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of quern for Python from the source, then packs it, installs the wheel and the Debian package into
empty folders and runs them from there: python_test.py SOURCE VERSION libquern.so libquern_plan_banks.so"""
import base64
import csv
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIPPED = 77


def output(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def python_with(*modules, packages):
    """This Python or the system's; a folder of versions may stand before the latter in PATH."""
    imports = f"import {', '.join(modules)}"
    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", imports], capture_output=True,
                                                   check=False).returncode == 0:
            return python
    print(f"skipped: no Python with {' and '.join(modules)} (Debian: {packages})")
    sys.exit(SKIPPED)


def packed(source, folder, arguments):
    """Suffix -> file."""
    output(sys.executable, source / "frontends/python/package.py", arguments[0], folder, *arguments[1:])
    return {path.suffix: path for path in folder.iterdir()}


def holds_its_record(archive):
    record = next(name for name in archive.namelist() if name.endswith("/RECORD"))
    rows = list(csv.reader(archive.read(record).decode().splitlines()))
    assert sorted(row[0] for row in rows) == sorted(archive.namelist())
    for name, digest, size in rows:
        if name != record:
            data = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert digest == f"sha256={found}" and int(size) == len(data), name


def is_a_package(deb, version):
    fields = output("dpkg-deb", "--field", deb)
    assert f"Version: {version}\n" in fields and "python3-numpy" in fields and "libc6 (>= 2." in fields, fields
    listed = output("dpkg-deb", "--contents", deb)
    for name in ("__init__.py", "plan.py", "py.typed", "libquern.so.0", "libquern_plan_banks.so.0"):
        assert f"./usr/lib/python3/dist-packages/quern/{name}\n" in listed, listed
    assert all(" root/root " in line for line in listed.splitlines()), listed


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
    python = python_with("numpy", packages="python3-numpy")
    named = dict(zip(("QUERN_LIBRARY", "QUERN_PLAN_LIBRARY"), arguments[1:]))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "empty").mkdir()
        run_tests(python, source, source / "frontends/python", named, work / "empty")
        first, second = (packed(source, work / name, arguments) for name in ("first", "second"))
        assert ".whl" in first and (".deb" in first) == bool(shutil.which("dpkg-deb")), first
        for suffix, path in first.items():
            assert path.read_bytes() == second[suffix].read_bytes(), f"{path.name} differs when it is made again"
        with zipfile.ZipFile(first[".whl"]) as archive:
            holds_its_record(archive)
            archive.extractall(work / "installed")  # which is how a wheel is installed
        run_tests(python, source, work / "installed", {}, work / "empty")
        if ".deb" in first:
            is_a_package(first[".deb"], arguments[0])
            output("dpkg-deb", "--extract", first[".deb"], work / "unpacked")
            run_tests(python, source, work / "unpacked/usr/lib/python3/dist-packages", {}, work / "empty")
    print("ok")


if __name__ == "__main__":
    main()
