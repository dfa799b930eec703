#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the node cases of a checkout of ONNX, newer than any package of it, for `quern verify`.

  git clone --depth 1 the repository onnx/onnx
  tests/conformance/cases_of_onnx.py onnx cases && quern verify cases

The checkout is not built: Debian's package (python3-onnx) gives the messages, the checkout the cases and
what they compute with. Cases whose element types the package does not know (8 bits and less) are left
out, and so are those that its helpers refuse; the end says how many.
"""
import importlib
import pathlib
import re
import shutil
import sys
import types
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NEW_TYPES = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4", "INT4", "FLOAT4E2M1",
             "FLOAT8E8M0", "UINT2", "INT2")  # numbers from 17 on
TYPES = {np.dtype(name): number for name, number in {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "object": 8, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15}.items()}


class Anything(types.ModuleType):
    """A module that has every name, for imports whose use is another matter."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def type_of(dtype):
    return TensorProto.STRING if np.dtype(dtype).kind in "US" else TYPES[np.dtype(dtype)]


def not_here(*_args, **_kwargs):
    raise NotImplementedError


def random_integers(shape, dtype, seed=1):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, size=shape).astype(dtype)


def complete_package():
    """Gives the package the names that newer cases import."""
    for number, name in enumerate(NEW_TYPES, 17):
        setattr(TensorProto, name, number)
    helper.np_dtype_to_tensor_dtype = type_of
    helper.tensor_dtype_to_np_dtype = {number: dtype for dtype, number in TYPES.items()}.__getitem__
    helper.get_all_tensor_dtypes = lambda: list(TYPES.values())
    helper.tensor_dtype_to_string = str
    numpy_helper.create_random_int = random_integers
    for name in ("to_float8e8m0", "saturate_cast", "unpack_int4", "pack_4bitx2"):
        if not hasattr(numpy_helper, name):
            setattr(numpy_helper, name, not_here)
    onnx.defs.onnx = onnx
    for name, domain in {"AI_ONNX_PREVIEW_TRAINING_DOMAIN": "ai.onnx.preview.training",
                         "AI_ONNX_PREVIEW_DOMAIN": "ai.onnx.preview"}.items():
        setattr(onnx.defs, name, domain)
    for name in ("ml_dtypes", "typing_extensions", "onnx.model_container"):
        sys.modules.setdefault(name, Anything(name))


class Writer:
    def __init__(self, checkout, folder):
        self.checkout, self.folder = checkout / "onnx", folder / "node"
        self.written, self.left_out = 0, {}
        operators = (self.checkout / "defs/operator_sets.h").read_text()
        self.since = {}
        for version, op in re.findall(r"OPERATOR_SET_SCHEMA_CLASS_NAME\(Onnx, (\d+), (\w+)\)", operators):
            self.since[op] = max(self.since.get(op, 0), int(version))

    def take_from_checkout(self):
        """Cases import each other, and references, from the checkout; base and expect() are here."""
        for name in [name for name in sys.modules if name.startswith(("onnx.backend", "onnx.reference"))]:
            del sys.modules[name]
        for name in ("backend", "backend.test", "backend.test.case", "backend.test.case.node", "reference",
                     "reference.ops"):
            module = types.ModuleType(f"onnx.{name}")
            module.__path__ = [str(self.checkout / name.replace(".", "/"))]
            sys.modules[module.__name__] = module
        sys.modules["onnx.backend.test.case.node"].expect = self.expect
        base = types.ModuleType("onnx.backend.test.case.base")
        base.Base = type("Base", (), {})
        sys.modules[base.__name__] = base
        onnx.__path__.insert(0, str(self.checkout))
        return base.Base

    def expect(self, node, inputs, outputs, name, **options):
        folder = self.folder / name
        try:
            self.write(folder, node, inputs, outputs, options)
            self.written += 1
        except Exception as error:  # whatever the older package makes of a newer case
            shutil.rmtree(folder, ignore_errors=True)
            self.left_out[name] = repr(error)

    def write(self, folder, node, inputs, outputs, options):
        values = {}
        for kind, given, names in (("input", inputs, node.input), ("output", outputs, node.output)):
            declared = options.get(f"{kind}_type_protos") or [None] * len(given)
            values[kind] = list(zip(given, declared, [n for n in names if n]))
        infos = {kind: [self.info(*value) for value in list_] for kind, list_ in values.items()}
        graph = helper.make_graph([node], folder.name, infos["input"], infos["output"])
        version = self.since[node.op_type] if not node.domain else 1
        opsets = options.get("opset_imports") or [helper.make_operatorsetid(node.domain, version)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = 10
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        for kind, list_ in values.items():
            for i, (value, declared, name) in enumerate(list_):
                message = self.message(value, declared)
                message.name = name
                (data / f"{kind}_{i}.pb").write_bytes(message.SerializeToString())

    @staticmethod
    def info(value, declared, name):
        if declared is not None:
            return helper.make_value_info(name, declared)
        if isinstance(value, list):
            element = helper.make_tensor_type_proto(type_of(value[0].dtype), None)
            return helper.make_value_info(name, helper.make_sequence_type_proto(element))
        if isinstance(value, TensorProto):
            return helper.make_tensor_value_info(name, value.data_type, tuple(value.dims))
        value = np.asarray(value)
        return helper.make_tensor_value_info(name, type_of(value.dtype), value.shape)

    @staticmethod
    def message(value, declared):
        if isinstance(value, TensorProto):
            return value
        if declared is not None and declared.HasField("optional_type"):
            return numpy_helper.from_optional(value)
        return numpy_helper.from_list(value) if isinstance(value, list) else numpy_helper.from_array(
            np.asarray(value))


def main():
    if len(sys.argv) != 3 or not (pathlib.Path(sys.argv[1]) / "onnx/backend/test/case/node").is_dir():
        sys.exit("usage: cases_of_onnx.py CHECKOUT_OF_ONNX FOLDER")
    warnings.simplefilter("ignore")
    complete_package()
    writer = Writer(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    base = writer.take_from_checkout()
    for path in sorted((writer.checkout / "backend/test/case/node").glob("*.py")):
        if path.stem == "__init__":
            continue
        np.random.seed(0)
        try:
            module = importlib.import_module(f"onnx.backend.test.case.node.{path.stem}")
        except Exception as error:
            writer.left_out[path.stem] = repr(error)
            continue
        for case in list(vars(module).values()):
            if not (isinstance(case, type) and issubclass(case, base) and case is not base):
                continue
            for export in (name for name in dir(case) if name.startswith("export")):
                try:
                    getattr(case, export)()
                except Exception as error:
                    writer.left_out[f"{path.stem}.{export}"] = repr(error)
    for name, why in writer.left_out.items():
        print(f"left out: {name}: {why[:100]}")
    print(f"{writer.written} cases in {writer.folder}")


if __name__ == "__main__":
    main()
