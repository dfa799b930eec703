#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ONNX backend tests of a Debian package: onnx_cases.py QUERN CASES [products] [OPTIONS of quern verify]

Debian 12 has the cases of ONNX 1.12, Debian 13 those of 1.17; each has its list of gaps, which can only
shrink: a case in it that passes fails. `products` takes the cases of products and convolutions alone.
Without the cases this is skipped.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SKIPPED = 77
PRODUCTS = ("conv", "gemm", "matmul", "einsum", "linear", "attention")


def version(cases):
    return "1.17" if (cases / "node/test_string_concat").exists() else "1.12"


def folders(cases, options):
    if options[:1] != ["products"]:
        return [cases], options
    return sorted({path for word in PRODUCTS for path in cases.glob(f"*/test_*{word}*")}), options[1:]


def main():
    quern, cases = sys.argv[1], pathlib.Path(sys.argv[2])
    if not cases.is_dir():
        print(f"skipped: no {cases} (Debian: libonnx-testdata)")
        return SKIPPED
    paths, options = folders(cases, sys.argv[3:])
    gaps = HERE / f"gaps-{version(cases)}.txt"
    return subprocess.call([quern, "verify", *map(str, paths), "-j", "2", "--gaps", gaps, *options])


if __name__ == "__main__":
    sys.exit(main())
