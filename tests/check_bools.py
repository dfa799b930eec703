#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function takes a bool: a caller's number would become one without a word.

A call then says `f(x, true)`, which no reader understands, and `f(x, size)` compiles: neither
gcc nor clang warn of it, and clang-tidy's readability-implicit-bool-conversion is silent inside of
macros such as QUERN_ASSIGN. An enum class, or a named field of a struct, cannot be mistaken.

bool_parameters.txt counts, by file, what still stands; it may only shrink. Elements that are bools
(of a tensor, in a loop over types) stay on it for good.

check_bools.py ROOT [--write]: with --write the list is made anew.
"""
import pathlib
import re
import sys

FOLDERS = ("engine", "graph", "kernels", "frontends", "tools")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# `bool name` as an argument of a declaration or a lambda; not in a macro that declares a variable.
PARAMETER = re.compile(
    r"(?<!QUERN_ASSIGN)[(,]\s*(?:const\s+)?(bool\s+[a-z_]\w*)\s*(?:=\s*[^,();]+)?(?=[,)])")


def bool_parameters(text):
    """Lines, counted from 1, of the parameters."""
    text = COMMENT_OR_STRING.sub(lambda m: "\n" * m.group().count("\n"), text)
    return [text.count("\n", 0, m.start(1)) + 1 for m in PARAMETER.finditer(text)]


def found_in(root):
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            lines = bool_parameters(path.read_text(encoding="utf-8"))
            if lines:
                found[path.relative_to(root).as_posix()] = lines
    return found


def self_test():
    assert bool_parameters("void f(int a, bool b);") == [1]
    assert bool_parameters("void f(bool a,\n       bool b = false);") == [1, 2]
    assert bool_parameters("auto g = [&](const bool b) {};") == [1]
    assert bool_parameters("bool f(int a); // (bool b)\nbool b = f(2);") == []
    assert bool_parameters("QUERN_ASSIGN(const bool b, f());") == []
    assert bool_parameters("void f(bool& out);") == []


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    listed_at = root / "tests" / "bool_parameters.txt"
    found = found_in(root)
    if "--write" in sys.argv:
        listed_at.write_text("".join(f"{p} {len(n)}\n" for p, n in found.items()), encoding="utf-8")
        return 0
    listed = dict(line.split() for line in listed_at.read_text(encoding="utf-8").splitlines())
    failed = False
    for path, lines in found.items():
        allowed = int(listed.get(path, 0))
        if len(lines) > allowed:
            failed = True
            print(f"{path}: {len(lines)} parameters are bools, {allowed} are listed; lines "
                  f"{', '.join(map(str, lines))}: use an enum class")
    for path, allowed in listed.items():
        if len(found.get(path, ())) < int(allowed):
            print(f"{path}: fewer than the {allowed} that are listed; bool_parameters.txt may shrink")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
