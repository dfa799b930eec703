#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function takes a bool: a caller's number would become one without a word.

A call then says `f(x, true)`, which no reader understands, and `f(x, size)` compiles: neither
gcc nor clang warn of it, and clang-tidy's readability-implicit-bool-conversion is silent inside of
macros such as QUERN_ASSIGN. An enum class cannot be mistaken, and neither can a named field of a
struct: a number there is narrowed, which is clang's error and gcc's warning.

What truly is a bool, such as an element of a tensor, is written `std::same_as<bool> auto`, to which
nothing converts. bool_parameters.txt has a line for each file with such parameters: the file, how
many they are, and the reason.

check_bools.py ROOT
"""
import pathlib
import re
import sys

FOLDERS = ("engine", "graph", "kernels", "frontends", "tools", "bench", "examples")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>(){};]*>")
# A parameter, and not a variable that is declared or a type that is measured.
PARAMETER = re.compile(
    r"(?<!QUERN_ASSIGN)(?<!if )(?<!for )(?<!while )(?<!switch )(?<!sizeof)(?<!alignof)[(,]\s*"
    r"(?:\[\[\w+\]\]\s*)?(?:(?:const\s+)?bool\b(?:\s+const)?(?:\s*&&)?|const\s+bool\s*&|"
    r"(?:const\s+)?std::optional__BOOL)(?:\s*[a-z_]\w*)?\s*(?=[,)=])")
ONLY_BOOL = re.compile(r"\bstd::same_as<bool>\s+auto\b")


def blanked(text):
    """Without comments and strings, line by line as before."""
    return COMMENT_OR_STRING.sub(lambda m: "\n" * m.group().count("\n"), text)


def lines_of(pattern, text):
    """Lines where it ends, counted from 1."""
    return [text.count("\n", 0, m.end()) + 1 for m in pattern.finditer(text)]


def bool_parameters(text):
    text = blanked(text).replace("std::optional<bool>", "std::optional__BOOL")
    found = 1
    while found:  # from the innermost ones
        text, found = TEMPLATE_ARGUMENTS.subn(lambda m: "\n" * m.group().count("\n"), text)
    return lines_of(PARAMETER, text)


def bool_elements(text):
    return lines_of(ONLY_BOOL, blanked(text))


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def self_test():
    assert bool_parameters("void f(int a, bool b);") == [1]
    assert bool_parameters("void f(bool a,\n       bool b = false);") == [1, 2]
    assert bool_parameters("void f(bool a = g(1, 2));") == [1]
    assert bool_parameters("void f(int, bool);\nstd::function<void(bool)> g;") == [1, 2]
    assert bool_parameters("void f([[maybe_unused]] bool a, const bool& b, bool&& c);") == [1, 1, 1]
    assert bool_parameters("void f(std::optional<bool> a);") == [1]
    assert bool_parameters("auto g = [&](const bool b) {};") == [1]
    assert bool_parameters("bool f(int a); // (bool b)\nbool b = f(2);") == []
    assert bool_parameters("if (const bool b = f()) g(sizeof(bool));") == []
    assert bool_parameters("QUERN_ASSIGN(const bool b, f());") == []
    assert bool_parameters("void f(bool& out, bool* outs);") == []
    assert bool_parameters("std::variant<int,\n  bool, double> v; f(g<int, bool>(1));") == []
    assert bool_parameters("template <class T, bool A, bool B> f();") == []
    assert bool_parameters("void f(std::same_as<bool> auto a);") == []
    assert bool_elements("void f(std::same_as<bool> auto a, int b);") == [1]


def listed_elements(path):
    """By file: how many, and whether a reason is given."""
    listed = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, count, *reason = line.split(maxsplit=2)
            listed[name] = int(count) if reason else 0
    return listed


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    listed = listed_elements(root / "tests" / "bool_parameters.txt")
    failed = False
    for path, text in sources(root):
        for line in bool_parameters(text):
            failed = True
            print(f"{path}:{line}: a parameter is a bool: take an enum class or a struct")
        elements = bool_elements(text)
        if len(elements) != listed.pop(path, 0):
            failed = True
            print(f"{path}: {len(elements)} parameters are bools by nature, in lines "
                  f"{', '.join(map(str, elements))}; bool_parameters.txt does not say so with a "
                  "reason")
    for path in listed:
        failed = True
        print(f"{path} is in bool_parameters.txt and no file that is read")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
