"""Forecasts of the memory of a script's calls, made while it runs: each before its call, and beside it what the call then held.

``scanviz memory`` prints them, so that a user sees how far a forecast can be trusted for this script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import OutOfMemoryError
from scanviz.engine.function import Function
from scanviz.engine.function.callable import CALLS
from scanviz.engine.function.forecast import MemoryForecast, of_call
from scanviz.engine.locks import lock
from scanviz.engine.observe import Observer, observed_by


class ForecastCall(Struct):
    """The call of a function for which most was forecast.

    Attributes
    ----------
    function : Function
        What was called.
    forecast : MemoryForecast
        What was told before the call.
    shapes : tuple
        Of its inputs.
    calls : int
        Calls so far.
    measured_bytes : int or None
        The most that calls of the function held, as far as they were measured.
    """

    function: Function
    forecast: MemoryForecast
    shapes: tuple[tuple[int, ...], ...]
    calls: int = 1
    measured_bytes: int | None = None


class Forecasts(Observer):
    """Forecasts calls of functions, one for each set of shapes, and notes what they held.

    Parameters
    ----------
    limit : int, optional
        Bytes beyond which a call is not made.
    """

    weighs = True

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._found: dict[int, ForecastCall] = {}
        self._known: set[tuple[Any, ...]] = set()
        self._lock = lock()

    @property
    def calls(self) -> list[ForecastCall]:
        """Of each function the call for which most was forecast, in order of the functions' making."""
        return [self._found[key] for key in sorted(self._found)]

    def take(self, function: Function, arrays: Sequence[Any]) -> None:
        """Forecast a call, if its shapes or the numbers among its inputs are new.

        Raises
        ------
        OutOfMemoryError
            If it would hold more than the limit.
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
            told = of_call(function, arrays)
            given = shapes[: len(function.inputs)]
            if before is None:
                self._found[function.key] = ForecastCall(function, told, given)
            elif told.peak_bytes > before.forecast.peak_bytes:
                before.forecast, before.shapes = told, given
        if self._limit is not None and told.peak_bytes > self._limit:
            raise _too_much(function, told, self._limit)

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """Take what a call held."""
        found = self._found.get(function)
        if found is not None and name == "peak_bytes" and loop is None and index is None:
            found.measured_bytes = max(found.measured_bytes or 0, int(value))

    @contextmanager
    def watching(self) -> Iterator[Forecasts]:
        """Forecast and measure calls made in the block."""
        CALLS.append(self.take)
        try:
            with observed_by(self):
                yield self
        finally:
            CALLS.remove(self.take)


def _too_much(function: Function, told: MemoryForecast, limit: int) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"the call of `{function.name}` would hold {told.peak_bytes / 1e6:,.1f} MB, most of it at {told.at}",
        where=told.where,
        expected=f"at most {limit / 1e6:,.1f} MB",
        found=f"{told.peak_bytes / 1e6:,.1f} MB",
        fix="smaller inputs, scan_checkpoints for a gradient, or reading the last row alone",
    )
