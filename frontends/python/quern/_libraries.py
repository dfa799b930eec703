# SPDX-License-Identifier: Apache-2.0
"""Opening the shared libraries, and arrays over memory that is theirs."""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any

import numpy as np

from quern._errors import NotFound, error_of

_HERE = pathlib.Path(__file__).parent


def opened(file_names: tuple[str, ...], variable: str) -> ctypes.CDLL:
    """The library that the environment names, that of this package, or the system's, in this order; of several names
    the first that there is."""
    named = os.environ.get(variable)
    beside = [str(_HERE / name) for name in file_names if (_HERE / name).exists()]
    for path in (paths := [named] if named else beside or list(file_names)):
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            if path == paths[-1]:
                raise NotFound(f"{path} cannot be opened: {error}; {variable} may name the library") from error
    raise AssertionError("no name")


class Library:
    """Functions of one library that return a status; other results are declared by `results`."""

    def __init__(self, file_names: tuple[str, ...], variable: str, last_error: str, results: dict[str, Any]) -> None:
        self._library = opened(file_names, variable)
        for name, result in {last_error: ctypes.c_char_p, **results}.items():
            getattr(self._library, name).restype = result
        self._last_error = getattr(self._library, last_error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function; a status that is not ok is raised with the library's sentence."""
        status = getattr(self._library, name)(*arguments)
        if status:
            raise error_of(status, self._last_error() or b"")


def structure(name: str, /, **fields: Any) -> type[ctypes.Structure]:
    """A structure of the C API, which begins with its size."""
    def set_size(self: ctypes.Structure, /, **values: Any) -> None:
        ctypes.Structure.__init__(self, ctypes.sizeof(type(self)), **values)

    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_size_t), *fields.items()],
                                            "__init__": set_size})


class _Elements:
    """Elements in a library's memory. An array over them keeps this, and this keeps the owner of the memory."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype, owner: object, read_only: bool) -> None:
        self._owner = owner
        self.__array_interface__ = {"data": (address, read_only), "shape": shape, "typestr": dtype.str,
                                    "descr": dtype.descr, "version": 3}


def array_over(address: int | None, shape: tuple[int, ...], dtype: Any, owner: object, *, read_only: bool) -> np.ndarray:
    """An array over memory at `address`, not copied; `owner` lives as long as the array or a view of it."""
    dtype = np.dtype(dtype)
    if not address or 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(_Elements(address, shape, dtype, owner, read_only))
