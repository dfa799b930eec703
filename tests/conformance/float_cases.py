#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many of the ONNX cases run on a device alone, and how many of those in float32.

    float_cases.py QUERN CASES [--device vulkan,strict] [--list]

A case counts as float32 when some input or output is of it and none is of another float, a string, a
sequence or an optional, and when it does not train and is not random, quantised or of
control flow. Of the 1,072 cases of ONNX 1.12 that is so for 818. `strict` refuses a node that would run on
the CPU, so what passes has run on the device. gaps-vulkan-1.12.txt lists the cases that do not, one a line;
one that passes must leave the list, one that fails must be on it. Of all cases, and of newer ones in
float32, LEAST says how many must pass.
"""
import argparse
import json
import pathlib
import subprocess
import sys

from onnx_cases import HERE, SKIPPED, version

# By the version of ONNX: of all cases, of those in float32 (0: the list says it).
LEAST = {"1.12": (992, 0), "1.17": (1294, 1008), "1.23": (1255, 881)}
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")
FLOAT, STRING, BOOL, FLOAT16, DOUBLE, BFLOAT16 = 1, 8, 9, 10, 11, 16
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike"}
CONTROL_FLOW = {"If", "Loop", "Scan"}


def fields(data):
    """(number, value) of the fields of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def all_of(data, number):
    return [value for n, value in fields(data) if n == number]


def one_of(data, number, missing=b""):
    values = all_of(data, number)
    return values[-1] if values else missing


def element_types(type_proto):
    """Of a TypeProto: numbers of TensorProto.DataType, and "sequence" or "optional" around them."""
    found = set()
    for number, value in fields(type_proto):
        if number == 1:
            found.add(one_of(value, 1, 0))
        elif number in (4, 9):
            found |= {"sequence" if number == 4 else "optional"} | element_types(one_of(value, 1))
    return found


class Model:
    """Types of inputs and outputs, and operators with those of bodies."""

    def __init__(self, path):
        self.types, self.operators, self.domains = set(), set(), set()
        self.read_graph(one_of(path.read_bytes(), 7))

    def read_graph(self, graph):
        for value in all_of(graph, 11) + all_of(graph, 12):
            self.types |= element_types(one_of(value, 2))
        for node in all_of(graph, 1):
            self.operators.add(one_of(node, 4).decode())
            self.domains.add(one_of(node, 7).decode())
            for attribute in all_of(node, 5):
                for body in all_of(attribute, 6):
                    self.read_graph(body)

    def is_float32(self, name):
        ops = self.operators
        trains = any("training" in d for d in self.domains) or "training" in name
        special = ops & (RANDOM | CONTROL_FLOW) or any(
            "uantize" in o or "Integer" in o or "QLinear" in o or
            "Sequence" in o and o != "ReverseSequence" for o in ops)
        others = {"sequence", "optional", STRING, FLOAT16, DOUBLE, BFLOAT16}
        return FLOAT in self.types and not self.types & others and not special and not trains


def float32_cases(root):
    for group in GROUPS:
        for path in sorted((root / group).glob("*/model.onnx")):
            if Model(path).is_float32(path.parent.name):
                yield path.parent


def read_gaps(path):
    lines = path.read_text().splitlines()
    return {line.split("\t")[0] for line in lines if line and not line.startswith("#")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("quern")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--device", default="vulkan,strict")
    parser.add_argument("--list", action="store_true", help="print those that do not, as a gaps file")
    args = parser.parse_args()

    if not args.cases.is_dir():
        print(f"skipped: no {args.cases} (Debian: libonnx-testdata)")
        sys.exit(SKIPPED)
    cases = list(float32_cases(args.cases))
    if not cases:
        sys.exit(f"{args.cases}: no float32 case")
    run = subprocess.run([args.quern, "verify", str(args.cases), "-j", "2", "--json",
                          "--device", args.device], capture_output=True, text=True, check=False)
    try:
        results = json.loads(run.stdout)["cases"]
    except (ValueError, KeyError):
        sys.exit(f"{args.quern} verify: {run.stdout[-500:]}{run.stderr[-500:]}")
    float32 = {f"{path.parent.name}/{path.name}" for path in cases}
    judged = [result for result in results if result["name"] in float32]
    if len(judged) != len(cases):
        sys.exit(f"{args.quern} verify: {len(judged)} results for {len(cases)} float32 cases")
    gaps = {result["name"]: result.get("reason", "") for result in judged if result["outcome"] != "passed"}
    passed_of_all = sum(result["outcome"] == "passed" for result in results)
    passed = len(judged) - len(gaps)
    if args.list:
        for name, reason in sorted(gaps.items()):
            print(f"{name}\t{reason.split(': ')[-1]}")
    print(f"{passed} of {len(cases)} float32 cases pass on {args.device}, {passed_of_all} of all {len(results)}")

    of_all, of_float32 = LEAST[version(args.cases)]
    if passed_of_all < of_all or passed < of_float32:
        sys.exit(f"wanted at least {of_float32 or passed} and {of_all}")
    if version(args.cases) != "1.12":
        return
    known = read_gaps(HERE / "gaps-vulkan-1.12.txt")
    for name in sorted(gaps.keys() - known):
        print(f"FAIL  {name}  {gaps[name]}")
    for name in sorted(known - gaps.keys()):
        print(f"FAIL  {name}  passes, but is listed in gaps-vulkan-1.12.txt: remove it from the list")
    sys.exit(gaps.keys() != known)


if __name__ == "__main__":
    main()
