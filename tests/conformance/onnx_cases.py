#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ONNX backend tests: onnx_cases.py QUERN CASES [products] [OPTIONS of quern verify]

Debian 12 has the cases of ONNX 1.12, Debian 13 those of 1.17, and cases_of_onnx.py writes those of 1.23; each has
its list of gaps, which can only shrink: a case in it that passes fails. `products` takes the cases of products and convolutions alone.
Without the cases this is skipped, and so are pictures of a format whose library is missing.
"""
import ctypes
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SKIPPED = 77
# The libraries of ImageDecoder, and the part of a case's name that wants each of them.
PICTURES = {"png": "libstb.so.0", "jpeg_": "libturbojpeg.so.0", "jpeg2k": "libopenjp2.so.7", "tiff": "libtiff.so.6",
            "webp": "libwebp.so.7"}
PRODUCTS = ("conv", "gemm", "matmul", "einsum", "linear", "attention")


def version(cases):
    if (cases / "node/test_flexattention").exists():
        return "1.23"
    return "1.17" if (cases / "node/test_string_concat").exists() else "1.12"


def folders(cases, options):
    if options[:1] != ["products"]:
        return [cases], options
    return sorted({path for word in PRODUCTS for path in cases.glob(f"*/test_*{word}*")}), options[1:]


def is_missing(library):
    try:
        ctypes.CDLL(library)
        return False
    except OSError:
        return True


def gaps_here(cases):
    """The list of gaps, with the pictures that this machine cannot decode."""
    text = (HERE / f"gaps-{version(cases)}.txt").read_text()
    for word, library in PICTURES.items():
        if is_missing(library):
            text += "".join(f"node/{path.name}\t{library} is missing here\n"
                            for path in sorted(cases.glob(f"node/test_image_decoder_decode_{word}*")))
    return text


def main():
    quern, cases = sys.argv[1], pathlib.Path(sys.argv[2])
    if not cases.is_dir():
        print(f"skipped: no {cases} (Debian: libonnx-testdata)")
        return SKIPPED
    paths, options = folders(cases, sys.argv[3:])
    with tempfile.NamedTemporaryFile("w", prefix=f"gaps-{version(cases)}-", suffix=".txt") as gaps:
        gaps.write(gaps_here(cases))
        gaps.flush()
        return subprocess.call([quern, "verify", *map(str, paths), "-j", "2", "--gaps", gaps.name, *options])


if __name__ == "__main__":
    sys.exit(main())
