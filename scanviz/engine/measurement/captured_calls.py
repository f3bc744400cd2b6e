"""Real inputs of a script's functions, kept while it runs: what rewrites are checked and measured with afterwards.

Of each function the inputs of one call are kept, with the values that its shared variables had then: of the first call, and again
of the second, the fourth, the eighth …, so that a long run is not copied call by call and what is kept is not only a warm-up.

Functions that are built and never called are known too, so that none of a script's functions is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.function import Function
from scanviz.engine.function.callable import CALLS
from scanviz.engine.function.spec import FunctionSpec
from scanviz.engine.locks import lock

MOST_BYTES = 256 * 2**20  # of all inputs together


class CapturedCall(Struct):
    """The inputs of one call.

    Attributes
    ----------
    function : Function
        What was called.
    arrays : list of array
        Its inputs, then the values of its shared variables, as they were.
    calls : int
        Calls of the function so far.
    """

    function: Function
    arrays: list[Any]
    calls: int = 1


class CapturedCalls:
    """Keeps the inputs of calls, in bounded memory.

    Parameters
    ----------
    most_bytes : int
        How much may be kept of all functions together.

    Attributes
    ----------
    left_out : list of Function
        Those whose inputs were too large.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._found = most_bytes, dict[int, CapturedCall]()
        self._counts: dict[int, int] = {}
        self._lock = lock()
        self.left_out: list[Function] = []

    @property
    def calls(self) -> list[CapturedCall]:
        """The calls kept, in order of the functions' making."""
        return [self._found[key] for key in sorted(self._found)]

    def take(self, function: Function, arrays: Sequence[Any]) -> None:
        """Keep a call's inputs, if it is one to be kept."""
        with self._lock:
            count = self._counts[function.key] = self._counts.get(function.key, 0) + 1
            known = self._found.get(function.key)
            if known is not None:
                known.calls = count
            if count & (count - 1):
                return
            others = sum(
                _bytes(captured_call.arrays)
                for key, captured_call in self._found.items()
                if key != function.key
            )
            if others + _bytes(arrays) > self._most:
                if known is None and function not in self.left_out:
                    self.left_out.append(function)
                return
            self._found[function.key] = CapturedCall(function, [np.array(array) for array in arrays], count)

    @contextmanager
    def watching(self) -> Iterator[CapturedCalls]:
        """Keep calls made in the block."""
        CALLS.append(self.take)
        try:
            yield self
        finally:
            CALLS.remove(self.take)


class Uncalled:
    """Functions that were built and have not been called since.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> with Uncalled().watching() as uncalled:
    ...     f, g = scanviz.function([x], x + 1.0, name="f"), scanviz.function([x], x + 2.0, name="g")
    ...     _ = g(1.0)
    >>> [function.name for function in uncalled.functions]
    ['f']
    """

    def __init__(self) -> None:
        self._waiting: dict[int, Function] = {}

    @property
    def functions(self) -> list[Function]:
        """They, in order of their making."""
        return [function for _, function in sorted(self._waiting.copy().items())]

    @contextmanager
    def watching(self) -> Iterator[Uncalled]:
        """Watch functions that are built, and calls, in the block."""

        def built(function: Function) -> None:
            self._waiting[function.key] = function

        def called(function: Function, arrays: Sequence[Any]) -> None:
            self._waiting.pop(function.key, None)

        CALLS.append(called)
        try:
            with report_functions(built):
                yield self
        finally:
            CALLS.remove(called)


@contextmanager
def report_functions(report: Callable[[Function], None]) -> Iterator[None]:
    """Call ``report`` with each function that is built in the block."""
    build = Function.__init__

    def built(function: Function, spec: FunctionSpec, started_ns: int | None = None) -> None:
        build(function, spec, started_ns)
        report(function)

    # The engine reports called functions: a function that is never called shows only in its constructor.
    Function.__init__ = built  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Function.__init__ = build  # type: ignore[method-assign]


def _bytes(arrays: Sequence[Any]) -> int:
    return sum(int(getattr(array, "nbytes", 0)) for array in arrays)
