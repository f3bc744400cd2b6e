"""Errors that views raise for a user's mistake."""

from scanviz.engine.errors import ScanvizError, ScanvizTypeError, ScanvizValueError


class CannotReadError(ScanvizError, OSError):
    """A file cannot be opened for reading."""


class CannotWriteError(ScanvizError, OSError):
    """A file cannot be written: there is no place, something else stands there, or the disk is full."""


class RecomputeError(ScanvizValueError):
    """Values of a record cannot be computed again."""


__all__ = [
    "CannotReadError",
    "CannotWriteError",
    "RecomputeError",
    "ScanvizError",
    "ScanvizTypeError",
    "ScanvizValueError",
]
