#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one layer each, of the kinds that fast kernels tend to forget.

  bench/compare/layers.py FOLDER             needs python3-onnx and python3-numpy
  quern-compare --ort $(bench/compare/get-ort) --by processor FOLDER/*.onnx
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IMAGE = [1, 64, 56, 56]

# Name -> operator, shape of x, constants by their shapes or values, attributes.
LAYERS = {
    "softmax-4-classes": ("Softmax", [1, 4, 512, 512], [], {"axis": 1}),
    "softmax-4-last": ("Softmax", [262144, 4], [], {"axis": -1}),
    "softmax-21-last": ("Softmax", [65536, 21], [], {"axis": -1}),
    "pad-reflect": ("Pad", [1, 64, 224, 224], [np.array([0, 0, 1, 1, 0, 0, 1, 1])], {"mode": "reflect"}),
    "instance-norm": ("InstanceNormalization", [1, 64, 224, 224], [[64], [64]], {}),
    "depthwise-20": ("Conv", [1, 128, 400], [[128, 1, 20]], {"group": 128}),
    "depthwise-5": ("Conv", [1, 128, 400], [[128, 1, 5]], {"group": 128, "pads": [2, 2]}),
    "depthwise-3x3": ("Conv", [1, 32, 112, 112], [[32, 1, 3, 3]], {"group": 32, "pads": [1] * 4}),
    "depthwise-9x9": ("Conv", IMAGE, [[64, 1, 9, 9]], {"group": 64, "pads": [4] * 4}),
    "depthwise-dilated": ("Conv", IMAGE, [[64, 1, 3, 3]], {"group": 64, "pads": [6] * 4, "dilations": [6, 6]}),
    "four-groups": ("Conv", IMAGE, [[64, 16, 3, 3]], {"group": 4, "pads": [1] * 4}),
    "few-channels-9x9": ("Conv", [1, 16, 224, 224], [[16, 16, 9, 9]], {"pads": [4] * 4}),
    "transposed-stride-1": ("ConvTranspose", IMAGE, [[64, 3, 3, 3]], {"pads": [1] * 4}),
    "transposed-stride-2": ("ConvTranspose", IMAGE, [[64, 32, 2, 2]], {"strides": [2, 2]}),
    "transposed-1d": ("ConvTranspose", [1, 64, 500], [[64, 32, 16]], {"strides": [8], "pads": [4, 4]}),
}


def model(name, operator, shape, constants, attributes):
    draw = np.random.default_rng(1)
    tensors = [numpy_helper.from_array(c if isinstance(c, np.ndarray) else draw.standard_normal(c, np.float32),
                                       f"c{i}") for i, c in enumerate(constants)]
    node = helper.make_node(operator, ["x", *(t.name for t in tensors)], ["y"], **attributes)
    values = [helper.make_tensor_value_info(v, TensorProto.FLOAT, s) for v, s in (("x", shape), ("y", None))]
    graph = helper.make_graph([node], name, values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, layer in LAYERS.items():
        onnx.save(model(name, *layer), str(folder / f"{name}.onnx"))


if __name__ == "__main__":
    main()
