#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the plain comments of a header to Doxygen: filter.py HEADER

Comments before a declaration become its text, those behind it too, the first of the file becomes the file's.
Nothing in a comment is a command or a tag, so that what looks like one is quoted.
"""
import re
import sys


def quoted(text):
    return re.sub(r"([@\\<>&#%$])", r"\\\1", text)


def comments(lines):
    """The lines, with comments as Doxygen wants them."""
    inside = first = False
    started = False  # the comment of the file is behind us
    for line in lines:
        stripped = line.strip()
        if "SPDX-License-Identifier" in line:
            yield ""
            continue
        if inside:
            inside = "*/" not in line
            yield quoted(line) if inside else quoted(line[: line.index("*/")]) + "*/" + line[line.index("*/") + 2:]
        elif stripped.startswith("/* ---") or stripped.startswith("// ---"):
            yield ""  # a line that divides the file
        elif stripped.startswith(("//", "/*")):
            first, started = not started, True
            indent = line[: len(line) - len(line.lstrip())]
            if stripped.startswith("//"):
                # Lines that follow each other are one comment.
                yield indent + "///" + (" @file\n///" if first else "") + quoted(stripped[2:])
            else:
                inside = "*/" not in stripped
                body = stripped[2:] if inside else stripped[2: stripped.index("*/")]
                rest = "" if inside else "*/" + stripped[stripped.index("*/") + 2:]
                yield indent + "/**" + (" @file\n" if first else "") + quoted(body) + rest
        elif match := re.match(r"(.*[;,({] +)/\*(.*)$", line):
            inside = "*/" not in match.group(2)
            body = match.group(2) if inside else match.group(2)[: match.group(2).index("*/")]
            yield match.group(1) + "/**<" + quoted(body) + ("" if inside else "*/")
        elif match := re.match(r"(.*[;,] +)//(.*)$", line):
            yield match.group(1) + "///<" + quoted(match.group(2))
        else:
            started = started or bool(stripped)
            yield line


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print("\n".join(comments(file.read().splitlines())))
