# SPDX-License-Identifier: Apache-2.0
"""The memory planner: offsets for buffers whose lives are known, with proofs, pools and pictures.

    problem = quern.plan.Problem(sizes=[1024, 512], first=[0, 2], end=[2, 4], alignment=64)
    plan = problem.plan("exact", seconds=10)
    plan.size, plan.status, plan.offsets

Sizes and offsets are bytes; a buffer is live in the steps [first, end). Needs libquern_plan_banks.so alone, or
libquern_plan.so, which has one memory. Objects do
not change, and any number of threads may use them.
"""
from __future__ import annotations

import ctypes
import functools
import html
import os
import weakref
from collections.abc import Iterable, Sequence
from ctypes import c_char_p, c_double, c_int32, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quern._errors import Busy, InvalidArgument, OutOfMemory
from quern._libraries import Library, array_over, structure

__all__ = ["Bank", "Plan", "Problem", "Replay", "StaticPeak", "Trace", "page", "pools", "strategies"]

_ANYWHERE = 2**64 - 1
_MOST_BANKS = 64
_GAP = np.dtype([("buffer", "u8"), ("first", "i8"), ("end", "i8"), ("from", "u8"), ("to", "u8")])


_Buffers = structure("Buffers", count=c_size_t, sizes=c_void_p, firsts=c_void_p, ends=c_void_p, alignments=c_void_p,
                      fixed_offsets=c_void_p, must_be_zero=c_void_p, names=c_void_p, gaps=c_void_p, gap_count=c_size_t,
                      banks=c_void_p, bank_count=c_size_t, allowed_banks=c_void_p, separations=c_void_p,
                      colocations=c_void_p)
_Options = structure("Options", strategy=c_char_p, capacity=c_uint64, seconds=c_double, steps=c_uint64)
_Info = structure("Info", count=c_size_t, bytes=c_uint64, lower_bound=c_uint64, unshared_bytes=c_uint64,
                   fragmentation=c_double, proof=c_int32, bank_count=c_size_t, cost=c_uint64, cost_bound=c_uint64)
_StaticPeak = structure("StaticPeak", bytes=c_uint64, plans=c_size_t, is_bound=c_int32)
_PoolOptions = structure("PoolOptions", pool=c_char_p, limit=c_uint64, page=c_uint64, seconds=c_double)
_Figures = structure("Figures", events=c_size_t, peak_requested=c_uint64, peak_used=c_uint64, peak_reserved=c_uint64,
                      end_reserved=c_uint64, allocations=c_uint64, hits=c_uint64, system_allocations=c_uint64,
                      system_releases=c_uint64, internal_fragmentation=c_double, external_fragmentation=c_double,
                      seconds=c_double)


class _Bank(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("capacity", c_uint64), ("alignment", c_uint64), ("cost", c_uint64),
                ("reuse", c_uint64)]


@functools.cache
def _library() -> Library:
    names = [f"quern_planner_{kind}_{what}" for kind in ("strategy", "pool") for what in ("name", "summary")]
    return Library(("libquern_plan_banks.so.0", "libquern_plan.so.0"), "QUERN_PLAN_LIBRARY", "quern_planner_last_error", {
        "quern_planner_problem_lower_bound": c_uint64, "quern_planner_plan_offsets": c_void_p,
        "quern_planner_plan_banks": c_void_p, "quern_planner_plan_bank_sizes": c_void_p,
        "quern_planner_text_data": c_void_p, "quern_planner_text_size": c_size_t,
        "quern_planner_trace_run_count": c_size_t, "quern_planner_trace_event_count": c_size_t,
        "quern_planner_proof_name": c_char_p, "quern_planner_version": c_char_p, **dict.fromkeys(names, c_char_p)})


def _made(destroy: str, owner: object, name: str, *arguments: Any) -> c_void_p:
    """A handle that a call makes and that is destroyed with its owner."""
    handle = c_void_p()
    _library().call(name, *arguments, ctypes.byref(handle))
    weakref.finalize(owner, getattr(_library(), destroy), handle).atexit = False
    return handle


def _text(name: str, *arguments: Any) -> str:
    """The text that a call makes."""
    text = c_void_p()
    library = _library()
    library.call(name, *arguments, ctypes.byref(text))
    try:
        data = library.quern_planner_text_data(text)
        return ctypes.string_at(data, library.quern_planner_text_size(text)).decode(errors="replace")
    finally:
        library.quern_planner_text_destroy(text)


