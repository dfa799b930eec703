#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of a checkout of ONNX, newer than any package of it, for `quern verify`.

  git clone --depth 1 https://github.com/onnx/onnx
  git clone --depth 1 --branch v0.5.4 https://github.com/jax-ml/ml_dtypes
  tests/conformance/cases_of_onnx.py onnx cases ml_dtypes
  tests/conformance/onnx_cases.py build/release/bin/quern cases

The cases compute what they expect with the checkout's own Python, of which only the part in C++ is replaced:
operators have a version here and nothing else, so cases of their function bodies (`_expanded`) are not made.
ml_dtypes gives numpy the types that it lacks; its checkout is compiled, and may be left out where Python has
it as a package. The end says what was left out, and why. Debian: python3-numpy, python3-protobuf,
python3-typing-extensions, protobuf-compiler; for ml_dtypes also python3-dev, libeigen3-dev.
"""
import argparse
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types
import warnings

import numpy as np
import typing_extensions

DOMAINS = {"": "", "ML": "ai.onnx.ml", "PREVIEW": "ai.onnx.preview", "TRAINING": "ai.onnx.preview.training"}
TRAINING = ("Gradient", "Momentum", "Adagrad", "Adam")
# What ml_dtypes takes from numpy 2 and Eigen 3.5, for those before.
OLDER_LIBRARIES = """
#include <Python.h>
#include <numpy/numpyconfig.h>
#include <Eigen/Core>
#include <cstdint>
#ifndef NPY_2_0_API_VERSION
#define NPY_2_0_API_VERSION 0x10
#define PyArray_DescrProto PyArray_Descr
#endif
#if !EIGEN_VERSION_AT_LEAST(3, 4, 90)
namespace Eigen { namespace numext {
template <int Bytes> struct get_integer_by_size;
template <> struct get_integer_by_size<1> { using unsigned_type = std::uint8_t; };
template <> struct get_integer_by_size<2> { using unsigned_type = std::uint16_t; };
template <> struct get_integer_by_size<4> { using unsigned_type = std::uint32_t; };
template <> struct get_integer_by_size<8> { using unsigned_type = std::uint64_t; };
} }
#endif
"""


class Anything(types.ModuleType):
    """A module that has every name, for imports whose use is another matter."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Exception,), {"__init__": lambda self, *_args, **_options: None})
        setattr(self, name, made)
        return made


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


def build_ml_dtypes(checkout, folder):
    package = folder / "ml_dtypes"
    shutil.copytree(checkout / "ml_dtypes", package)
    older = folder / "older_libraries.h"
    older.write_text(OLDER_LIBRARIES)
    run("c++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-include", older, "-I", folder, "-I", np.get_include(),
        "-I", "/usr/include/eigen3", "-I", sysconfig.get_paths()["include"], *sorted(package.glob("_src/*.cc")),
        "-o", package / "_ml_dtypes_ext.so")


def build_onnx(checkout, folder):
    """The checkout's Python with the messages of its files, and everything in the place of its C++."""
    package = folder / "onnx"
    shutil.copytree(checkout / "onnx", package, ignore=lambda path, names: [
        name for name in names if "." in name and not name.endswith((".py", ".proto"))])
    protos = ("onnx-ml", "onnx-operators-ml", "onnx-data")
    run("protoc", "-I", folder, f"--python_out={folder}", *(package / f"{name}.proto" for name in protos))
    for name in protos:
        word = name.replace("-", "_")
        (package / f"{word.replace('_ml', '')}_pb.py").write_text(f"from onnx.{word}_pb2 import *\n")
    native = Anything("onnx.onnx_cpp2py_export")
    native.ONNX_ML = True
    sys.modules[native.__name__] = native
    for name in ("checker", "defs", "inliner", "parser", "printer", "shape_inference", "version_converter"):
        module = Anything(f"{native.__name__}.{name}")
        sys.modules[module.__name__] = module
        setattr(native, name, module)
    if not hasattr(typing_extensions, "deprecated"):  # before 4.5
        typing_extensions.deprecated = lambda *_arguments, **_options: lambda function: function
    return native.defs


