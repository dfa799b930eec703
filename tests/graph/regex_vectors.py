#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes regex_vectors.txt: made-up expressions, texts, and what Python's re.fullmatch says of them.

Python's module backtracks and knows more; the expressions are of the syntax that RE2 has, too, and the texts
leave out what the two tell apart (\\s takes a vertical tab there, $ stands before a last newline). A line is
an expression, a tab, 0 or 1, and a text for each of them: tabs between, bytes as in a URL.
"""
import pathlib
import random
import re
import urllib.parse

LETTERS = "aabbcAkS _-09.é€𝄞\n"
CLASSES = ["[abc]", "[^a]", "[a-c]", "[^a-cA]", "[]a]", "[a-]", "[\\d_]", "[^\\w]", "[\\W\\d]", "[é-€]", "[^\\s]",
           "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", ".", "[0-9A-Fa-f]"]
PLACES = ["^", "$", "\\b", "\\B", "\\A", "\\Z"]


def atom(r, depth):
    kind = r.random()
    if kind < 0.45 or depth == 0:
        return re.escape(r.choice(LETTERS)) if r.random() < 0.8 else r.choice(["\\x61", "\\n", "\\t", "\\-", "\\."])
    if kind < 0.65:
        return r.choice(CLASSES)
    if kind < 0.75:
        return r.choice(PLACES)
    head = r.choice(["(", "(?:", "(?i:", "(?s:", "(?m:", "(?-i:", "(?ims:", f"(?P<g{r.randrange(10 ** 9)}>"])
    return head + alternatives(r, depth - 1) + ")"


def repeated(r, depth):
    a = atom(r, depth)
    if a in PLACES or r.random() < 0.6:
        return a
    least = r.randrange(4)
    counts = r.choice([f"{{{least}}}", f"{{{least},}}", f"{{{least},{least + r.randrange(4)}}}"])
    return a + r.choice(["*", "+", "?", counts]) + r.choice(["", "", "?"])


def sequence(r, depth):
    return "".join(repeated(r, depth) for _ in range(r.randrange(1, 5)))


def alternatives(r, depth):
    parts = [sequence(r, depth) for _ in range(r.choice([1, 1, 1, 2, 3]))]
    return "|".join(parts + [""] * (r.random() < 0.05))


def quoted(text):
    return urllib.parse.quote(text, safe="()[]{}*+?.^$|\\:-")


def texts_of(r, compiled):
    """Four texts that match, where some are found, and four that do not.

    Before Python 3.14, \\B does not match between nothing and nothing.
    """
    found = {True: [], False: []}
    for _ in range(400):
        text = "".join(r.choice(LETTERS) for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4, 6, 9])))
        if ("$" in compiled.pattern and text.endswith("\n")) or ("\\B" in compiled.pattern and not text):
            continue
        kept = found[compiled.fullmatch(text) is not None]
        if len(kept) < 4 and text not in kept:
            kept.append(text)
    return found


def main():
    r = random.Random(20)
    lines = []
    while len(lines) < 600:
        pattern = alternatives(r, 3)
        try:
            compiled = re.compile(pattern, re.ASCII)
        except (re.error, OverflowError):
            continue
        # Ignoring case is for ASCII alone here; the long s and the kelvin are in no text.
        if "i" in pattern and re.search("[^\x00-\x7f]", pattern):
            continue
        found = texts_of(r, compiled)
        if not found[True] and r.random() < 0.8:
            continue
        answers = [f"{int(matches)}{quoted(text)}" for matches in (True, False) for text in found[matches]]
        lines.append("\t".join([quoted(pattern.replace("\\Z", "\\z"))] + answers))
    path = pathlib.Path(__file__).parent / "regex_vectors.txt"
    path.write_text("# SPDX-License-Identifier: Apache-2.0\n# Written by regex_vectors.py.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
