#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test_data_set_0 (seven.png) and test_data_set_1 (all pictures in one batch): the tensors that
the pictures become, and what torch makes of them with the weights of digits.onnx."""
import pathlib

import numpy
import onnx.numpy_helper
import torch
from PIL import Image

from draw_pictures import NAMES
from export import load

HERE = pathlib.Path(__file__).resolve().parent
PAPER = ["paper_two", "paper_five", "paper_seven"]


def tensor_of(name):
    """The picture in grey, shrunk to 28 x 28, 0..1."""
    grey = Image.open(HERE / f"{name}.png").convert("L").resize((28, 28), Image.BOX)
    return numpy.asarray(grey, numpy.float32)[None] / 255


def save(folder, images, probabilities):
    folder.mkdir(exist_ok=True)
    for file, name, values in (("input_0.pb", "image", images),
                               ("output_0.pb", "probabilities", probabilities)):
        (folder / file).write_bytes(onnx.numpy_helper.from_array(values, name).SerializeToString())


@torch.no_grad()
def main():
    net = load(HERE / "digits.onnx")
    for index, names in enumerate((["seven"], NAMES + PAPER)):
        images = numpy.stack([tensor_of(name) for name in names])
        probabilities = net(torch.from_numpy(images)).numpy()
        save(HERE / f"test_data_set_{index}", images, probabilities)
    for name, row in zip(names, probabilities):
        best = row.argmax()
        print(f"{name + '.png':16} {best}  {100 * row[best]:6.2f} %")


if __name__ == "__main__":
    main()