def newest_versions(checkout):
    """The version of each operator's newest definition, by domain and name."""
    versions = {}
    for path in sorted((checkout / "onnx/defs").glob("operator_sets*.h")):
        for word, version, op in re.findall(r"ONNX_?(\w*?)_?OPERATOR_SET_SCHEMA_CLASS_NAME\((?:\w+, )?(\d+), (\w+)\)",
                                            path.read_text()):
            domain = DOMAINS["TRAINING" if op in TRAINING else word]
            versions[domain, op] = max(versions.get((domain, op), 0), int(version))
        for word, version, op in re.findall(r"CLASS_NAME\(Onnx(\w*), (\d+), (\w+)\)", path.read_text()):
            versions[DOMAINS[word], op] = max(versions.get((DOMAINS[word], op), 0), int(version))
    return versions


def define_schemas(defs, versions):
    """A schema is a version here, without a function body."""
    def get_schema(op, *version, domain=""):
        return types.SimpleNamespace(since_version=version[0] if version else versions[domain, op],
                                     function_opset_versions=[], context_dependent_function_opset_versions=[],
                                     attributes={})

    part = {name: type(name, (), {}) for name in ("Attribute", "FormalParameter", "TypeConstraintParam")}
    defs.OpSchema = type("OpSchema", (), part)
    defs.get_schema = get_schema
    defs.has_schema = lambda op, *_version, domain="": (domain, op) in versions
    defs.get_all_schemas = defs.get_all_schemas_with_history = list
    defs.schema_version_map = lambda: {
        d: (1, max(v for (domain, _), v in versions.items() if domain == d)) for d in {d for d, _ in versions}}


class Cases:
    def __init__(self, folder):
        self.folder, self.written, self.left_out = folder, 0, {}

    def attempt(self, name, work, *arguments):
        """Whatever a case does that this machine cannot, the others go on."""
        try:
            return work(*arguments)
        except Exception as error:
            self.left_out[name] = f"{type(error).__name__}: {error}"
            return None

    def export(self, kind):
        """Runs what the modules of a kind export, as their base class would, each by itself."""
        base = importlib.import_module("onnx.backend.test.case.base")
        base.Base = type("Base", (), {})
        package = importlib.import_module(f"onnx.backend.test.case.{kind}")
        for path in sorted(pathlib.Path(package.__path__[0]).rglob("*.py")):
            name = ".".join(path.relative_to(package.__path__[0]).with_suffix("").parts)
            module = self.attempt(name, importlib.import_module, f"{package.__name__}.{name}")
            for case in list(vars(module).values()) if module else []:
                if not isinstance(case, type) or base.Base not in case.__bases__:
                    continue
                for export in [e for e in vars(case) if e.startswith("export")]:
                    np.random.seed(0)
                    self.attempt(f"{name}.{export}", getattr(case, export))
        return package

    def write(self, collected):
        """Writes cases by the tool of the checkout, one at a time."""
        tools = importlib.import_module("onnx.backend.test.cmd_tools")
        for case in collected:
            tools.model_test = types.SimpleNamespace(collect_testcases=lambda: [case])
            path = self.folder / case.kind / case.name
            before = len(self.left_out)
            self.attempt(case.name, tools.generate_data, argparse.Namespace(output=self.folder))
            if len(self.left_out) > before:
                shutil.rmtree(path, ignore_errors=True)
            else:
                self.written += 1


def main():
    parser = argparse.ArgumentParser(description="Writes the cases of a checkout of ONNX.")
    parser.add_argument("onnx", type=pathlib.Path, help="a checkout of onnx/onnx")
    parser.add_argument("folder", type=pathlib.Path, help="where the cases are to be, a new folder")
    parser.add_argument("ml_dtypes", type=pathlib.Path, nargs="?", help="a checkout of jax-ml/ml_dtypes")
    options = parser.parse_args()
    if not (options.onnx / "onnx/backend/test/case/node").is_dir():
        parser.error(f"{options.onnx} is no checkout of ONNX")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        build = pathlib.Path(name)
        if options.ml_dtypes:
            build_ml_dtypes(options.ml_dtypes, build)
        define_schemas(build_onnx(options.onnx, build), newest_versions(options.onnx))
        sys.path.insert(0, name)
        cases = Cases(options.folder)
        cases.write(cases.export("node")._NodeTestCases)
        cases.write(cases.export("model")._SimpleModelTestCases)
    for name, why in cases.left_out.items():
        print(f"left out: {name}: {why[:100]}")
    print(f"{cases.written} cases in {options.folder}")


if __name__ == "__main__":
    main()
