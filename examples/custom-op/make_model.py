#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx and its test data beside this file: y = relu(RowNorm(x w)), x f32[N,8].

By hand, field by field, so that it needs no package: the numbers are those of onnx.proto."""
import math
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).resolve().parent
EPSILON = 0.25
FLOAT, BYTES_FIELD = 1, 2


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES_FIELD) + varint(len(data)) + data


def tensor(name, dims, numbers):
    return (b"".join(field(1, d) for d in dims) + field(2, FLOAT) + field(8, name) +
            field(9, struct.pack(f"<{len(numbers)}f", *numbers)))


def value(name, dims):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def node(op, inputs, output, domain="", attributes=b""):
    return (b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, output) + field(4, op) +
            attributes + (field(7, domain) if domain else b""))


def rounded(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def expected(x, w, rows, n, m):
    y = []
    for r in range(rows):
        line = [rounded(sum(x[r * n + k] * w[k * m + j] for k in range(n))) for j in range(m)]
        scale = 1 / math.sqrt(sum(v * v for v in line) / m + EPSILON)
        y += [max(v * scale, 0.0) for v in line]
    return y


def main():
    rng = random.Random(1)
    rows, n, m = 3, 8, 16
    w = [rounded(rng.uniform(-1, 1)) for _ in range(n * m)]
    x = [rounded(rng.uniform(-1, 1)) for _ in range(rows * n)]
    epsilon = field(5, field(1, "epsilon") + field(2, EPSILON) + field(20, 1))
    graph = b"".join([
        field(1, node("MatMul", ["x", "w"], "product")),
        field(1, node("RowNorm", ["product"], "norm", "org.example", epsilon)),
        field(1, node("Relu", ["norm"], "y")),
        field(2, "row_norm"), field(5, tensor("w", [n, m], w)),
        field(11, value("x", ["N", n])), field(12, value("y", ["N", m]))])
    model = b"".join([field(1, 10), field(2, "make_model.py"), field(7, graph), field(8, field(1, "") + field(2, 20)),
                      field(8, field(1, "org.example") + field(2, 1))])
    (HERE / "model.onnx").write_bytes(model)
    data = HERE / "test_data_set_0"
    data.mkdir(exist_ok=True)
    (data / "input_0.pb").write_bytes(tensor("x", [rows, n], x))
    (data / "output_0.pb").write_bytes(tensor("y", [rows, m], expected(x, w, rows, n, m)))


if __name__ == "__main__":
    main()
