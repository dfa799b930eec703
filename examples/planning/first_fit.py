#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A placement strategy as a process: quern plan buffers.csv --strategy exec:./first_fit.py

Reads buffers as CSV from stdin and writes the same rows to stdout with one more column, `offset`. The
first argument is the capacity in bytes (0: as small as possible), the second the seconds there are.
"""
import csv
import sys


def lowest_offset(buffer, placed):
    """The lowest multiple of the alignment at which the buffer meets none that lives when it does."""
    align = int(buffer.get("alignment") or 1)
    size = int(buffer["size"])
    others = sorted((other["offset"], other["offset"] + int(other["size"])) for other in placed
                    if int(other["lower"]) < int(buffer["upper"]) and int(buffer["lower"]) < int(other["upper"]))
    at = 0
    for first, end in others:
        if at + size <= first:
            break
        at = max(at, -(-end // align) * align)
    return at


def main():
    reader = csv.DictReader(sys.stdin)
    placed = []
    for buffer in sorted(reader, key=lambda b: -int(b["size"])):
        buffer["offset"] = lowest_offset(buffer, placed)
        placed.append(buffer)
    fields = [f for f in reader.fieldnames if f != "offset"] + ["offset"]
    writer = csv.DictWriter(sys.stdout, fields)
    writer.writeheader()
    writer.writerows(placed)


if __name__ == "__main__":
    main()
