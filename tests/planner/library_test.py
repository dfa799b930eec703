# SPDX-License-Identifier: Apache-2.0
"""libquern_plan.so as it is shipped: small, of its C API alone, and in need of no other library than those of
C and C++: library_test.py LIBRARY CONFIGURATION"""
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_BYTES = 400 * 1024  # stripped, of a release build
SYSTEM = re.compile(r"(libstdc\+\+|libm|libgcc_s|libc|ld-linux[\w-]*)\.so\.\d+")


def output(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def main():
    library, configuration = pathlib.Path(sys.argv[1]), sys.argv[2]
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", library))
    strangers = [name for name in needed if not SYSTEM.fullmatch(name)]
    assert needed and not strangers, f"{library.name} needs {strangers}"

    shown = [line.split()[-1].split("@")[0] for line in output("nm", "-D", "--defined-only", library).splitlines()]
    odd = [name for name in shown if not name.startswith(("quern_planner_", "QUERN_PLAN_"))]
    assert len(shown) > 20 and not odd, f"{library.name} shows {odd}"

    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / library.name
        output("strip", "-o", stripped, library)
        size = stripped.stat().st_size
    print(f"{size} bytes stripped, needs {', '.join(needed)}, shows {len(shown)} names")
    if configuration == "Release":
        assert size <= MOST_BYTES, f"{size} bytes stripped, wanted at most {MOST_BYTES}"


if __name__ == "__main__":
    main()
