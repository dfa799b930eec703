# SPDX-License-Identifier: Apache-2.0
"""Models over libquern.so. Inputs are read where they lie, outputs are arrays over the engine's memory."""
from __future__ import annotations

import ctypes
import functools
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from ctypes import c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike

from quern._errors import InvalidArgument, Unsupported
from quern._libraries import Library, array_over, structure

_MAX_RANK = 16
# By the numbers of quern_dtype: the name, and the type in which numpy holds the elements. Types that numpy lacks are
# held as integers of their bits (bf16, the floats of 8 and 4 bits) or values
# (i4, u4, i2, u2).
_DTYPES = [("f32", "f4"), ("f64", "f8"), ("f16", "f2"), ("bf16", "u2"), ("i8", "i1"), ("i16", "i2"), ("i32", "i4"),
           ("i64", "i8"), ("u8", "u1"), ("u16", "u2"), ("u32", "u4"), ("u64", "u8"), ("bool", "?"), ("string", "O"),
           ("i4", "i1"), ("u4", "u1"), ("f8e4m3fn", "u1"), ("f8e4m3fnuz", "u1"), ("f8e5m2", "u1"), ("f8e5m2fnuz", "u1"),
           ("f4e2m1", "u1"), ("f8e8m0", "u1"), ("i2", "i1"), ("u2", "u1")]
_STRING = 13
_KINDS = ["tensor", "sequence", "optional tensor", "optional sequence"]
_BORROW = 1

_DeviceInfo = structure("DeviceInfo", name=c_char_p, title=c_char_p, is_gpu=c_int32)
_LoadOptions = structure("LoadOptions", max_bytes=c_size_t, folder=c_char_p, borrow=c_int32, microseconds=c_uint64,
                         copy_file=c_int32)
_ModelInfo = structure("ModelInfo", graph_name=c_char_p, producer_name=c_char_p, producer_version=c_char_p,
                       domain=c_char_p, description=c_char_p, model_version=c_int64, ir_version=c_int64,
                       property_count=c_size_t)
_ValueInfo = structure("ValueInfo", name=c_char_p, dtype=c_int32, kind=c_int32, has_rank=c_int32, rank=c_size_t,
                       dims=ctypes.POINTER(c_int64), symbols=ctypes.POINTER(c_char_p), keys=c_size_t)
_CompileOptions = structure("CompileOptions", device=c_char_p, strategy=c_char_p, threads=c_int32,
                            no_rewrites=c_int32, max_plans=c_size_t, memory_limit=c_size_t, pool=c_char_p,
                            opened=c_void_p, no_scratch=c_int32, microseconds=c_uint64, max_plan_bytes=c_size_t,
                            thread_pool=c_void_p, math=c_char_p, denormals=c_char_p, arena_limit=c_size_t,
                            host=c_void_p, tuning=c_char_p, no_stripes=c_int32)
_Tensor = structure("Tensor", dtype=c_int32, rank=c_uint32, dims=c_int64 * _MAX_RANK, data=c_void_p, bytes=c_size_t)
_PlanInfo = structure("PlanInfo", segments=c_size_t, steps=c_size_t, arena_bytes=c_size_t, arena_lower_bound=c_size_t,
                      unshared_bytes=c_size_t, weight_bytes=c_size_t, resident_bytes=c_size_t,
                      session_bytes=c_size_t, is_complete=c_int32)


class _String(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64)]


# What an input may be, and what an output is: an array, a list of them (a sequence), or None (an empty optional).
Input = Union[ArrayLike, Sequence[ArrayLike], None]
Output = Union[np.ndarray, list[np.ndarray], None]


@functools.cache
def _library() -> Library:
    counts = [f"quern_executable_{which}_count" for which in ("input", "output")]
    return Library(("libquern.so.0",), "QUERN_LIBRARY", "quern_last_error", {
        "quern_version": c_char_p, "quern_devices_count": c_size_t, **dict.fromkeys(counts, c_size_t)})


def version() -> str:
    """Of libquern.so: "0.1.0"."""
    return _library().quern_version().decode()


@dataclass(frozen=True)
class Device:
    name: str  # what `load` takes
    title: str  # for people
    is_gpu: bool


