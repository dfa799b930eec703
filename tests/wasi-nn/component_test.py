# SPDX-License-Identifier: Apache-2.0
"""A component, made and run with jco in Node on the addon: component_test.py ADDON SOURCE. jco's
transpiler is looked for in QUERN_JCO, a folder with node_modules; without that it is installed by
npm, once a user, into the cache (5 s, 105 MB). Exits with 77 where a tool is missing."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from guests import SKIPPED, can_build, compiled, node_version

PACKAGE, VERSION = "@bytecodealliance/jco-transpile", "0.15.0"  # as in jco 1.35


def jco_folder():
    """None: it is not there and cannot be had."""
    if "QUERN_JCO" in os.environ:
        return pathlib.Path(os.environ["QUERN_JCO"])
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    folder = cache / f"quern/jco-transpile-{VERSION}"
    if (folder / "complete").exists():
        return folder
    if not shutil.which("npm"):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
                           str(folder), f"{PACKAGE}@{VERSION}"], capture_output=True, text=True,
                          timeout=200, check=False)
    if done.returncode:
        print(done.stderr[-500:])
        return None
    (folder / "complete").touch()
    return folder


def main():
    addon, source = (pathlib.Path(a) for a in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        if node_version() < 20 or not can_build(folder):
            print("there is no Node 20, or clang cannot build for wasm32-wasi")
            return SKIPPED
        jco = jco_folder()
        if not jco:
            print("there is no jco: neither QUERN_JCO nor npm with a registry")
            return SKIPPED
        test = source / "tests/wasi-nn/component"
        module = compiled(test / "guest.c", folder, "-mexec-model=reactor")
        subprocess.run(["node", "--no-warnings", test / "run.mjs", module, test / "world.wit", addon,
                        jco, source / "examples/digits/digits.onnx", f"{folder}/work"], check=True,
                       timeout=120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
