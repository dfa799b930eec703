# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian packages as the preset `deb` says, unpacks them into one folder, and uses what is there as
strangers do: deb_test.py BUILD SOURCE"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGES = {"libquern0": "libquern.so.0", "libquern-wasi-nn0": "libquern_wasi_nn.so.0",
            "libquern-dev": "include/quern/c/quern.h", "quern": "bin/quern"}


def run(*command, env=None):
    done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make(build, source, folder):
    presets = json.loads((source / "CMakePresets.json").read_text())["packagePresets"]
    preset = next(p for p in presets if p["name"] == "deb")
    settings = [word for key, value in preset["variables"].items() for word in ("-D", f"{key}={value}")]
    run("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", folder, *settings)
    return {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}


def is_well_formed(name, path):
    """A package that dpkg takes, with what it is made for, what it needs and under which licence it is."""
    fields = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", path).splitlines() if line.strip() and line[0] != " ")
    assert fields["Architecture"] == run("dpkg", "--print-architecture").strip(), fields
    assert fields["Version"][0].isdigit() and fields["Maintainer"] and fields["Description"], fields
    assert "libc6" in fields["Depends"] or name == "libquern-dev", fields
    if name == "libquern-dev":
        assert f"libquern0 (= {fields['Version']})" in fields["Depends"], fields
    listed = run("dpkg-deb", "-c", path)
    assert PACKAGES[name] in listed and "copyright" in listed, (name, listed)


def main():
    build, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    if not shutil.which("dpkg-deb") or not shutil.which("dpkg-shlibdeps"):
        print("no dpkg-deb, or no dpkg-shlibdeps: install dpkg-dev")
        return 77
    digits = source / "examples/digits"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        made = make(build, source, work)
        assert made.keys() == PACKAGES.keys(), made
        for name, path in made.items():
            is_well_formed(name, path)
            run("dpkg-deb", "-x", path, work / "root")
        usr = work / "root/usr"
        found = json.loads(run(usr / "bin/quern", "run", digits / "digits.onnx", "--image", digits / "seven.png", "--json"))
        assert found["outputs"], found
        env = dict(os.environ, PKG_CONFIG_PATH=str(usr / "lib/pkgconfig"), LD_LIBRARY_PATH=str(usr / "lib"))
        flags = run("pkg-config", "--cflags", "--libs", "quern", env=env).split()
        run("cc", "-std=c99", "-o", work / "c", source / "examples/minimal.c", *flags, env=env)
        assert run(work / "c", digits / "digits.onnx", env=env)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