def devices() -> list[Device]:
    """All devices of this machine, best first in each kind."""
    library, handle, found = _library(), c_void_p(), []
    library.call("quern_devices_list", ctypes.byref(handle))
    try:
        for index in range(library.quern_devices_count(handle)):
            info = _DeviceInfo()
            library.call("quern_devices_info", handle, c_size_t(index), ctypes.byref(info))
            found.append(Device(info.name.decode(), info.title.decode(errors="replace"), bool(info.is_gpu)))
    finally:
        library.quern_devices_destroy(handle)
    return found


@dataclass(frozen=True)
class Value:
    """An input or output as the model declares it."""

    name: str
    dtype: str  # "f32", "i64", "bf16", ...
    shape: tuple[int | str | None, ...] | None  # numbers, names, or None: free; None as a whole: of any rank
    kind: str  # "tensor", "sequence", "optional tensor" or "optional sequence"
    keys: int | None = None  # of the values of a map, or of a map for each row: which input or output has the keys

    @property
    def numpy_dtype(self) -> np.dtype:
        """In which numpy holds the elements: bits as integers, where it lacks the type."""
        return np.dtype(dict(_DTYPES)[self.dtype])


@dataclass(frozen=True)
class Metadata:
    """What a model says of itself."""

    graph_name: str
    producer_name: str
    producer_version: str
    domain: str
    description: str
    model_version: int
    ir_version: int
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanInfo:
    """A plan for the shapes of some inputs; sizes are bytes."""

    segments: int  # 1, unless shapes depend on data
    steps: int  # kernels
    arena_bytes: int
    arena_lower_bound: int  # no placement of these buffers can be smaller
    unshared_bytes: int  # if no two buffers shared memory
    weight_bytes: int  # packed
    resident_bytes: int  # that the session holds
    session_bytes: int  # that it holds at most for these shapes, weights apart...
    is_complete: bool  # ...unless this is false: loops and shapes of data take more as they run


def _text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _microseconds(seconds: float | None) -> int:
    """0 means any time to the library; a time of less than that is the shortest."""
    if seconds is None:
        return 0
    if not seconds > 0:
        raise InvalidArgument(f"seconds is {seconds}, wanted a positive number or None")
    return max(1, min(int(seconds * 1e6), 2**63)) if seconds < 1e12 else 2**63


def _metadata(model: c_void_p) -> Metadata:
    library, info, properties = _library(), _ModelInfo(), {}
    library.call("quern_model_get_info", model, ctypes.byref(info))
    for index in range(info.property_count):
        key, value = c_char_p(), c_char_p()
        library.call("quern_model_property", model, c_size_t(index), ctypes.byref(key), ctypes.byref(value))
        properties[key.value.decode(errors="replace")] = value.value.decode(errors="replace")
    texts = [getattr(info, name).decode(errors="replace") for name, kind in _ModelInfo._fields_ if kind is c_char_p]
    return Metadata(*texts, info.model_version, info.ir_version, properties)


def _value(info: Any) -> Value:
    shape = None
    if info.has_rank:
        shape = tuple(info.dims[i] if info.dims[i] >= 0 else info.symbols[i].decode(errors="replace") or None
                      for i in range(info.rank))
    return Value(info.name.decode(errors="replace"), _DTYPES[info.dtype][0], shape, _KINDS[info.kind],
                 None if info.keys == c_size_t(-1).value else info.keys)


def _values(executable: c_void_p, which: str) -> tuple[Value, ...]:
    library, found = _library(), []
    for index in range(getattr(library, f"quern_executable_{which}_count")(executable)):
        info = _ValueInfo()
        library.call(f"quern_executable_{which}_info", executable, c_size_t(index), ctypes.byref(info))
        found.append(_value(info))
    return tuple(found)


def _strings(array: np.ndarray) -> tuple[Any, list[bytes]]:
    """The elements of an array as the library reads them, and what they lie in."""
    kept = [text if isinstance(text, bytes) else str(text).encode() for text in array.ravel().tolist()]
    elements = (_String * max(len(kept), 1))()
    for element, text in zip(elements, kept):
        element.data, element.size = ctypes.cast(c_char_p(text), c_void_p), len(text)
    return elements, kept


