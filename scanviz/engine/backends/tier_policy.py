"""When a function's loops become machine code: before the first step that would bring their NumPy time so far over a constant.

NumPy time is estimated from counts and sizes (:mod:`scanviz.engine.program.work`), never read from a clock, and what lies in
the cache on disk makes no difference.  So a program takes the same way and gives the same bits each time it is run.
"""

from __future__ import annotations

from scanviz.engine.config import config


class TierPolicy:
    """The NumPy time that the loops of one function have taken so far, by estimate, for all shapes together.

    Attributes
    ----------
    numpy_ns : float
        Nanoseconds of the steps that NumPy has taken.
    compiles_all : bool
        Whether every loop is compiled now, whatever it takes.
    """

    __slots__ = ("compiles_all", "numpy_ns")

    def __init__(self) -> None:
        self.numpy_ns, self.compiles_all = 0.0, False

    def pays(self, more_ns: float) -> bool:
        """Return whether machine code pays before steps that would take so many nanoseconds more.

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


def pays_after_ns() -> float:
    """Return after how many nanoseconds on NumPy machine code pays."""
    return config.native.pays_after * 1e9


def why_numpy() -> str:
    """Return in words why a loop begins on NumPy, for reports."""
    after_ms = config.native.pays_after * 1e3
    return f"generated for the shapes met; machine code once the function's loops have taken {after_ms:g} ms here, by estimate"
