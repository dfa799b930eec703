#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether an answer to an open instance is a plan, what it costs, and how far that is from the best known.

    python3 bench/planning/check.py PROBLEM.csv ANSWER.csv

The answer is a CSV with the columns `id` and `offset`, and `bank` where the problem has banks; other columns, and a
table of banks before it, are passed over. Any solver may write it. Nothing of quern is used. Exit code 1: no plan.
"""
import csv
import pathlib
import sys

OPTIMA = pathlib.Path(__file__).with_name("optima.csv")


class Wrong(Exception):
    """Why an answer is no plan."""


def tables(text):
    """The rows of each table of a file; tables begin after empty lines."""
    return [list(csv.DictReader(part.split("\n"))) for part in text.replace("\r", "").split("\n\n") if part.strip()]


def number(row, column, otherwise=0):
    text = (row.get(column) or "").strip()
    return int(text) if text else otherwise


def pieces(row):
    """(first, end, from, to) for each stretch of its life; bytes that are lent in gaps are left out."""
    size, at, made = number(row, "size"), number(row, "lower"), []
    for gap in (row.get("gaps") or "").split():
        steps, _, part = gap.partition("@")
        first, end = (int(t) for t in steps.split("-"))
        made.append((at, first, 0, size))
        if part:
            made.append((first, end, *(int(b) for b in part.split(":"))))
        at = end
    made.append((at, number(row, "upper"), 0, size))
    return [p for p in made if p[0] < p[1] and p[2] < p[3]]


class Problem:
    def __init__(self, text):
        parts = tables(text)
        self.buffers = parts[-1]
        self.banks = {row["bank"]: row for row in parts[0]} if len(parts) > 1 else {"": {}}
        self.has_banks = len(parts) > 1

    def bank_of(self, row, answer):
        bank = (answer.get("bank") or "").strip() if self.has_banks else ""
        may = (row.get("banks") or "").split() or list(self.banks)
        if bank not in may:
            raise Wrong(f"buffer {row['id']} lies in bank '{bank}', which is none of its banks")
        return bank


def check_groups(problem, banks):
    for column, differ in (("separation", True), ("colocation", False)):
        groups = {}
        for row in problem.buffers:
            if number(row, column):
                groups.setdefault(number(row, column), []).append(banks[row["id"]])
        for group, used in groups.items():
            if len(set(used)) != (len(used) if differ else 1):
                raise Wrong(f"{column} {group} is not kept: {' '.join(used)}")


def check_bank(bank, placed):
    """`placed`: (row, offset) of the buffers of one bank. Returns its size and the number of reused buffers."""
    alignment = number(bank, "alignment", 1)
    for row, offset in placed:
        if offset < 0 or offset % alignment or offset % number(row, "alignment", 1):
            raise Wrong(f"buffer {row['id']} at {offset} is misaligned")
        if number(row, "offset", -1) not in (-1, offset):
            raise Wrong(f"buffer {row['id']} is at {offset}, not at its fixed offset")
    size = max((offset + number(row, "size") for row, offset in placed), default=0)
    if size > number(bank, "capacity", size):
        raise Wrong(f"bank {bank['bank']} takes {size} bytes of {bank['capacity']}")
    held = [(n, first, end, offset + low, offset + high) for n, (row, offset) in enumerate(placed)
            for first, end, low, high in pieces(row)]
    reused = set()
    for a in held:
        for b in held:
            if a[0] == b[0] or a[3] >= b[4] or b[3] >= a[4]:
                continue
            if a[1] < b[2] and b[1] < a[2]:
                raise Wrong(f"buffers {placed[a[0]][0]['id']} and {placed[b[0]][0]['id']} overlap")
            if b[2] <= a[1]:
                reused.add(a[0])
    return size, len(reused)


def judge(problem_text, answer_text):
    """Cost and bytes of a plan; an answer that is none raises Wrong."""
    problem = Problem(problem_text)
    answers = {row["id"]: row for row in tables(answer_text)[-1]}
    missing = [row["id"] for row in problem.buffers if not (answers.get(row["id"], {}).get("offset") or "").strip()]
    if missing:
        raise Wrong(f"no offset for buffer {missing[0]}")
    banks = {row["id"]: problem.bank_of(row, answers[row["id"]]) for row in problem.buffers}
    check_groups(problem, banks)
    cost = size = 0
    for name, bank in problem.banks.items():
        placed = [(row, int(answers[row["id"]]["offset"])) for row in problem.buffers if banks[row["id"]] == name]
        if any(number(row, "zero") for row, _ in placed):
            raise Wrong("buffers that must be zero are not judged here")
        bank_size, reused = check_bank(bank, placed)
        size += bank_size
        cost += number(bank, "cost") * sum(number(row, "size") for row, _ in placed) + number(bank, "reuse") * reused
    return cost, size


def optima():
    with open(OPTIMA, newline="") as f:
        return {row["name"]: row for row in csv.DictReader(f)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    problem, answer = (pathlib.Path(p) for p in sys.argv[1:])
    try:
        cost, size = judge(problem.read_text(), answer.read_text())
    except Wrong as wrong:
        sys.exit(f"no plan: {wrong}")
    known = optima().get(problem.stem)
    said = f"; known: cost {known['cost']}, {known['bytes']} bytes ({known['proof']})" if known else ""
    print(f"a plan: cost {cost}, {size} bytes{said}")


if __name__ == "__main__":
    main()
