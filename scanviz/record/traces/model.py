"""Values of a loop's variables over time, as data: kept steps, values and statistics.

Numbers are in arrays, which the file keeps beside the document; a step's row of ``values`` holds the first numbers of the flat
value, as many as the byte budget allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import field

from scanviz.engine.strict import Strict
from scanviz.record.values import SourceRecord, equal_fields

Numbers = np.ndarray[Any, np.dtype[np.float64]]
STATISTICS = ("min", "max", "mean", "nan", "inf")  # columns of TracedVariableRecord.statistics


class TracedVariableRecord(Strict, frozen=True, eq=False):
    """A variable of a loop's step, over the steps that were kept.

    Attributes
    ----------
    name : str
        The user's name, such as ``h[t-1]``; an operation's value without a name has its operation's label.
    role : str
        ``"input"`` or ``"output"`` of the step, or ``"operation"``.
    variable : int or None
        Index of the loop variable that an input or output belongs to.
    tap : int or None
        Step it is read or written at, relative to t, for inputs and outputs.
    operation : int or None
        Index of the operation in the loop's record, for values that an operation gave.
    source : SourceRecord or None
        The user's line that built it.
    dtype : str
        As NumPy names it.
    shape : tuple of int
        Shape of its value at the first kept step.
    statistics : numpy.ndarray
        float64, shape (steps kept, 5): smallest, largest and mean of the finite numbers (NaN if there is none), count of NaN,
        count of infinities.
    values : numpy.ndarray
        float64, shape (steps kept, numbers kept): the first numbers of each value, in C order.
    """

    name: str
    role: Literal["input", "output", "operation"]
    variable: int | None = None
    tap: int | None = None
    operation: int | None = None
    source: SourceRecord | None = None
    dtype: str = ""
    shape: tuple[int, ...] = ()
    statistics: Numbers = field(default_factory=lambda: np.zeros((0, len(STATISTICS))))
    values: Numbers = field(default_factory=lambda: np.zeros((0, 0)))

    def __eq__(self, other: object) -> bool:
        return equal_fields(self, other) if isinstance(other, TracedVariableRecord) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it holds arrays


class TraceRecord(Strict, frozen=True):
    """Values of one run of a loop.

    Attributes
    ----------
    loop : int
        Key of the loop.
    run : int
        Number of the run, from 0.
    total_steps : int
        Steps that the run did.
    steps : tuple of int
        Steps that were kept, in order.
    reasons : tuple of str
        Why each was kept: ``"first"``, ``"last"``, ``"every"`` (every k-th) or ``"event"`` (around the first NaN or infinity).
    variables : tuple of TracedVariableRecord
        In order: inputs, operations, outputs.
    left_out : int
        Variables for which the byte budget had no room.
    """

    loop: int
    run: int = 0
    total_steps: int = 0
    steps: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()
    variables: tuple[TracedVariableRecord, ...] = ()
    left_out: int = 0

    def has_nan(self, step: int | None, variable: TracedVariableRecord | None = None) -> bool:
        """Return whether a step was kept and a variable, or any, has a NaN in it."""
        if step not in self.steps:
            return False
        place, column = self.steps.index(step), STATISTICS.index("nan")
        asked = self.variables if variable is None else (variable,)
        return any(one.statistics[place, column] > 0 for one in asked)


class FirstBad(NamedTuple):
    """The first NaN or infinity of a run.

    Attributes
    ----------
    step : int
        The first step kept that has one.
    variable : TracedVariableRecord
        The first bad value that the step computed; an input, if that was bad already.
    given : bool
        Whether the step was given it.
    """

    step: int
    variable: TracedVariableRecord
    given: bool


def first_bad(trace: TraceRecord, what: str) -> FirstBad | None:
    """Return the position of the first NaN (``"nan"``) or infinity (``"inf"``) of a run; constants do not count."""
    column = STATISTICS.index(what)
    changing = [
        variable for variable in trace.variables if variable.role != "input" or variable.tap is not None
    ]
    for place, step in enumerate(trace.steps):
        for variable in changing:
            if variable.statistics[place, column] > 0:
                return FirstBad(step, variable, variable.role == "input")
    return None


def first_bad_of(traces: Iterable[TraceRecord]) -> tuple[TraceRecord, FirstBad] | None:
    """Return the first position of a NaN or infinity in runs of a loop: by run, step, then order of computation.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1, 0.5, 0, 0], [0.0, 1, 0.5, 2, 0]])
    >>> trace = TraceRecord(1, 0, 2, (0, 7), variables=(TracedVariableRecord("h[t]", "output", statistics=rows),))
    >>> found = first_bad_of([trace])
    >>> found[1].step, found[1].variable.name
    (7, 'h[t]')
    """
    for trace in sorted(traces, key=lambda trace: trace.run):
        both = [first_bad(trace, what) for what in ("nan", "inf")]
        found = [bad for bad in both if bad is not None]
        if found:
            order = {id(variable): place for place, variable in enumerate(trace.variables)}
            return trace, min(found, key=lambda bad: (bad.step, order[id(bad.variable)]))
    return None
