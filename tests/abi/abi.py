#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a C interface with the list of it that was released: what programs were built against stays.

  tests/abi/abi.py LIST LIBRARY HEADER...            exits 1 where they differ, 77 without tools
  tests/abi/abi.py --write LIST LIBRARY HEADER...    writes the list: for a release, or before the first

The list has the functions with the version of their symbol, structures with their fields, constants and
named types, as the headers declare them and the library exports them. Functions, constants and types stay
as they are; a structure that begins with its size may grow at its end, others may not. What is new raises
the version that the header defines, if it defines one.
"""
import os
import re
import shutil
import subprocess
import sys

# Declared for those who write them.
WRITTEN_BY_USERS = {"quern_register_ops"}
VERSION = re.compile(r"#define (?:QUERN_\w*)API_VERSION (\d+)")


def preprocessed(header):
    """The header's own text, without what it includes, and with macros expanded."""
    roots = [re.sub(r"/quern/c/.*", "", os.path.abspath(header))]
    roots.append(os.path.abspath(os.path.join(os.path.dirname(__file__), "../../engine/include")))
    text = subprocess.run([os.environ.get("CC", "cc"), "-E", "-std=c99", *(f"-I{r}" for r in roots), header],
                          capture_output=True, text=True, check=True).stdout
    own, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = os.path.basename(marker.group(1)) == os.path.basename(header)
        elif own:
            lines.append(line)
    return re.sub(r'__attribute__\s*\(\(visibility\("default"\)\)\)', "", "\n".join(lines))


def declarations(text):
    """The declarations, each on one line, without the semicolon."""
    text = re.sub(r"\s+", " ", text)
    depth, begin, found = 0, 0, []
    for at, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            found.append(re.sub(r"\s*([(),;{}*])\s*", r"\1", text[begin:at].strip()).replace("*", "* "))
            begin = at + 1
    return found


def constants(body):
    value, rows = -1, {}
    for part in filter(None, body.split(",")):
        name, _, given = (p.strip() for p in part.partition("="))
        value = int(given, 0) if given else value + 1
        rows[f"constant {name}"] = str(value)
    return rows


def entries(header, versions):
    """What a header declares: text by what it is called."""
    rows = {}
    for d in declarations(preprocessed(header)):
        if m := re.fullmatch(r"(?:typedef )?enum ?\w*\{(.*)\} ?\w*", d):
            rows |= constants(m.group(1))
        elif m := re.fullmatch(r"(?:typedef )?struct (\w+)\{(.*)\}\w*", d):
            rows[f"structure {m.group(1)}"] = m.group(2).rstrip(";").replace(";", "; ")
        elif re.fullmatch(r"struct \w+", d):
            continue  # defined further on, or never
        elif m := re.fullmatch(r"typedef (.*?)\(\* (\w+)\)(\(.*\))", d):
            rows[f"type {m.group(2)}"] = f"{m.group(1)} (*){m.group(3)}"
        elif m := re.fullmatch(r"typedef (.*?) ?(\w+)", d):
            rows[f"type {m.group(2)}"] = m.group(1)
        elif m := re.fullmatch(r"(.*?) ?(\w+)(\(.*\))", d):
            name = m.group(2)
            rows[f"function {name}"] = f"{versions.get(name, 'not exported')}: {m.group(1)} {m.group(3)}"
        else:
            sys.exit(f"abi.py: {header}: '{d}' is not understood")
    return rows


def exported(library):
    """The functions that a library exports, with the version of each."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r" [TWi] (\w+)@@(\w+)$", text, re.MULTILINE))


def read_list(path):
    with open(path) as file:
        rows = [line.rstrip("\n") for line in file if not line.startswith("#")]
    return dict(row.split(" = ", 1) for row in rows if row)


def differences(old, new, newer):
    """A sentence for each thing that a program could trip over. `newer`: the header's version was raised."""
    for name, was in old.items():
        now = new.get(name)
        if now is None:
            yield f"{name} is gone"
        elif now != was and not (was.startswith("size_t struct_size; ") and now.startswith(was + "; ")):
            yield f"{name} was\n    {was}\n  and is\n    {now}"
        elif now != was and not newer:
            yield f"{name} has grown, and the header's version is as it was"
    for name in new.keys() - old.keys():
        if not newer:
            yield f"{name} is new, and the header's version is as it was"


def main(write, held, library, *headers):
    if not shutil.which(os.environ.get("CC", "cc")) or not shutil.which("nm"):
        print("no C compiler, or no nm: install gcc and binutils")
        return 77
    versions = exported(library)
    new = {}
    for header in headers:
        new |= entries(header, versions | dict.fromkeys(WRITTEN_BY_USERS, "written by users"))
    texts = [open(header).read() for header in headers]
    version = next((m.group(1) for m in map(VERSION.search, texts) if m), "none")
    wrong = [f"{name} is not exported" for name, text in new.items() if text.startswith("not exported")]
    wrong += [f"{name} is exported, and no header declares it" for name in versions if f"function {name}" not in new]
    if write:
        with open(held, "w") as file:
            print("# SPDX-License-Identifier: Apache-2.0\n# Written by tests/abi/abi.py, which says what may change.",
                  file=file)
            for name, text in [("version", version), *sorted(new.items())]:
                print(f"{name} = {text}", file=file)
    old = read_list(held)
    newer = version == "none" or int(version) > int(old["version"])
    wrong += differences({k: v for k, v in old.items() if k != "version"}, new, newer)
    for sentence in wrong:
        print(f"{os.path.basename(library)}: {sentence}")
    if wrong and not write:
        print(f"Programs that were built before would break. If that is meant: {sys.argv[0]} --write ...")
    return 1 if wrong else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    if len(arguments) - write < 3:
        sys.exit(__doc__)
    sys.exit(main(write, *arguments[write:]))
