#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how the sources hang together: what a change rebuilds, how full folders and files are.

  tests/structure.py                    the sources alone
  tests/structure.py build/release      and what each header of an operator family rebuilds there

A header that rebuilds more than MOST_REBUILT objects is an error: somebody includes it who needs a kind, a
name (tests/graph/named_op.h) or one function of another header. Exits with 77 where ninja has not built.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = (".cpp", ".h", ".inc", ".c")
MOST_REBUILT = 20  # objects, in a build with QUERN_UNITY


def listed(*patterns):
    found = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / path for path in found.stdout.split() if (ROOT / path).exists()]


def sources():
    return [path for path in listed() if path.suffix in SOURCES]


def function_lengths(path):
    """The first line of each definition, and its lines as clang-format lays them out."""
    lines = path.read_text(errors="replace").splitlines()
    head = []  # of the declaration that is being read
    for at, line in enumerate(lines):
        head.append(line)
        text = " ".join(part.strip() for part in head)
        if line.endswith((";", "}", ":")) or line.lstrip().startswith(("//", "#")) or not line.strip():
            head = []
        elif line.endswith("{"):
            opened, head = head[0], []
            indent = re.match(r"\s*", opened).group(0)
            is_function = re.match(r"(?!namespace|struct|class|enum|union|extern|if|for|while|switch|else|do\b|return)"
                                   r"[\w:~<>,&*\[\] ]+\(.*\)[\w &:(),.<>*{}-]*\{$", text)
            if not is_function or "=" in text.split("(")[0] and "operator" not in text:
                continue
            if text.count("(") != text.count(")"):  # a lambda that is an argument
                continue
            end = next((k for k in range(at + 1, len(lines)) if lines[k].startswith(indent + "}")), at)
            yield opened.strip(), end - at + 1


def include_arrows(folder, target):
    pattern = re.compile(r'#include [<"](' + target + r")/")
    return [f"{path.relative_to(ROOT)}: {match.group(0)}" for path in listed(f"{folder}/**")
            if path.suffix in SOURCES for match in pattern.finditer(path.read_text(errors="replace"))]


def rebuilt(build):
    """Header with attributes of operators -> objects that depend on it, as ninja has seen them."""
    objects, current = {}, None
    if not (pathlib.Path(build) / "build.ninja").exists():
        print(f"structure.py: {build} is no folder that ninja has built in; try build/release", file=sys.stderr)
        sys.exit(77)
    for line in subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if line and not line.startswith(" "):
            current = line.split(":")[0]
        elif match := re.search(r"(graph/ops/\w+\.h)$", line):
            objects.setdefault(match.group(1), set()).add(current)
    def counts(header):  # those with attributes, and the kinds that are one attribute's values
        return "fields(" in (ROOT / header).read_text() or header.endswith("_kind.h")

    return {header: len(found) for header, found in objects.items() if counts(header)}


def row(what, value, detail=""):
    print(f"{what:58}{value:>8}  {detail}".rstrip())


def main():
    for folder in ("kernels", "engine", "graph/memory"):
        row(f"files directly in {folder}/", sum(1 for p in listed(f"{folder}/*") if p.parent == ROOT / folder))
    row("lines of CMake", sum(len(p.read_text().splitlines()) for p in listed("*CMakeLists.txt", "*.cmake")))
    long_files = {str(p.relative_to(ROOT)): n for p in sources() if (n := len(p.read_text(errors="replace")
                                                                           .splitlines())) > 700}
    row("files over 700 lines", len(long_files), ", ".join(f"{p} {n}" for p, n in sorted(long_files.items())))
    long_functions = [f"{p.relative_to(ROOT)} {name[:40]} {n}" for p in sources() if p.suffix == ".cpp"
                      for name, n in function_lengths(p) if n > 60 and not name.startswith("TEST")]
    row("functions over 60 lines", len(long_functions), "; ".join(long_functions))
    arrows = include_arrows("graph", "kernels|engine/(?!include)") + include_arrows("kernels", "engine/(?!include)")
    row("includes that point up from graph and kernels", len(arrows), "; ".join(arrows))
    if len(sys.argv) > 1:
        counts = rebuilt(sys.argv[1])
        for header, count in sorted(counts.items(), key=lambda r: -r[1]):
            row(f"objects rebuilt when {header} changes", count)
        if over := [f"{header} {count}" for header, count in counts.items() if count > MOST_REBUILT]:
            sys.exit(f"structure.py: more than {MOST_REBUILT} objects are rebuilt: {', '.join(sorted(over))}")


if __name__ == "__main__":
    main()
