#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeded models of ai.onnx.ml for quern-compare: classical.py FOLDER

Trees of the sizes that boosting makes (500 trees of depth 8 over 30 features), for 1, 10 and 1,000 rows;
trees that lean, with missing values; a classifier of ten classes; support vectors. Debian: python3-onnx.

    bench/compare/classical.py models
    quern-compare --ort $(bench/compare/get-ort) --by processor --threads 1 models/*.onnx
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

FEATURES = 30


class Trees:
    """Nodes of trees in the form of TreeEnsembleRegressor; `lean`: a share of nodes that end early."""

    def __init__(self, rng, count, depth, classes=1, lean=0.0, mode="BRANCH_LEQ", missing=False):
        self.rng, self.lean, self.mode, self.missing = rng, lean, mode, missing
        self.nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values",
                                            "truenodeids", "falsenodeids")}
        self.missing_tracks, self.leaves = [], []
        for tree in range(count):
            self.size = 0
            self.add(tree, depth, tree % classes)

    def add(self, tree, depth, target):
        node, at = self.size, len(self.missing_tracks)
        self.size += 1
        is_leaf = depth == 0 or self.rng.random() < self.lean
        values = {"treeids": tree, "nodeids": node, "featureids": 0 if is_leaf else int(self.rng.integers(FEATURES)),
                  "modes": "LEAF" if is_leaf else self.mode, "values": float(np.float32(self.rng.normal())),
                  "truenodeids": 0, "falsenodeids": 0}
        for name, value in values.items():
            self.nodes[name].append(value)
        self.missing_tracks.append(int(self.missing and self.rng.random() < 0.5))
        if is_leaf:
            self.leaves.append((tree, node, target, float(np.float32(self.rng.normal() / 10))))
        else:
            self.nodes["truenodeids"][at] = self.add(tree, depth - 1, target)
            self.nodes["falsenodeids"][at] = self.add(tree, depth - 1, target)
        return node

    def attributes(self, prefix):
        names = ("treeids", "nodeids", "ids", "weights")
        a = {f"nodes_{name}": values for name, values in self.nodes.items()}
        a.update({f"{prefix}_{name}": list(column) for name, column in zip(names, zip(*self.leaves))})
        if self.missing:
            a["nodes_missing_value_tracks_true"] = self.missing_tracks
        return a


def save(folder, name, op, outputs, attributes):
    node = helper.make_node(op, ["x"], [f"y{i}" for i in range(len(outputs))], domain="ai.onnx.ml", **attributes)
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
    for rows in (1, 10, 1000):
        graph = helper.make_graph(
            [node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, FEATURES])],
            [helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(outputs)])
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / f"{name}-{rows}.onnx")


def regressor(folder, name, trees):
    save(folder, name, "TreeEnsembleRegressor", [TensorProto.FLOAT],
         dict(trees.attributes("target"), n_targets=1))


def support_vectors(rng, vectors=400):
    return {"kernel_type": "RBF", "kernel_params": [1 / FEATURES, 0.0, 3.0], "rho": [0.1], "n_supports": vectors,
            "support_vectors": rng.normal(size=vectors * FEATURES).astype(np.float32).tolist(),
            "coefficients": rng.normal(size=vectors).astype(np.float32).tolist()}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    regressor(folder, "boosted", Trees(rng, 500, 8))
    regressor(folder, "leaning", Trees(rng, 200, 14, lean=0.3, mode="BRANCH_LT", missing=True))
    classes = Trees(rng, 500, 6, classes=10).attributes("class")
    save(folder, "classes", "TreeEnsembleClassifier", [TensorProto.INT64, TensorProto.FLOAT],
         dict(classes, classlabels_int64s=list(range(10)), post_transform="SOFTMAX"))
    save(folder, "vectors", "SVMRegressor", [TensorProto.FLOAT], support_vectors(rng))


if __name__ == "__main__":
    main()
