#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open instances of memory planning with banks, rings and prices of reuse, as quern's CSV (docs/memory-planning.md).

    python3 bench/planning/instances.py FOLDER

writes a file for each. The same everywhere: the numbers are those of splitmix64. Families:

    spill   short and long lives, a small cheap bank, a middle one, a large dear one
    apart   the same with pins, separations and colocations
    reuse   banks with a price for each buffer that takes bytes which another held before
    rings   one memory; rings of rows that fill and drain, a few rows live at a time, as stripes make them
    spring  rings over two banks
    full    banks of no cost which are filled to the byte in every step: whether a plan exists at all
"""
import pathlib
import sys


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9e3779b97f4a7c15) % 2**64
        x = self.state
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 % 2**64
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb % 2**64
        return (x ^ (x >> 31)) % n


def peak(buffers):
    """The most bytes that are live at one time; parts of gaps count as the whole."""
    return max(sum(b["size"] for b in buffers if b["lower"] <= t < b["upper"]) for t in {b["lower"] for b in buffers})


def lives(random, count):
    """Chains with some long lives, as residual networks have them."""
    made = []
    for _ in range(count):
        lower = random.below(count)
        life = 1 + random.below(40 if random.below(4) == 0 else 6)
        made.append({"lower": lower, "upper": lower + life, "size": 64 * (1 + random.below(64))})
    return made


def three_banks(buffers, reuse=0):
    most = peak(buffers)
    return [("sram", most // 4, 1, reuse), ("psram", most // 2, 3, reuse), ("flash", sum(b["size"] for b in buffers), 10, 0)]


def spill(random, count):
    buffers = lives(random, count)
    return three_banks(buffers), buffers


def apart(random, count):
    buffers = lives(random, count)
    banks = three_banks(buffers)
    for n in range(0, count - 2, 6):
        buffers[n]["separation"] = buffers[n + 1]["separation"] = 1 + n
        if n % 12 == 0:
            buffers[n + 2]["colocation"] = 1 + n // 24
        elif random.below(2):
            buffers[n + 2]["banks"] = "psram flash"
    return banks, buffers


def reuse(random, count):
    buffers = lives(random, count)
    price = 64 * (10 + random.below(40))
    return [("device", peak(buffers) * 5 // 4, 1, price), ("host", None, 4, 0)], buffers


def ring(random, first):
    """A ring of rows: one row more in each step until it is full, one less in each of the last."""
    rows, row = 2 + random.below(4), 64 * (1 + random.below(24))
    steady = 1 + random.below(8)
    gaps = [f"{first + k}-{first + k + 1}@0:{(k + 1) * row}" for k in range(rows - 1)]
    end = first + rows - 1 + steady
    gaps += [f"{end + k}-{end + k + 1}@{(k + 1) * row}:{rows * row}" for k in range(rows - 1)]
    return {"lower": first, "upper": end + rows - 1, "size": rows * row, "gaps": " ".join(gaps)}


def rings(random, count):
    return [], [ring(random, random.below(count)) for _ in range(count)]


def spring(random, count):
    buffers = [ring(random, random.below(count)) for _ in range(count)]
    return [("sram", peak(buffers) // 2, 1, 0), ("psram", None, 4, 0)], buffers


def full(random, count):
    """Rectangles of steps x capacity, one a bank, cut in two again and again; in any order."""
    steps, banks, buffers = 40, [], []
    for bank in range(2 + count % 3):
        capacity = 512 * (2 + random.below(6))
        banks.append((f"m{bank}", capacity, 0, 0))
        areas = [(0, steps, capacity)]
        while len(areas) < count // (2 + count % 3):
            at = max(range(len(areas)), key=lambda k: (areas[k][1] - areas[k][0]) * areas[k][2])
            lower, upper, size = areas[at]
            if random.below(2) and upper - lower > 1:
                cut = lower + 1 + random.below(upper - lower - 1)
                areas[at:at + 1] = [(lower, cut, size), (cut, upper, size)]
            elif size > 64:
                cut = 64 * (1 + random.below(size // 64 - 1))
                areas[at:at + 1] = [(lower, upper, cut), (lower, upper, size - cut)]
        buffers += [{"lower": a[0], "upper": a[1], "size": a[2]} for a in areas]
    for n in range(len(buffers) - 1, 0, -1):
        other = random.below(n + 1)
        buffers[n], buffers[other] = buffers[other], buffers[n]
    return banks, buffers


FAMILIES = {"spill": (spill, (12, 20, 32, 48, 80)), "apart": (apart, (12, 20, 32, 48, 80)),
            "reuse": (reuse, (8, 12, 20, 32, 60)), "rings": (rings, (10, 16, 24, 40, 80)),
            "spring": (spring, (10, 16, 24, 40, 80)), "full": (full, (12, 18, 24, 36, 60))}


def text_of(banks, buffers):
    text = ""
    if banks:
        rows = [f"{name},{'' if capacity is None else capacity},{cost},{price}" for name, capacity, cost, price in banks]
        text = "bank,capacity,cost,reuse\n" + "\n".join(rows) + "\n\n"
    columns = ["lower", "upper", "size"]
    columns += [c for c in ("gaps", "banks", "separation", "colocation") if any(c in b for b in buffers)]
    text += "id," + ",".join(columns) + "\n"
    for n, b in enumerate(buffers):
        text += f"{n}," + ",".join(str(b.get(c, "")) for c in columns) + "\n"
    return text


def instances():
    """Name and text of every instance."""
    for family, (make, sizes) in FAMILIES.items():
        for n, count in enumerate(sizes):
            yield f"{family}-{count}", text_of(*make(Random(1000 * len(family) + 7 * ord(family[0]) + n), count))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in instances():
        (folder / f"{name}.csv").write_text(text)


if __name__ == "__main__":
    main()
