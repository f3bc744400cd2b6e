"""Capture real inputs of a script's functions, to verify and measure rewrites with; and forecast the memory of its calls.

The inputs of one call per function are kept, with the values of its shared variables: of the first call, then of the second,
fourth, eighth and so on.  So few calls are copied, and the kept call is not only a warm-up.  Functions that are built and never
called are listed too.

``scanviz memory`` prints the forecasts beside the memory that the calls held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import OutOfMemoryError
from scanviz.engine.function import Function
from scanviz.engine.function.callable import CALLS
from scanviz.engine.function.forecast import MemoryForecast, of_call
from scanviz.engine.function.spec import FunctionSpec
from scanviz.engine.locks import lock
from scanviz.engine.observe import Observer, observed_by

MOST_BYTES = 256 * 2**20  # for all kept inputs together


class CapturedCall(Struct):
    """The inputs of one call.

    Attributes
    ----------
    function : Function
        The function.
    arrays : list of array
        Copies of its inputs, then of the values of its shared variables.
    calls : int
        Number of calls of the function so far.
    """

    function: Function
    arrays: list[Any]
    calls: int = 1


class CapturedCalls:
    """Keep the inputs of calls in bounded memory.

    Parameters
    ----------
    most_bytes : int
        Memory limit of all functions together.

    Attributes
    ----------
    left_out : list of Function
        Functions whose inputs were too large.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._found = most_bytes, dict[int, CapturedCall]()
        self._counts: dict[int, int] = {}
        self._lock = lock()
        self.left_out: list[Function] = []

    @property
    def calls(self) -> list[CapturedCall]:
        """The kept calls, in order of the functions' creation."""
        return [self._found[key] for key in sorted(self._found)]

    def take(self, function: Function, arrays: Sequence[Any]) -> None:
        """Keep the inputs of a chosen call."""
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
    def observing(self) -> Iterator[CapturedCalls]:
        """Keep calls in the block."""
        with report_calls(self.take):
            yield self


class Uncalled:
    """Functions that were built and not called.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> with Uncalled().observing() as uncalled:
    ...     f, g = scanviz.function([x], x + 1.0, name="f"), scanviz.function([x], x + 2.0, name="g")
    ...     _ = g(1.0)
    >>> [function.name for function in uncalled.functions]
    ['f']
    """

    def __init__(self) -> None:
        self._waiting: dict[int, Function] = {}

    @property
    def functions(self) -> list[Function]:
        """The functions, in order of their creation."""
        return [function for _, function in sorted(self._waiting.copy().items())]

    @contextmanager
    def observing(self) -> Iterator[Uncalled]:
        """Observe builds and calls in the block."""

        def built(function: Function) -> None:
            self._waiting[function.key] = function

        def called(function: Function, arrays: Sequence[Any]) -> None:
            self._waiting.pop(function.key, None)

        with report_calls(called), report_functions(built):
            yield self


@contextmanager
def report_calls(report: Callable[[Function, Sequence[Any]], None]) -> Iterator[None]:
    """Call ``report`` before each call of a function in the block, with its inputs and the values of its shared variables."""
    CALLS.append(report)
    try:
        yield
    finally:
        CALLS.remove(report)


@contextmanager
def report_functions(report: Callable[[Function], None]) -> Iterator[None]:
    """Call ``report`` with each function that is built in the block."""
    build = Function.__init__

    def built(function: Function, spec: FunctionSpec, started_ns: int | None = None) -> None:
        build(function, spec, started_ns)
        report(function)

    # the engine only reports called functions
    Function.__init__ = built  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Function.__init__ = build  # type: ignore[method-assign]


def _bytes(arrays: Sequence[Any]) -> int:
    return sum(int(getattr(array, "nbytes", 0)) for array in arrays)


class ForecastCall(Struct):
    """The call of a function with the largest forecast.

    Attributes
    ----------
    function : Function
        The function.
    forecast : MemoryForecast
        The forecast before the call.
    shapes : tuple
        Shapes of its inputs.
    calls : int
        Number of calls so far.
    measured_bytes : int or None
        Peak memory of measured calls of the function.
    """

    function: Function
    forecast: MemoryForecast
    shapes: tuple[tuple[int, ...], ...]
    calls: int = 1
    measured_bytes: int | None = None


class Forecasts(Observer):
    """Forecast calls of functions, one for each set of shapes, and measure the memory that they hold.

    Parameters
    ----------
    limit : int, optional
        Largest forecast in bytes that a call may have.
    """

    weighs = True

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._found: dict[int, ForecastCall] = {}
        self._known: set[tuple[Any, ...]] = set()
        self._lock = lock()

    @property
    def calls(self) -> list[ForecastCall]:
        """The call with the largest forecast of each function, in order of the functions' creation."""
        return [self._found[key] for key in sorted(self._found)]

    def take(self, function: Function, arrays: Sequence[Any]) -> None:
        """Forecast a call, if its shapes or the numbers among its inputs are new.

        Raises
        ------
        OutOfMemoryError
            If the forecast exceeds the limit.
        """
        shapes = tuple(tuple(np.shape(array)) for array in arrays)
        numbers = [
            int(array)
            for array, shape in zip(arrays, shapes, strict=True)
            if not shape and np.asarray(array).dtype.kind in "iu"
        ]
        key = (function.key, shapes, *numbers)
        with self._lock:
            before = self._found.get(function.key)
            if before is not None:
                before.calls += 1
            if key in self._known:
                return
            self._known.add(key)
            forecast = of_call(function, arrays)
            given = shapes[: len(function.inputs)]
            if before is None:
                self._found[function.key] = ForecastCall(function, forecast, given)
            elif forecast.peak_bytes > before.forecast.peak_bytes:
                before.forecast, before.shapes = forecast, given
        if self._limit is not None and forecast.peak_bytes > self._limit:
            raise _too_much(function, forecast, self._limit)

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """Take the measured memory of a call."""
        found = self._found.get(function)
        if found is not None and name == "peak_bytes" and loop is None and index is None:
            found.measured_bytes = max(found.measured_bytes or 0, int(value))

    @contextmanager
    def observing(self) -> Iterator[Forecasts]:
        """Forecast and measure calls in the block."""
        with report_calls(self.take), observed_by(self):
            yield self


def _too_much(function: Function, forecast: MemoryForecast, limit: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"the call of `{function.name}` would hold {forecast.peak_bytes / 1e6:,.1f} MB, most of it at {forecast.at}",
        where=forecast.where,
        expected=f"at most {limit / 1e6:,.1f} MB",
        found=f"{forecast.peak_bytes / 1e6:,.1f} MB",
        fix="smaller inputs, scan_checkpoints for a gradient, or reading the last row alone",
    )
