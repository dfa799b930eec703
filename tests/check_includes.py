#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No source includes a header of ours of which it uses nothing: it would be recompiled for nothing, and its
reader would look for what is not there.

Used is a header of which a source writes a name, in code and not in a comment. What headers include is
not judged: some of them are there to include others.

check_includes.py ROOT
"""
import pathlib
import re
import sys

FOLDERS = ("engine", "graph", "kernels", "frontends", "tools", "bench", "examples", "tests")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# What a header declares: types, functions, constants, macros.
DECLARED = [re.compile(p, re.M) for p in (
    r"\b(?:struct|class|enum|using|concept|union)\s+(?:class\s+)?(?:\[\[\w+\]\]\s+)?(\w+)",
    r"[\w>&*\]]\s+[&*]*(?:(?!std::)\w+::)?(\w+)\(",
    r"\b(?:const|constexpr)\b[^=;(){}]*?\b(\w+)(?:\[\w*\])?\s*(?:=|\{|;)",
    r"^#define\s+(\w+)",
    r"^QUERN_GPU_KERNEL\((\w+)\)",
)]


def names(text):
    return {name for pattern in DECLARED for name in pattern.findall(COMMENT.sub("", text))}


def is_own(path, header):
    return pathlib.PurePath(path).with_suffix(".h").as_posix() == header


def unused(path, text, headers):
    """The includes of this file of which it uses nothing; headers: name -> names that it declares."""
    code = COMMENT.sub("", text)
    written = set(re.findall(r"\w+", INCLUDE.sub("", code)))
    return [header for header in INCLUDE.findall(code)
            if headers.get(header) and not is_own(path, header) and not headers[header] & written]


def self_test():
    headers = {"a.h": names("struct A { int b; };\n// void c();\n#define D 1"),
               "b.h": names("template <class T>\nstd::vector<T>& sorted(T x);\ninline constexpr int few = 3;"),
               "macros.h": names("")}
    assert headers["a.h"] == {"A", "D"} and headers["b.h"] >= {"sorted", "few"}
    assert unused("x.cpp", '#include "a.h"\n#include "b.h"\nA a;', headers) == ["b.h"]
    assert unused("x.cpp", '#include "b.h"\nint i = few;', headers) == []
    assert unused("x.cpp", '#include "b.h"\n// sorted', headers) == ["b.h"]
    assert unused("a.cpp", '#include "a.h"\n#include "macros.h"', headers) == []


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")}
    headers = {path: names(text) for path, text in texts.items() if path.endswith(".h")}
    found = [f"{path}: nothing of {header} is used" for path, text in texts.items() if path.endswith(".cpp")
             for header in unused(path, text, headers)]
    print("\n".join(found) or "includes ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
