# SPDX-License-Identifier: Apache-2.0
"""The errors of both libraries as exceptions: their text is the library's sentence."""


class Error(Exception):
    """Any error of quern; `status` is its name in the C API."""

    status = "unknown"


class InvalidArgument(Error, ValueError):
    """The caller's mistake: an unknown name, a wrong shape, a problem that makes no sense."""

    status = "invalid_argument"


class InvalidModel(Error, ValueError):
    """The model contradicts itself or the format."""

    status = "invalid_model"


class Unsupported(Error):
    """Understood, but not implemented."""

    status = "unsupported"


class NotFound(Error, LookupError):
    """No such file, name or device."""

    status = "not_found"


class OutOfMemory(Error, MemoryError):
    """A limit or the system refused."""

    status = "out_of_memory"


class DeviceLost(Error):
    """The device stopped; its sessions are dead, the process is not."""

    status = "device_lost"


class Busy(Error):
    """In use, or cancelled."""

    status = "busy"


class InternalError(Error):
    """A defect of the library: please report it."""

    status = "internal"


class TimedOut(Error, TimeoutError):
    """Past its deadline."""

    status = "timed_out"


# By the numbers of quern_status, which quern_planner_status shares.
BY_STATUS: dict[int, type[Error]] = {1: InvalidArgument, 2: InvalidModel, 3: Unsupported, 4: NotFound, 5: OutOfMemory,
                                     6: DeviceLost, 7: Busy, 8: InternalError, 9: TimedOut}


def error_of(status: int, sentence: bytes) -> Error:
    """The exception for a status that is not ok."""
    return BY_STATUS.get(status, Error)(sentence.decode(errors="replace"))