def _listed(kind: str) -> dict[str, str]:
    listed: dict[str, str] = {}
    while name := getattr(_library(), f"quern_planner_{kind}_name")(c_size_t(len(listed))):
        summary = getattr(_library(), f"quern_planner_{kind}_summary")(c_size_t(len(listed)))
        listed[name.decode()] = summary.decode()
    return listed


def strategies() -> dict[str, str]:
    """The strategies by name, with what they do; the default comes first."""
    return _listed("strategy")


def pools() -> dict[str, str]:
    """The pools by name, with their rules; the default comes first."""
    return _listed("pool")


def _name(name: str | None) -> bytes | None:
    return None if name is None else name.encode()


def _count(name: str, value: int | None) -> int:
    """A number for a field in which 0 is the default."""
    if value is None:
        return 0
    if not 0 < value < 2**64:
        raise InvalidArgument(f"{name} is {value}, wanted a positive number of 64 bits, or None")
    return value


def _integers(name: str, values: ArrayLike, dtype: Any, count: int | None = None) -> np.ndarray:
    """`values` as a contiguous array of the type, one for each buffer; never a number that was another."""
    given = np.asarray(values)
    if given.size == 0:
        given = given.astype(dtype)
    if given.dtype.kind not in "iu":
        raise InvalidArgument(f"{name} has elements of {given.dtype}, wanted integers")
    if given.ndim == 0 and count is not None:
        given = np.full(count, given)
    if given.ndim != 1 or count not in (None, given.size):
        wanted = "one dimension" if count is None else f"({count},)"
        raise InvalidArgument(f"{name} has the shape {given.shape}, wanted {wanted}")
    limits = np.iinfo(dtype)
    if given.size and not limits.min <= int(given.min()) <= int(given.max()) <= limits.max:
        raise InvalidArgument(f"{name} has {int(given.min())} to {int(given.max())}, wanted numbers of {limits.dtype}")
    return np.ascontiguousarray(given, dtype)


def _fixed(values: ArrayLike, count: int) -> np.ndarray:
    given = _integers("fixed", values, np.int64, count)
    if given.size and given.min() < -1:
        raise InvalidArgument(f"fixed has {given.min()}, wanted offsets, or -1 where a buffer is not fixed")
    return given.astype(np.uint64)  # -1 becomes the number for anywhere


def _gaps(gaps: Iterable[Sequence[int]]) -> np.ndarray:
    rows = gaps if isinstance(gaps, np.ndarray) else \
        np.asarray([(*row, 0, 0) if len(row) == 3 else tuple(row) for row in gaps])
    if rows.size == 0:
        return np.empty(0, _GAP)
    if rows.ndim != 2 or rows.shape[1] not in (3, 5) or rows.dtype.kind not in "iu":
        raise InvalidArgument(f"gaps has the shape {rows.shape} of {rows.dtype}, wanted rows of integers: "
                              "buffer, first, end, and perhaps from, to")
    made = np.zeros(len(rows), _GAP)
    for column, field in enumerate(_GAP.names[:rows.shape[1]]):
        made[field] = _integers(f"{field} of gaps", rows[:, column], _GAP[field])
    return made


@dataclass(frozen=True)
class Bank:
    """A memory with addresses of its own, from 0.

    capacity: bytes; None: as many as it takes.
    alignment: of every offset, beside that of the buffer.
    cost: of each byte of a buffer that lies in it.
    reuse: price of a buffer that lies where another one was before (a barrier).
    """

    name: str
    capacity: int | None = None
    alignment: int = 1
    cost: int = 0
    reuse: int = 0


def _banks(banks: Sequence[Bank]) -> Any:
    made = (_Bank * len(banks))()
    for place, bank in zip(made, banks):
        numbers = {"capacity": _ANYWHERE if bank.capacity is None else bank.capacity, "alignment": bank.alignment,
                   "cost": bank.cost, "reuse": bank.reuse}
        for field, value in numbers.items():
            if not 0 <= value < 2**64:
                raise InvalidArgument(f"{field} of bank {bank.name} is {value}, wanted a number of 64 bits")
            setattr(place, field, value)
        if bank.alignment == 0:
            raise InvalidArgument(f"alignment of bank {bank.name} is 0, wanted 1 or more")
        place.name = bank.name.encode()
    return made


