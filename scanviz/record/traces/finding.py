"""The finding of a check, as data: the first step with a bad value, and its origins."""

from __future__ import annotations

from msgspec import Struct, field

from scanviz.engine.strict import Strict
from scanviz.record.values import SourceRecord


class ValueRecord(Struct, frozen=True):
    """Summary of a value.

    Attributes
    ----------
    name : str
        The user's name, or the operation that made it.
    dtype : str
        As NumPy names it.
    shape : tuple of int
        Its shape.
    statistics : tuple of float
        Smallest, largest and mean of its finite numbers (NaN if there is none), count of NaN, count of infinities.
    numbers : tuple of float
        The first of its numbers, in C order.
    where : tuple of int or None
        Place of its first number that should not be; None if there is none.
    origin : str
        Origin of a value from outside; empty if it was computed.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    statistics: tuple[float, ...]
    numbers: tuple[float, ...] = ()
    where: tuple[int, ...] | None = None
    origin: str = ""


class StepPlaceRecord(Struct, frozen=True):
    """A step of a run of a loop.

    Attributes
    ----------
    loop : str
        Its name.
    source : SourceRecord or None
        The line of the ``scan`` call.
    run : int or None
        Number of the run, from 0; None if it has not begun.
    step : int
        Number of the step, from 0.
    forward_loop : str or None
        Name of the loop that it is the gradient of.
    forward_step : int or None
        The step of that loop that this one goes back over, where it is known.
    """

    loop: str
    source: SourceRecord | None
    run: int | None
    step: int
    forward_loop: str | None = None
    forward_step: int | None = None


class FindingRecord(Struct, frozen=True):
    """The first operation with a bad result.

    Attributes
    ----------
    problem : str
        ``"nan"``, ``"inf"``, ``"big"``, ``"dtype"`` or ``"shape"``.
    function : str
        Name of the function.
    call : int
        Number of the call, from 0.
    operation : str
        The operation as printed.
    index : int
        Its place in the program, or in the loop's step.
    source : SourceRecord or None
        The user's line that built it.
    result : ValueRecord
        Its result.
    inputs : tuple of ValueRecord
        Its inputs.
    step_inputs : tuple of ValueRecord
        Other inputs of the loop's step.
    loops : tuple of StepPlaceRecord
        The steps it happened in, outer loop first; empty outside of loops.
    cause : str
        ``"made"`` (none of the inputs had the problem) or ``"given"`` (one had it, from outside).
    expected : str
        The expected dtype or shape.
    read_at : tuple of StepPlaceRecord
        The steps at which loops read the bad row, for work done for all steps before the loops.
    rows : tuple of str
        Rows of the caller's inputs that it was made of, such as ``x[731]``.
    made_of : tuple of StepPlaceRecord
        The steps at which loops wrote the origins of the bad row, for work done behind the loops.
    moved_from : str
        The loop whose step it was written in, where a rewrite took it out of there; empty if none did.
    """

    problem: str
    function: str
    call: int
    operation: str
    index: int
    source: SourceRecord | None
    result: ValueRecord
    inputs: tuple[ValueRecord, ...] = ()
    step_inputs: tuple[ValueRecord, ...] = ()
    loops: tuple[StepPlaceRecord, ...] = ()
    cause: str = "made"
    expected: str = ""
    read_at: tuple[StepPlaceRecord, ...] = ()
    rows: tuple[str, ...] = ()
    made_of: tuple[StepPlaceRecord, ...] = ()
    moved_from: str = ""


class FirstNanRecord(Strict, frozen=True):
    """The place of the first NaN that a profiled call returned.

    Attributes
    ----------
    function : int
        Key of the function.
    operation : str
        The operation that gave it, as printed; empty if it was not found in time, or if none computed it.
    source : SourceRecord or None
        The user's line that built the operation.
    loop : str
        Name of the loop whose step it is in; empty outside of loops.
    step : int or None
        The step, counted from 0.
    rows : str
        The caller's values that it was computed from, such as ``x[731]``, or where it came from, such as
        ``your input x[731]``; empty where that is not known.
    was_given : bool
        Whether it came from outside: no operation made it.
    """

    function: int
    operation: str = ""
    source: SourceRecord | None = None
    loop: str = ""
    step: int | None = None
    rows: str = ""
    was_given: bool = False


class CheckedRecord(Struct, frozen=True):
    """The amount of checked work, and the finding.

    Attributes
    ----------
    calls, steps, operations, values : int
        Calls of functions, steps of loops, operations done, and numbers in their results.
    finding : FindingRecord or None
        The first, None if there is none.
    """

    calls: int = 0
    steps: int = 0
    operations: int = 0
    values: int = 0
    finding: FindingRecord | None = field(default=None)
