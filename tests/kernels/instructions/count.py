#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Multiply-adds an instruction of the products for ARM64: in the innermost loops, by the disassembly, and over
two whole products, by what qemu executes. Exits with 77 where the compiler or qemu is missing.

  tests/kernels/instructions/count.py
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PREFIX = "aarch64-linux-gnu-"
SYSROOT = "/usr/aarch64-linux-gnu"
# Source, what it is called with, the multiply-adds of an instruction, at least so many an instruction.
KERNELS = {"floats": ("simd_neon", {"fmla": 4}, 3.0), "bytes": ("int8_neon_dotprod", {"udot": 16}, 9.0),
           "bytes by i8mm": ("int8_neon_i8mm", {"usmmla": 32}, 15.0)}
COLUMNS, ROWS = 64, 6  # of main.cpp


def output(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def flags_of(source):
    """Those that kernels/CMakeLists.txt compiles a source with."""
    text = (ROOT / "kernels/CMakeLists.txt").read_text()
    loops = re.search(r"^set\(loops (.*)\)$", text, re.M).group(1)
    flags = re.search(rf"^quern_compile\({source} ?([^)]*)\)", text, re.M).group(1)
    return ["-O3", "-fPIC", "-Wno-psabi", *flags.replace("${loops}", loops).split()]


def compiled(source, flags, folder):
    to = folder / (source.stem + ".o")
    output(PREFIX + "g++", "-std=c++20", "-DNDEBUG", f"-I{ROOT}", f"-I{ROOT}/engine/include", *flags, "-c", source,
           "-o", to)
    return to


def innermost_loops(text):
    """Lists of mnemonics, from the target of a jump backwards to the jump."""
    for function in re.split(r"^[0-9a-f]+ <.*>:$", text, flags=re.M):
        rows = re.findall(r"^ +([0-9a-f]+):\t(\S+)(.*)$", function, re.M)
        at = {address: i for i, (address, _, _) in enumerate(rows)}
        loops = []
        for i, (_, name, operands) in enumerate(rows):
            target = re.search(r"\b([0-9a-f]+) <", operands)
            is_jump = re.match(r"b(\.|$)|cbn?z$|tbn?z$", name)
            if is_jump and target and at.get(target.group(1), i + 1) <= i:
                loops.append((at[target.group(1)], i))
        for first, last in loops:
            if not any(first <= f and l <= last and (f, l) != (first, last) for f, l in loops):
                yield [name for _, name, _ in rows[first:last + 1]]


def best_of_loops(text, weights):
    """Of the loop with the most multiply-adds, which is that of the largest tile."""
    counts = [(sum(weights.get(name, 0) for name in loop), len(loop)) for loop in innermost_loops(text)]
    most = max(products for products, _ in counts)
    return max(products / length for products, length in counts if products == most)


def executed(program, *arguments):
    """The instructions of a run, each a block of its own to qemu, and so a line of its log."""
    for single in ("-one-insn-per-tb", "-singlestep"):
        with tempfile.NamedTemporaryFile() as log:
            run = subprocess.run(["qemu-aarch64", "-cpu", "max", "-L", SYSROOT, single, "-d", "exec,nochain", "-D",
                                  log.name, program, *arguments], capture_output=True, text=True, check=False)
            if run.returncode == 0:
                return sum(line.startswith(b"Trace") for line in log)
    raise SystemExit(f"{program} {' '.join(arguments)}: {run.returncode} {run.stderr}")


def main():
    missing = [tool for tool in (PREFIX + "g++", PREFIX + "objdump", "qemu-aarch64") if not shutil.which(tool)]
    if missing:
        print(f"there is no {missing[0]}: tools/install-packages cross")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        objects = []
        for what, (source, weights, least) in KERNELS.items():
            objects.append(compiled(ROOT / f"kernels/simd/{source}.cpp", flags_of(source), folder))
            loop = best_of_loops(output(PREFIX + "objdump", "-d", "--no-show-raw-insn", objects[-1]), weights)
            print(f"{what}: {loop:.2f} multiply-adds an instruction of the loop, wanted {least}")
            failed += loop < least
        program = folder / "main"
        output(PREFIX + "g++", "-o", program, compiled(ROOT / "tests/kernels/instructions/main.cpp", ["-O2"], folder),
               *objects)
        for what in ("floats", "bytes"):
            least = KERNELS[what][2]
            short, long = (executed(program, what, str(depth)) for depth in (256, 768))
            whole = (768 - 256) * COLUMNS * ROWS / (long - short)
            print(f"{what}: {whole:.2f} multiply-adds an instruction executed, wanted {least}")
            failed += whole < least
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