def _allowed(allowed: Sequence[Iterable[int | str]], banks: Sequence[Bank], count: int) -> np.ndarray:
    """Masks: bit b for bank b."""
    if len(allowed) != count:
        raise InvalidArgument(f"allowed has {len(allowed)} elements, wanted {count}")
    indices = {bank.name: index for index, bank in enumerate(banks)}
    masks = np.zeros(count, np.uint64)
    for buffer, choice in enumerate(allowed):
        for bank in choice:
            index = indices.get(bank) if isinstance(bank, str) else bank
            if index is None or not 0 <= index < min(len(banks), _MOST_BANKS):
                raise InvalidArgument(f"buffer {buffer} may lie in bank {bank!r}, there are {list(indices)}")
            masks[buffer] |= np.uint64(1 << index)
    return masks


class Problem:
    """Buffers with lives, for which offsets are wanted.

    sizes, first, end: one number a buffer; it is live in the steps [first, end).
    alignment: of offsets, one for all or one a buffer.
    fixed: offsets that are given; -1 where a buffer may lie anywhere.
    must_be_zero: buffers that share memory with no other.
    gaps: rows (buffer, first, end) of steps in which a buffer is not in use, or (buffer, first, end, from, to) in
        which only its bytes [from, to) are; those of one buffer in order of time.
    names: for messages and pictures.
    banks: several memories instead of one; of the plans that fit all of them those of the least cost are wanted, and
        of these the ones of the fewest bytes.
    allowed: for each buffer the banks, by name or index, in which it may lie; none: any.
    separation, colocation: groups by number, 0 is none; buffers of one separation lie in banks that all differ, those
        of one colocation in one bank.
    """

    def __init__(self, sizes: ArrayLike, first: ArrayLike, end: ArrayLike, *, alignment: ArrayLike = 1,
                 fixed: ArrayLike | None = None, must_be_zero: ArrayLike | None = None,
                 gaps: Iterable[Sequence[int]] = (), names: Sequence[str] | None = None, banks: Sequence[Bank] = (),
                 allowed: Sequence[Iterable[int | str]] | None = None, separation: ArrayLike | None = None,
                 colocation: ArrayLike | None = None) -> None:
        size_array = _integers("sizes", sizes, np.uint64)
        count = size_array.size
        arrays = {"sizes": size_array, "firsts": _integers("first", first, np.int64, count),
                  "ends": _integers("end", end, np.int64, count),
                  "alignments": _integers("alignment", alignment, np.uint64, count)}
        if fixed is not None:
            arrays["fixed_offsets"] = _fixed(fixed, count)
        if must_be_zero is not None:
            arrays["must_be_zero"] = _integers("must_be_zero", np.asarray(must_be_zero, bool).astype(np.uint8), np.uint8,
                                               count)
        if allowed is not None:
            arrays["allowed_banks"] = _allowed(allowed, banks, count)
        for field, groups in (("separations", separation), ("colocations", colocation)):
            if groups is not None:
                arrays[field] = _integers(field[:-1], groups, np.uint32, count)
        gap_array, bank_array = _gaps(gaps), _banks(banks)
        buffers = _Buffers(count=count, gaps=gap_array.ctypes.data, gap_count=gap_array.size,
                           banks=ctypes.addressof(bank_array) if banks else None, bank_count=len(banks),
                           **{name: array.ctypes.data for name, array in arrays.items()})
        if names is not None:
            if len(names) != count:
                raise InvalidArgument(f"names has {len(names)} elements, wanted {count}")
            name_array = (c_char_p * count)(*(str(name).encode() for name in names))
            buffers.names = ctypes.addressof(name_array)
        self._handle = _made("quern_planner_problem_destroy", self, "quern_planner_problem_create",
                             ctypes.byref(buffers))

    @classmethod
    def _from_call(cls, name: str, *arguments: Any) -> Problem:
        problem = cls.__new__(cls)
        problem._handle = _made("quern_planner_problem_destroy", problem, name, *arguments)
        return problem

    @classmethod
    def from_csv(cls, text: str | bytes) -> Problem:
        """From MiniMalloc's CSV; errors name the line."""
        data = text.encode() if isinstance(text, str) else text
        return cls._from_call("quern_planner_problem_read_csv", data, c_size_t(len(data)))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Problem:
        """The same from a file."""
        with open(path, "rb") as file:
            return cls.from_csv(file.read())

    @functools.cached_property
    def _arrays(self) -> Any:
        buffers = _Buffers()
        _library().call("quern_planner_problem_buffers", self._handle, ctypes.byref(buffers))
        return buffers

    def _array(self, field: str, dtype: Any) -> np.ndarray:
        return array_over(getattr(self._arrays, field), (self._arrays.count,), dtype, self, read_only=True)

    def __len__(self) -> int:
        return self._arrays.count

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of the buffers; like the other arrays, the library's memory."""
        return self._array("sizes", np.uint64)

    @property
    def first(self) -> np.ndarray:
        return self._array("firsts", np.int64)

    @property
    def end(self) -> np.ndarray:
        return self._array("ends", np.int64)

    @property
    def alignment(self) -> np.ndarray:
        return self._array("alignments", np.uint64)

    @property
    def fixed(self) -> np.ndarray:
        """Fixed offsets; -1 where a buffer may lie anywhere."""
        return self._array("fixed_offsets", np.int64)

    @property
    def must_be_zero(self) -> np.ndarray:
        return self._array("must_be_zero", np.bool_)

    @property
    def gaps(self) -> np.ndarray:
        """Records with the fields buffer, first, end, from, to."""
        return array_over(self._arrays.gaps, (self._arrays.gap_count,), _GAP, self, read_only=True) \
            if self._arrays.gap_count else np.empty(0, _GAP)

    @property
    def names(self) -> list[str]:
        pointers = (c_char_p * len(self)).from_address(self._arrays.names) if len(self) else []
        return [name.decode(errors="replace") for name in pointers]

    @property
    def banks(self) -> list[Bank]:
        """Without banks, empty, as are the next three."""
        if not self._arrays.bank_count:
            return []
        return [Bank(b.name.decode(errors="replace"), None if b.capacity == _ANYWHERE else b.capacity, b.alignment, b.cost,
                     b.reuse) for b in (_Bank * self._arrays.bank_count).from_address(self._arrays.banks)]

    def _choices(self, field: str, dtype: Any) -> np.ndarray:
        return self._array(field, dtype) if self._arrays.bank_count else np.empty(0, dtype)

    @property
    def allowed(self) -> list[list[int]]:
        """For each buffer the banks in which it may lie; none: any."""
        return [[b for b in range(_MOST_BANKS) if mask >> b & 1]
                for mask in self._choices("allowed_banks", np.uint64).tolist()]

    @property
    def separation(self) -> np.ndarray:
        return self._choices("separations", np.uint32)

    @property
    def colocation(self) -> np.ndarray:
        return self._choices("colocations", np.uint32)

    @property
    def lower_bound(self) -> int:
        """Bytes that every plan needs."""
        return _library().quern_planner_problem_lower_bound(self._handle)

    def csv(self) -> str:
        return _text("quern_planner_problem_write_csv", self._handle)

    def plan(self, strategy: str | None = None, *, capacity: int | None = None, seconds: float = 1,
             steps: int | None = None) -> Plan:
        """Offsets by a strategy of `strategies()`; None: the default.

        capacity: a plan of at most these bytes is good enough; None: as small as possible.
        seconds: that a search may take.
        steps: of a search; where they end it first, the plan is the same everywhere.
        """
        options = _Options(strategy=_name(strategy), capacity=_count("capacity", capacity), seconds=seconds,
                           steps=_count("steps", steps))
        return Plan._from_call(self, strategy or next(iter(strategies())), "quern_planner_solve", self._handle,
                               ctypes.byref(options))

    def check(self, offsets: ArrayLike, size: int | None = None, *, banks: ArrayLike | None = None) -> Plan:
        """A plan of offsets that somebody else found, in an arena of `size` bytes (None: as many as they take), or in
        these banks, by index, each as large as it must be. Raises InvalidArgument with the buffers that overlap, are
        misaligned, end outside or may not lie where they do."""
        array = _integers("offsets", offsets, np.uint64)
        if banks is not None:
            if size is not None:
                raise InvalidArgument("size is for problems without banks")
            bank_array = _integers("banks", banks, np.uint32, array.size)
            return Plan._from_call(self, "given", "quern_planner_plan_from_places", self._handle,
                                   c_void_p(array.ctypes.data), c_void_p(bank_array.ctypes.data), c_size_t(array.size))
        return Plan._from_call(self, "given", "quern_planner_plan_from_offsets", self._handle,
                               c_void_p(array.ctypes.data), c_size_t(array.size), c_uint64(_count("size", size)))

    def __repr__(self) -> str:
        return f"<quern.plan.Problem: {len(self)} buffers, lower bound {self.lower_bound}>"


