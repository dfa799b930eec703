#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the sample pictures: zero.png to nine.png as chalk on a blackboard, and three as ink on paper.

The strokes below were made for this folder, none is a digit of the data set; so the pictures are
free like the rest of the repository, and tell the network something new.
"""
import pathlib

import numpy
from PIL import Image, ImageDraw, ImageFilter

HERE = pathlib.Path(__file__).resolve().parent
SIDE, FINE = 280, 4  # pixels of a picture; drawn this much larger, then shrunk
NAMES = "zero one two three four five six seven eight nine".split()
# Strokes of a pen through points: x to the right, y down, the digit in 0..1 x 0..1.
STROKES = {
    0: [[(.60, .03), (.36, .08), (.19, .36), (.20, .70), (.40, .96), (.66, .90), (.82, .62),
         (.80, .27), (.62, .06), (.47, .05)]],
    1: [[(.30, .26), (.44, .15), (.56, .02), (.54, .35), (.51, .68), (.49, .99)]],
    2: [[(.20, .25), (.30, .07), (.52, .01), (.73, .11), (.74, .33), (.58, .58), (.36, .80),
         (.18, .96), (.40, .93), (.62, .97), (.86, .93)]],
    3: [[(.22, .10), (.45, .01), (.70, .07), (.74, .25), (.60, .40), (.42, .46), (.64, .50),
         (.79, .67), (.72, .90), (.47, 1.0), (.20, .90)]],
    4: [[(.36, .03), (.27, .26), (.17, .53), (.36, .58), (.60, .56), (.86, .53)],
        [(.68, .20), (.64, .50), (.60, .78), (.58, 1.0)]],
    5: [[(.32, .05), (.29, .23), (.24, .45), (.44, .38), (.68, .44), (.79, .64), (.70, .87),
         (.46, .99), (.20, .92)], [(.32, .05), (.54, .06), (.80, .03)]],
    6: [[(.66, .02), (.44, .16), (.26, .42), (.21, .70), (.34, .94), (.58, .98), (.75, .80),
         (.68, .59), (.48, .54), (.30, .66), (.24, .78)]],
    7: [[(.17, .08), (.40, .06), (.62, .08), (.83, .04), (.70, .32), (.57, .62), (.46, 1.0)],
        [(.36, .54), (.56, .51), (.74, .50)]],
    8: [[(.70, .14), (.50, .02), (.29, .11), (.30, .31), (.52, .47), (.73, .67), (.70, .90),
         (.49, .99), (.27, .89), (.28, .68), (.50, .48), (.70, .31), (.71, .14)]],
    9: [[(.74, .22), (.58, .05), (.36, .09), (.25, .30), (.36, .49), (.58, .46), (.73, .25),
         (.73, .52), (.67, .78), (.55, .99)]],
}


def curve(points, steps=24):
    """Catmull-Rom: a smooth curve through all points."""
    p = numpy.array([points[0]] + points + [points[-1]])
    t = numpy.linspace(0, 1, steps)[:, None]
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        yield from 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2
                          + (3 * b - a - 3 * c + d) * t**3)


def draw(digit, height=0.72, left=0.25, top=0.14, pen=0.075, slant=0.0):
    """How much ink lies where, 0..1; sizes are shares of the picture's side."""
    side = SIDE * FINE
    canvas = Image.new("L", (side, side))
    brush = ImageDraw.Draw(canvas)
    for stroke in STROKES[digit]:
        trail = numpy.array(list(curve(stroke)))
        x = (left + height * (0.72 * trail[:, 0] + slant * (0.5 - trail[:, 1]))) * side
        y = (top + height * trail[:, 1]) * side
        radius = pen * side / 2 * (1 + 0.12 * numpy.sin(numpy.arange(len(x)) / 17))
        for cx, cy, r in zip(x, y, radius):
            brush.ellipse((cx - r, cy - r, cx + r, cy + r), fill=255)
    small = canvas.resize((SIDE, SIDE), Image.LANCZOS).filter(ImageFilter.GaussianBlur(1))
    return numpy.asarray(small, numpy.float32) / 255


def save(grey, name):
    Image.fromarray((grey.clip(0, 1) * 255).astype(numpy.uint8)).save(HERE / name, optimize=True)


def on_paper(ink, seed):
    """Dark ink on light paper under a lamp that stands to one side."""
    noise = numpy.random.default_rng(seed).normal(0, 0.012, ink.shape)
    across, down = numpy.meshgrid(*[numpy.linspace(-1, 1, SIDE)] * 2)
    paper = 0.80 + 0.10 * across - 0.07 * down
    return paper * (1 - 0.78 * ink) + numpy.round(noise * 64) / 64


def main():
    for digit, name in enumerate(NAMES):
        save(draw(digit), f"{name}.png")
    save(on_paper(draw(2, height=.50, left=.42, top=.38, pen=.05, slant=.12), 1), "paper_two.png")
    save(on_paper(draw(5, height=.55, left=.12, top=.10, pen=.035, slant=.20), 2), "paper_five.png")
    save(on_paper(draw(7, height=.62, left=.30, top=.30, pen=.09, slant=.15), 3), "paper_seven.png")


if __name__ == "__main__":
    main()