def _tensor(value: Value, given: ArrayLike) -> tuple[Any, Any]:
    """`given` as a tensor that borrows its elements, and what must stay as long as that is used."""
    # What is no array yet takes the model's type; the type of an array is its own, and the library judges it.
    array = given if isinstance(given, np.ndarray) else np.asarray(given, value.numpy_dtype)
    if array.ndim > _MAX_RANK:
        raise Unsupported(f"input '{value.name}' has {array.ndim} dimensions, wanted at most {_MAX_RANK}")
    tensor = _Tensor(rank=array.ndim, dims=(c_int64 * _MAX_RANK)(*array.shape))
    if array.dtype.kind in "OUS":
        elements, kept = _strings(array)
        tensor.dtype, tensor.data = _STRING, ctypes.addressof(elements)
        tensor.bytes = array.size * ctypes.sizeof(_String)
        return tensor, (elements, kept)
    array = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    tensor.dtype = _number_of(value, array.dtype)
    tensor.data, tensor.bytes = array.ctypes.data, array.nbytes
    return tensor, array


def _number_of(value: Value, dtype: np.dtype) -> int:
    """The number of an array's type: the model's where numpy holds that so, else the first that numpy holds so."""
    names = [name for name, _ in _DTYPES]
    if dtype == value.numpy_dtype:
        return names.index(value.dtype)
    for number, (_, held) in enumerate(_DTYPES):
        if dtype == np.dtype(held):
            return number
    raise InvalidArgument(f"input '{value.name}' has elements of {dtype}, which no tensor has; "
                          f"wanted {value.numpy_dtype} for {value.dtype}")


class _Session:
    """A session of the library, which one thread at a time uses."""

    def __init__(self, executable: c_void_p) -> None:
        self.handle = c_void_p()
        _library().call("quern_session_create", executable, c_int32(0), ctypes.byref(self.handle))
        weakref.finalize(self, _library().quern_session_destroy, self.handle).atexit = False
        self.borrowed: list[Any] = []  # by the inputs


class _Lease:
    """A session that does not run again as long as arrays over its memory are alive."""

    def __init__(self, session: _Session, idle: list[_Session]) -> None:
        self.session = session
        self._idle = idle

    def __del__(self) -> None:
        self._idle.append(self.session)


