#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen reads the public headers without a warning, and shows every function of the C interfaces:
api_reference.py SOURCE"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def main(source):
    if not shutil.which("doxygen"):
        print("no doxygen: install it (tools/install-packages lint)")
        return 77
    settings = (source / "docs/api/Doxyfile").read_text()
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["doxygen", "-"], cwd=source, input=f"{settings}\nOUTPUT_DIRECTORY = {folder}\n",
                             capture_output=True, text=True)
        pages = "".join(page.read_text() for page in pathlib.Path(folder).rglob("*_8h.html"))
    wanted = {name for held in (source / "tests/abi").glob("quern*.txt")
              for name in re.findall(r"^function (\w+)", held.read_text(), re.MULTILINE)}
    missing = [name for name in wanted if f">{name}<" not in pages and f"{name}()" not in pages]
    print(run.stderr, *(f"{name} is not in the reference" for name in sorted(missing)), sep="\n")
    return 1 if run.returncode or run.stderr or missing or len(wanted) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