class Plan:
    """Offsets for a problem, checked, and what is proven of them. Made by Problem.plan() and Problem.check()."""

    problem: Problem
    strategy: str

    @classmethod
    def _from_call(cls, problem: Problem, strategy: str, name: str, *arguments: Any) -> Plan:
        plan = cls.__new__(cls)
        plan.problem = problem
        plan.strategy = strategy
        plan._handle = _made("quern_planner_plan_destroy", plan, name, *arguments)
        plan._info = _Info()
        _library().call("quern_planner_plan_get_info", plan._handle, ctypes.byref(plan._info))
        return plan

    @property
    def offsets(self) -> np.ndarray:
        """In the order of the buffers; the library's memory, which the array keeps."""
        return array_over(_library().quern_planner_plan_offsets(self._handle), (self._info.count,), np.uint64, self,
                          read_only=True)

    @property
    def banks(self) -> np.ndarray:
        """The bank of each buffer, by index; empty without banks."""
        return self._of_banks("quern_planner_plan_banks", self._info.count, np.uint32)

    @property
    def bank_sizes(self) -> np.ndarray:
        """Bytes of each bank; empty without banks."""
        return self._of_banks("quern_planner_plan_bank_sizes", self._info.bank_count, np.uint64)

    def _of_banks(self, function: str, count: int, dtype: Any) -> np.ndarray:
        return array_over(getattr(_library(), function)(self._handle), (count if self._info.bank_count else 0,), dtype,
                          self, read_only=True)

    @property
    def cost(self) -> int:
        """Of all buffers in their banks, with the prices of reuse; 0 without banks."""
        return self._info.cost

    @property
    def cost_bound(self) -> int:
        """Proven: no plan costs less."""
        return self._info.cost_bound

    @property
    def size(self) -> int:
        """Bytes of the arena, or of all banks together."""
        return self._info.bytes

    @property
    def lower_bound(self) -> int:
        """Proven: no plan is smaller; with banks, none of the least cost."""
        return self._info.lower_bound

    @property
    def status(self) -> str:
        """`optimal`, no plan is smaller; `feasible`, it fits the capacity; `infeasible`, no plan does; `unknown`."""
        return _library().quern_planner_proof_name(self._info.proof).decode()

    @property
    def is_optimal(self) -> bool:
        return self.size <= self.lower_bound and self.cost <= self.cost_bound

    @property
    def unshared_bytes(self) -> int:
        """If no two buffers shared memory."""
        return self._info.unshared_bytes

    @property
    def fragmentation(self) -> float:
        """The share of the arena that is not live in the fullest step."""
        return self._info.fragmentation

    def csv(self) -> str:
        """The problem with a column `offset`."""
        return _text("quern_planner_plan_write_csv", self._handle)

    def svg(self, title: str | None = None) -> str:
        """A picture of addresses over time."""
        return _text("quern_planner_plan_draw_svg", self._handle, _name(self._title() if title is None else title))

    def _title(self) -> str:
        return f"{self.strategy}: {self.size} bytes, {self.status}"

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        facts = (f"{len(self.problem)} buffers in {self.size:,} bytes, lower bound {self.lower_bound:,}, "
                 f"{self.unshared_bytes:,} if nothing were shared")
        return f"<div>{html.escape(facts)}{self.svg()}</div>"

    def __repr__(self) -> str:
        return f"<quern.plan.Plan: {self._title()}>"