class Model:
    """A model bound to a device; made by load(). Any number of threads may run it at one time."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    metadata: Metadata

    def __init__(self, executable: c_void_p, metadata: Metadata) -> None:
        self._executable = executable
        weakref.finalize(self, _library().quern_executable_destroy, executable).atexit = False
        self.metadata = metadata
        self.inputs = _values(executable, "input")
        self.outputs = _values(executable, "output")
        self._idle: list[_Session] = []

    def run(self, inputs: Mapping[str, Input], outputs: Iterable[str] | None = None, *,
            out: Mapping[str, np.ndarray] | None = None, seconds: float | None = None) -> dict[str, Output]:
        """Runs the model and returns its outputs by name.

        inputs: by name. Contiguous arrays are read where they lie, others are copied first. Lists of arrays are
            sequences, None is an empty optional; numbers and lists of numbers take the model's type.
        outputs: the names of those that are computed; None: all.
        out: arrays that outputs are written to, contiguous and of their type; what is returned is a view of them.
        seconds: after which the run stops with TimedOut.

        Outputs are arrays over the engine's memory, not copies. While one of them lives, its session runs no more
        and the next run takes another one, with an arena of its own: keep `.copy()` of what stays for long, or give
        `out`. Strings alone are copied.
        """
        lease = self._lease()
        session, library = lease.session, _library()
        wanted = self._wanted(outputs, out)
        bound = self._bound(out or {})
        try:
            self._set_inputs(session, inputs)
            self._request(session, wanted)
            for index, array in bound.items():
                library.call("quern_session_bind_output", session.handle, c_size_t(index),
                             c_void_p(array.ctypes.data), c_size_t(array.nbytes))
            if seconds is None:
                library.call("quern_session_run", session.handle)
            else:
                library.call("quern_session_run_within", session.handle, c_uint64(_microseconds(seconds)))
            return {self.outputs[i].name: self._output(lease, i, bound.get(i)) for i in wanted}
        finally:
            # Nothing of the caller's is read or written after this.
            session.borrowed.clear()
            for index in bound:
                library.call("quern_session_bind_output", session.handle, c_size_t(index), None, c_size_t(0))

    def plan_info(self, inputs: Mapping[str, Input]) -> PlanInfo:
        """Plans for the shapes of these inputs, without running."""
        lease = self._lease()
        self._set_inputs(lease.session, inputs)
        try:
            info = _PlanInfo()
            _library().call("quern_session_prepare", lease.session.handle)
            _library().call("quern_session_plan_info", lease.session.handle, ctypes.byref(info))
        finally:
            lease.session.borrowed.clear()
        values = [getattr(info, name) for name, _ in _PlanInfo._fields_[1:-1]]
        return PlanInfo(*values, bool(info.is_complete))

    def _lease(self) -> _Lease:
        try:
            session = self._idle.pop()
        except IndexError:
            session = _Session(self._executable)
        return _Lease(session, self._idle)

    def _index(self, values: tuple[Value, ...], what: str, name: str) -> int:
        for index, value in enumerate(values):
            if value.name == name:
                return index
        raise InvalidArgument(f"no {what} '{name}'; there is: {', '.join(value.name for value in values)}")

    def _wanted(self, outputs: Iterable[str] | None, out: Mapping[str, np.ndarray] | None) -> list[int]:
        if outputs is None:
            return list(range(len(self.outputs)))
        wanted = [self._index(self.outputs, "output", name) for name in outputs]
        for name in out or {}:
            if self._index(self.outputs, "output", name) not in wanted:
                raise InvalidArgument(f"output '{name}' is in out, but not among the outputs that are computed")
        return wanted

    def _set_inputs(self, session: _Session, inputs: Mapping[str, Input]) -> None:
        """All inputs are set: what an earlier run has borrowed may be gone."""
        for name in inputs:
            self._index(self.inputs, "input", name)
        missing = [value.name for value in self.inputs if value.name not in inputs]
        if missing:
            raise InvalidArgument(f"no value for the inputs {', '.join(missing)}")
        for index, value in enumerate(self.inputs):
            self._set_input(session, c_size_t(index), value, inputs[value.name])

    def _set_input(self, session: _Session, index: c_size_t, value: Value, given: Input) -> None:
        library = _library()
        if given is None:
            library.call("quern_session_set_input_none", session.handle, index)
            return
        if value.kind.endswith("sequence"):
            pairs = [_tensor(value, element) for element in given]
            tensors = (_Tensor * max(len(pairs), 1))(*(tensor for tensor, _ in pairs))
            session.borrowed.append([kept for _, kept in pairs])
            library.call("quern_session_set_input_sequence", session.handle, index, tensors, c_size_t(len(pairs)))
            return
        tensor, kept = _tensor(value, given)
        session.borrowed.append(kept)
        library.call("quern_session_set_input", session.handle, index, ctypes.byref(tensor), c_int32(_BORROW))

    def _request(self, session: _Session, wanted: list[int]) -> None:
        indices = (c_size_t * max(len(wanted), 1))(*wanted)
        _library().call("quern_session_request_outputs", session.handle, indices, c_size_t(len(wanted)))

    def _bound(self, out: Mapping[str, np.ndarray]) -> dict[int, np.ndarray]:
        bound = {self._index(self.outputs, "output", name): array for name, array in out.items()}
        for index, array in bound.items():
            value = self.outputs[index]
            if value.kind != "tensor" or value.dtype == "string":
                raise InvalidArgument(f"output '{value.name}' is a {value.kind} of {value.dtype}: it cannot be in out")
            if array.dtype != value.numpy_dtype or not array.flags.carray:
                raise InvalidArgument(f"the array for output '{value.name}' is of {array.dtype}"
                                      f"{'' if array.flags.carray else ', not contiguous or not writable'}; wanted "
                                      f"one of {value.numpy_dtype} that is both")
        return bound

    def _output(self, lease: _Lease, index: int, bound: np.ndarray | None) -> Output:
        library, tensor = _library(), _Tensor()
        if self.outputs[index].kind == "tensor":
            library.call("quern_session_output", lease.session.handle, c_size_t(index), ctypes.byref(tensor))
            if bound is not None:
                shape = tuple(tensor.dims[:tensor.rank])
                return bound.reshape(-1)[:int(np.prod(shape, dtype=np.int64))].reshape(shape)
            return _array(tensor, lease)
        length, elements = c_size_t(), []
        library.call("quern_session_output_length", lease.session.handle, c_size_t(index), ctypes.byref(length))
        for element in range(length.value):
            library.call("quern_session_output_element", lease.session.handle, c_size_t(index), c_size_t(element),
                         ctypes.byref(tensor))
            elements.append(_array(tensor, lease))
        if self.outputs[index].kind == "optional tensor":
            return elements[0] if elements else None
        return elements

    def __repr__(self) -> str:
        return (f"<quern.Model: {', '.join(value.name for value in self.inputs)} -> "
                f"{', '.join(value.name for value in self.outputs)}>")


def _array(tensor: Any, owner: object) -> np.ndarray:
    """An array over the elements of a tensor; strings are copied."""
    shape = tuple(tensor.dims[:tensor.rank])
    if tensor.dtype != _STRING:
        return array_over(tensor.data, shape, _DTYPES[tensor.dtype][1], owner, read_only=False)
    count = int(np.prod(shape, dtype=np.int64))
    strings = (_String * count).from_address(tensor.data) if count else []
    array = np.empty(count, object)
    array[:] = [ctypes.string_at(s.data, s.size).decode(errors="replace") for s in strings]
    return array.reshape(shape)


def load(model: str | os.PathLike[str] | bytes, *, device: str | None = None, threads: int = 0,
         memory_limit: int = 0, arena_limit: int = 0, strategy: str | None = None, pool: str | None = None,
         math: str | None = None, denormals: str | None = None, scratch: bool = True, rewrites: bool = True,
         stripes: bool = True, max_plans: int = 0, seconds: float | None = None,
         folder: str | os.PathLike[str] | None = None, copy_file: bool = False) -> Model:
    """Reads an ONNX model, a path or its bytes, and compiles it for a device.

    device: a name of `devices()`, or "automatic", "high-performance", "low-power"; None: the CPU.
    threads: of a run; 0: the CPUs that the process may use.
    memory_limit: bytes that weights, arena and pool of a session may take; 0: any.
    arena_limit: bytes of a plan's arena, met by stripes of rows if need be; 0: any.
    strategy, pool: of memory, by name; None: the defaults (docs/memory-planning.md).
    math: of products, "f32", "bf16", "bf16x3" or "auto"; denormals: "flush" or "keep" (docs/precision.md).
    scratch: False: kernels that take as little memory to work in as they can without being slow.
    rewrites: False: the graph as it is, for bisecting.
    stripes: False: no plan of one thread in stripes of rows only because they stay in the cache.
    max_plans: that are kept, one for each set of input shapes; 0: 32.
    seconds: that reading and compiling may take, each.
    folder: of external data, for bytes.
    copy_file: read the file into memory instead of mapping it; else it must not change while the model lives.
    """
    library, handle, executable = _library(), c_void_p(), c_void_p()
    given = _LoadOptions(folder=_text(None if folder is None else os.fspath(folder)),
                         microseconds=_microseconds(seconds), copy_file=copy_file)
    if isinstance(model, bytes):
        library.call("quern_model_load_bytes", model, c_size_t(len(model)), ctypes.byref(given), ctypes.byref(handle))
    else:
        library.call("quern_model_load", os.fsencode(model), ctypes.byref(given), ctypes.byref(handle))
    try:
        options = _CompileOptions(device=_text(device), strategy=_text(strategy), threads=threads,
                                  no_rewrites=not rewrites, max_plans=max_plans, memory_limit=memory_limit,
                                  pool=_text(pool), no_scratch=not scratch, microseconds=_microseconds(seconds),
                                  math=_text(math), denormals=_text(denormals), arena_limit=arena_limit,
                                  no_stripes=not stripes)
        metadata = _metadata(handle)
        library.call("quern_executable_compile", handle, ctypes.byref(options), ctypes.byref(executable))
    finally:
        library.quern_model_destroy(handle)
    return Model(executable, metadata)
