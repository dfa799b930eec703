#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of unicode.cpp from Python's unicodedata, beside this file.

  frontends/language/unicode_tables.py
"""
import pathlib
import sys
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
END = sys.maxunicode + 1


def wrapped(items, separator, width=116):
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) + len(separator) > width:
            lines.append(line)
            line = ""
        line += item + separator
    return lines + [line]


def write(name, what, lines):
    head = f"// SPDX-License-Identifier: Apache-2.0\n// {what} Unicode {unicodedata.unidata_version}, by unicode_tables.py.\n"
    (HERE / name).write_text(head + "\n".join(lines) + "\n")


def numbers(items):
    return wrapped([str(n) for n in items], ",")


def texts(items):
    return [f'"{line}"' for line in wrapped(items, " ")]


def runs(value):
    """The first of each run of equal values, and the value."""
    last = None
    for c in range(END):
        if (v := value(chr(c))) != last:
            yield c, v
            last = v


def decompositions():
    for c in range(END):
        text = unicodedata.decomposition(chr(c))
        if not text:
            continue
        parts = text.split()
        if parts[0].startswith("<"):
            yield f"{c:X}~" + ".".join(f"{int(p, 16):X}" for p in parts[1:])
        else:
            whole = "".join(chr(int(p, 16)) for p in parts)
            composes = len(parts) == 2 and unicodedata.normalize("NFC", whole) == chr(c)
            yield f"{c:X}{'=' if composes else '-'}" + ".".join(f"{int(p, 16):X}" for p in parts)


def small_letters():
    for c in range(END):
        small = chr(c).lower()
        if small != chr(c):
            yield f"{c:X}=" + ".".join(f"{ord(s):X}" for s in small)


write("unicode_categories.inc", "The first code point of each run of one general category, times 32, and the category.",
      numbers(c << 5 | CATEGORIES.index(v) for c, v in runs(unicodedata.category)))
write("unicode_classes.inc", "The first code point of each run of one combining class, times 256, and the class.",
      numbers(c << 8 | v for c, v in runs(unicodedata.combining)))
write("unicode_decompositions.inc", "Decompositions: = canonical, - canonical and never composed, ~ compatible.",
      texts(decompositions()))
write("unicode_small_letters.inc", "Small letters.", texts(small_letters()))
