"""The table of CuPy meanings, and counts of their transfers between host and device."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.shared import is_on_device


class Traffic(threading.local):
    """Counts of this thread so far.

    Attributes
    ----------
    to_device_bytes, to_host_bytes : int
        Bytes of the arrays moved.
    waits : int
        Number of times that the host waited for a number or an array of the device.
    """

    to_device_bytes = to_host_bytes = waits = 0

    def counts(self) -> tuple[int, int, int]:
        """Return the counts."""
        return self.to_device_bytes, self.to_host_bytes, self.waits


TRAFFIC = Traffic()


def fetched(value: Any) -> Any:
    """Return a value on the host, and count the wait if it is on the device."""
    if not is_on_device(value):
        return np.asarray(value)
    TRAFFIC.waits += 1
    TRAFFIC.to_host_bytes += value.nbytes
    return value.get()


Perform = Callable[[Any, Op, Sequence[Any]], Sequence[Any]]
PerformInto = Callable[[Any, Op, Sequence[Any], Any], None]


class CupyRow(NamedTuple):
    """The CuPy meaning of an operation.

    Attributes
    ----------
    perform : callable
        ``perform(xp, op, values)``, with ``xp`` CuPy or a stand-in.
    host : bool
        Whether it always runs on the host.
    scalars_on_host : bool
        Whether it runs on the host if all its inputs are there.
    into : callable or None
        ``into(xp, op, values, out)`` writes its one result into an array of the device, which may be an input that the
        operation's meaning allows to write over.
    numbers : int
        From which input on numbers are read on the host, such as sizes and indices; after all of them if none is.
    writes : callable
        ``writes(op, dtypes, dtype)``: whether ``into`` does so for inputs of these dtypes and a result of that one.
    """

    perform: Perform
    host: bool = False
    scalars_on_host: bool = True
    numbers: int = 1 << 30
    into: PerformInto | None = None
    writes: Callable[[Op, Sequence[str], str], bool] = lambda op, dtypes, dtype: False


CUPY: MeaningTable[CupyRow] = MeaningTable(
    "CuPy meaning",
    *(f"engine/backends/cupy/{name}.py" for name in ("arrays", "elementwise", "matrices")),
)


def extension(xp: Any, name: str) -> Any:
    """Return a module of ``cupyx``, such as ``"scipy.special"``; a stand-in brings its own in ``extensions``."""
    own = getattr(xp, "extensions", None)
    return own[name] if own is not None else importlib.import_module(f"cupyx.{name}" if name else "cupyx")


def single(function: Callable[..., Any], scalars_on_host: bool = True, numbers: int = 1 << 30) -> CupyRow:
    """Return the row of a one-output op from ``function(xp, parameters, *values)``."""

    def perform(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        return (function(xp, op.parameters, *values),)

    return CupyRow(perform, scalars_on_host=scalars_on_host, numbers=numbers)


def on_host() -> CupyRow:
    """Return the row of an op that is always done on the host, by its NumPy meaning, and then moved."""

    def never(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        raise AssertionError(f"{op.name} is done on the host")

    return CupyRow(never, host=True)