def page(plans: Sequence[Plan], title: str = "Plans") -> str:
    """A page of HTML that sets plans of one problem above each other, with what is live in every step."""
    handles = (c_void_p * len(plans))(*(plan._handle for plan in plans))
    titles = (c_char_p * len(plans))(*(plan._title().encode() for plan in plans))
    return _text("quern_planner_draw_page", title.encode(), handles, titles, c_size_t(len(plans)))


@dataclass(frozen=True)
class StaticPeak:
    """An arena that is kept, and planned anew for each run."""

    bytes: int
    plans: int  # runs that differ
    is_bound: bool  # too many buffers to plan: `bytes` is a lower bound


@dataclass(frozen=True)
class Replay:
    """What a pool made of a trace; sizes are bytes, each peak at a time of its own."""

    pool: str
    error: str | None  # None: it came to the end of the trace
    events: int
    peak_requested: int
    peak_used: int
    peak_reserved: int
    end_reserved: int
    allocations: int
    hits: int
    system_allocations: int
    system_releases: int
    internal_fragmentation: float
    external_fragmentation: float
    seconds: float

    @property
    def hit_rate(self) -> float:
        """The share of the allocations that took nothing from the system."""
        return self.hits / self.allocations if self.allocations else 1.0


class Trace:
    """Allocations and frees of runs, which can be played to every pool."""

    @classmethod
    def _from_call(cls, name: str, *arguments: Any) -> Trace:
        trace = cls.__new__(cls)
        trace._handle = _made("quern_planner_trace_destroy", trace, name, *arguments)
        return trace

    @classmethod
    def from_csv(cls, text: str | bytes) -> Trace:
        """Columns run,event,id,bytes,alignment, as `quern run --record-trace` writes them."""
        data = text.encode() if isinstance(text, str) else text
        return cls._from_call("quern_planner_trace_read_csv", data, c_size_t(len(data)))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Trace:
        """The same from a file."""
        with open(path, "rb") as file:
            return cls.from_csv(file.read())

    @classmethod
    def of_shapes(cls, lives: str | bytes, runs: str | bytes) -> Trace:
        """From the lives of buffers for each shape, and the shape of each run; both are CSV."""
        texts = [text.encode() if isinstance(text, str) else text for text in (lives, runs)]
        return cls._from_call("quern_planner_trace_of_shapes",
                              *(part for text in texts for part in (text, c_size_t(len(text)))))

    @property
    def runs(self) -> int:
        return _library().quern_planner_trace_run_count(self._handle)

    @property
    def events(self) -> int:
        return _library().quern_planner_trace_event_count(self._handle)

    def problem(self, run: int) -> Problem:
        """The lives of the buffers of one run, in events."""
        if run < 0:
            raise InvalidArgument(f"run is {run}, wanted a number from 0")
        return Problem._from_call("quern_planner_trace_problem", self._handle, c_size_t(run))

    def static_peak(self, strategy: str | None = None, *, seconds: float = 1) -> StaticPeak:
        """The largest plan of a run; all plans share the seconds."""
        peak = _StaticPeak()
        options = _Options(strategy=_name(strategy), seconds=seconds)
        _library().call("quern_planner_trace_static_peak", self._handle, ctypes.byref(options), ctypes.byref(peak))
        return StaticPeak(peak.bytes, peak.plans, bool(peak.is_bound))

    def replay(self, pool: str | None = None, *, limit: int | None = None, page: int | None = None,
               seconds: float = 10) -> Replay:
        """Plays the trace to a pool of `pools()`; None: the default.

        limit: bytes that it may reserve; where it would take more, the figures end there and `error` says so.
        page: of the system, in bytes; a power of two from 64.
        """
        figures = _Figures()
        options = _PoolOptions(pool=_name(pool), limit=_count("limit", limit), page=_count("page", page),
                               seconds=seconds)
        error = None
        try:
            _library().call("quern_planner_trace_replay", self._handle, ctypes.byref(options), ctypes.byref(figures))
        except (OutOfMemory, Busy) as stopped:
            error = str(stopped)
        values = {name: getattr(figures, name) for name, _ in _Figures._fields_[1:]}
        return Replay(pool or next(iter(pools())), error, **values)

    def replay_all(self, **options: Any) -> list[Replay]:
        """The same for every pool."""
        return [self.replay(pool, **options) for pool in pools()]

    def __repr__(self) -> str:
        return f"<quern.plan.Trace: {self.runs} runs, {self.events} events>"
