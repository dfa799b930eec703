#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""abi.py finds what breaks programs, and lets through what does not: a small library, changed in each way."""
import os
import subprocess
import sys
import tempfile

ABI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "abi.py")
HEADER = """#define QUERN_API_VERSION 1
typedef int quern_status;
enum { QUERN_OK = 0, QUERN_BUSY };
typedef struct quern_options { unsigned long struct_size; int threads; } quern_options;
typedef struct quern_pair { int a; int b; } quern_pair;
typedef void (*quern_task)(void* data);
quern_status quern_run(const quern_options* options);
void quern_stop(void);
"""
NEWER = ("API_VERSION 1", "API_VERSION 2")
GROWN = ("int threads;", "int threads; int limit;")
# What is changed in the header, and a part of what is said about it; None: nothing is wrong.
CHANGES = [
    ([], None),
    ([("void quern_stop(void);", "")], "function quern_stop is gone"),
    ([("quern_stop(void)", "quern_stop(int now)")], "function quern_stop was"),
    ([("QUERN_OK = 0", "QUERN_OK = 1")], "constant QUERN_OK was"),
    ([GROWN], "structure quern_options has grown"),
    ([GROWN, NEWER], None),
    ([("int threads;", "int limit; int threads;"), NEWER], "structure quern_options was"),
    ([("int b;", "int b; int c;"), NEWER], "structure quern_pair was"),
    ([("QUERN_BUSY", "QUERN_BUSY, QUERN_LOST")], "constant QUERN_LOST is new"),
    ([("(void* data)", "(void* data, int index)"), NEWER], "type quern_task was"),
    ([("void quern_stop(void);", "void quern_stop(void);\nvoid quern_wait(void);"), NEWER], "quern_wait is not exported"),
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        header, held, library = (os.path.join(folder, n) for n in ("quern.h", "quern.txt", "libquern.so"))
        source, symbols = (os.path.join(folder, n) for n in ("quern.c", "quern.map"))
        with open(source, "w") as file:
            file.write("int quern_run(const void* options) { return options != 0; }\nvoid quern_stop(void) {}\n")
        with open(symbols, "w") as file:
            file.write("QUERN_1 { global: quern_run; quern_stop; local: *; };\n")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, f"-Wl,--version-script={symbols}",
                        "-o", library], check=True)
        failed = 0
        for i, (changes, expected) in enumerate([([], None), *CHANGES]):
            text = HEADER.replace("unsigned long", "size_t")
            for old, new in changes:
                assert old in text, old
                text = text.replace(old, new)
            with open(header, "w") as file:
                file.write("#include <stddef.h>\n" + text)
            run = subprocess.run([sys.executable, ABI, *(["--write"] if i == 0 else []), held, library, header],
                                 capture_output=True, text=True)
            as_wanted = run.returncode == (expected is not None) and (expected or "") in run.stdout
            if expected == "function quern_stop is gone":  # the library still has it
                as_wanted &= "quern_stop is exported, and no header declares it" in run.stdout
            if not as_wanted:
                failed += 1
                print(f"{changes}: exit {run.returncode}, expected '{expected}':\n{run.stdout}{run.stderr}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
