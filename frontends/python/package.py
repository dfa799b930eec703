# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel and a Debian package of quern for Python, with the libraries inside, in a folder:

    package.py VERSION FOLDER libquern.so libquern_plan_banks.so

The same libraries give the same bytes: times are SOURCE_DATE_EPOCH or 1980. Without dpkg-deb there is no Debian
package, and a note says so. Needs Python's standard library, and strip of the binutils.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
LICENCE = HERE.parents[1] / "LICENSE"
SUMMARY = "Runs ONNX models with nothing but kernels, and plans memory"
# e_machine of an ELF file: the names of the wheel's and of Debian's architecture.
MACHINES = {62: ("x86_64", "amd64"), 183: ("aarch64", "arm64"), 243: ("riscv64", "riscv64")}
# GLIBCXX_3.4.N: the first libstdc++6 that has it.
LIBSTDCXX = {29: "11", 30: "12", 31: "13", 32: "13", 33: "14", 34: "15"}


def epoch():
    """Seconds since 1970; ZIP knows no time before 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)


def stripped(library):
    """The bytes of a library without what only debuggers read."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "library"
        subprocess.run([os.environ.get("STRIP", "strip"), "-o", copy, library], check=True)
        return copy.read_bytes()


def machine_of(elf):
    number = struct.unpack_from("<H", elf, 18)[0]
    if elf[:4] != b"\x7fELF" or number not in MACHINES:
        sys.exit(f"package.py: no library of a machine that is known: ELF machine {number}, wanted {list(MACHINES)}")
    return MACHINES[number]


def newest(pattern, libraries):
    """The newest version of a symbol's that the libraries ask for."""
    return max(tuple(int(n) for n in found.split(b".")) for data in libraries for found in re.findall(pattern, data))


def files_of(libraries):
    """Name in the package -> bytes."""
    files = {f"quern/{path.name}": path.read_bytes() for path in (HERE / "quern").iterdir()
             if path.suffix in (".py", ".typed")}
    # By the name that a program asks for: libquern.so.0
    files |= {f"quern/{path.name}.0": stripped(path) for path in libraries}
    return files


def wheel(version, folder, files, machine):
    """PEP 427: a ZIP archive whose last entry has a hash of each other."""
    info = f"quern-{version}.dist-info"
    tag = f"py3-none-linux_{machine}"
    entries = dict(sorted(files.items()))
    entries[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: quern\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
        "Requires-Python: >=3.11\nRequires-Dist: numpy\n").encode()
    entries[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: quern\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    entries[f"{info}/licenses/LICENSE"] = LICENCE.read_bytes()
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for name, data in entries.items()]
    entries[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    path = folder / f"quern-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def control_of(version, architecture, files, libraries):
    glibc = ".".join(str(n) for n in newest(rb"GLIBC_(\d+\.\d+)", libraries))
    libstdcxx = LIBSTDCXX.get(newest(rb"GLIBCXX_3\.4\.(\d+)", libraries)[0], "11")
    size = sum(len(data) for data in files.values()) // 1024 + 1
    return (f"Package: python3-quern\nVersion: {version}\nArchitecture: {architecture}\n"
            "Maintainer: quern <quern@localhost>\nSection: python\nPriority: optional\n"
            f"Installed-Size: {size}\n"
            f"Depends: python3 (>= 3.11), python3-numpy, libc6 (>= {glibc}), libstdc++6 (>= {libstdcxx}), libgcc-s1\n"
            "Recommends: libdnnl3 | libdnnl2, libgomp1\n"
            "Suggests: libvulkan1, libstb0 | libstb0t64, libturbojpeg0, libopenjp2-7, libtiff6, libwebp7\n"
            f"Description: {SUMMARY}\n The engine and the memory planner of quern for Python, by ctypes and numpy.\n")


def debian_package(version, folder, files, architecture):
    libraries = [data for name, data in files.items() if ".so" in name]
    path = folder / f"python3-quern_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary) / "root"
        placed = {f"usr/lib/python3/dist-packages/{name}": data for name, data in files.items()}
        placed["usr/share/doc/python3-quern/copyright"] = LICENCE.read_bytes()
        placed["DEBIAN/control"] = control_of(version, architecture, files, libraries).encode()
        for name, data in placed.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        for file in [root, *root.rglob("*")]:
            file.chmod(0o755 if file.is_dir() else 0o644)
            os.utime(file, (epoch(), epoch()))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, path], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())})
    return path


def main():
    version, folder, libraries = sys.argv[1], pathlib.Path(sys.argv[2]), [pathlib.Path(p) for p in sys.argv[3:]]
    if len(libraries) != 2:
        sys.exit(__doc__)
    folder.mkdir(parents=True, exist_ok=True)
    # The library behind the links libquern.so and libquern.so.0.
    files = files_of([path.parent / re.sub(r"\.so.*", ".so", path.name) for path in libraries])
    machine, architecture = machine_of(files["quern/libquern.so.0"])
    print(wheel(version, folder, files, machine))
    if shutil.which("dpkg-deb"):
        print(debian_package(version, folder, files, architecture))
    else:
        print("there is no dpkg-deb: no Debian package is made", file=sys.stderr)


if __name__ == "__main__":
    main()
