"""The compile threshold: a function's loops are compiled before their NumPy time passes a constant.

NumPy time is estimated from counts and sizes (:mod:`scanviz.engine.program.work`); neither a clock nor the cache on disk decides.
So a program takes the same way, and gives the same bits, in every run.  Calls in several threads count together: their order
decides which of them is the first in machine code.
"""

from __future__ import annotations

import threading

from scanviz.engine.config import config


class _ThreadTime(threading.local):
    """Estimated NumPy time of the loops that the current thread ran."""

    numpy_ns = 0.0


class TierPolicy:
    """Estimated NumPy time of all loops of one function, for all shapes together.

    Attributes
    ----------
    numpy_ns : float
        The estimated time of all steps on NumPy so far.
    thread : _ThreadTime
        The part of it that the current thread ran: the difference around a call is the call's own.
    compiles_all : bool
        Whether every loop is compiled from now on.
    """

    __slots__ = ("compiles_all", "numpy_ns", "thread")

    def __init__(self, compiles_all: bool = False) -> None:
        self.numpy_ns, self.thread, self.compiles_all = 0.0, _ThreadTime(), compiles_all

    def pays(self, more_ns: float) -> bool:
        """Return whether machine code pays before steps that would take ``more_ns``.

        Examples
        --------
        >>> policy = TierPolicy()
        >>> policy.add(6e6)
        >>> policy.pays(3e6), policy.pays(5e6)
        (False, True)
        """
        return self.compiles_all or self.numpy_ns + more_ns >= pays_after_ns()

    def add(self, numpy_ns: float) -> None:
        """Count steps that NumPy takes."""
        self.numpy_ns += numpy_ns
        self.thread.numpy_ns += numpy_ns


def pays_after_ns() -> float:
    """Return the NumPy time after which machine code pays, in nanoseconds."""
    return config.native.pays_after * 1e9


def why_numpy() -> str:
    """Return the reason why a loop begins on NumPy, for reports."""
    after_ms = config.native.pays_after * 1e3
    return f"generated for the shapes met; machine code once the function's loops have taken {after_ms:g} ms here, by estimate"
