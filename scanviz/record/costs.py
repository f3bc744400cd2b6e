"""Costs of a graph as data: in named sizes, and in numbers once a call has shown the sizes."""

from __future__ import annotations

from msgspec import field

from scanviz.engine.strict import Strict


class StepNumbersRecord(Strict, frozen=True):
    """Cost of one step of a loop, in numbers.

    Attributes
    ----------
    operations : int
        Operations of its own, without those of loops inside.
    flops : int or None
        Floating-point operations, with those of loops inside; None where that depends on values.
    bytes_moved : int or None
        Bytes read and written, likewise.
    """

    operations: int
    flops: int | None = None
    bytes_moved: int | None = None


class CostNumbersRecord(Strict, frozen=True):
    """Cost of a graph with the sizes of the function's last call; None for numbers that depend on values.

    Attributes
    ----------
    operations : int or None
        Operations run, those of a step as often as there are steps; of a loop with ``until`` as often as there may be.
    flops : int or None
        Floating-point operations.
    bytes_moved : int or None
        Bytes read and written.
    buffer_bytes : int or None
        Bytes of the rows that loops keep.
    per_step : dict of str to StepNumbersRecord
        Loop (names from the outermost, with ``/``) → cost of one step; after an application, of the loops whose cost changed.
    """

    operations: int | None = None
    flops: int | None = None
    bytes_moved: int | None = None
    buffer_bytes: int | None = None
    per_step: dict[str, StepNumbersRecord] = field(default_factory=dict)


class GraphCostRecord(Strict, frozen=True):
    """Cost of a graph, in named sizes.

    Attributes
    ----------
    operations : str
        Operations run, those of a step as often as there are steps.
    flops : str
        Floating-point operations.
    bytes_moved : str
        Bytes read and written.
    buffer_bytes : str
        Bytes of the rows that loops keep.
    per_step : dict of str to int
        Loop (names from the outermost, with ``/``) → operations of one step; after an application, of loops where that
        changed.
    gone : tuple of str
        Loops that are there no more.
    numbers : CostNumbersRecord or None
        The same with the sizes of the function's last call put in; None where it was never called, and of differences.
    """

    operations: str = "0"
    flops: str = "0"
    bytes_moved: str = "0"
    buffer_bytes: str = "0"
    per_step: dict[str, int] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    numbers: CostNumbersRecord | None = None
