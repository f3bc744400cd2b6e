"""Random reads of rows: reads of a loop's result, as a graph and of a NumPy array."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable


class RowRead(NamedTuple):
    """A row (``start`` alone) or a slice of the rows of a result.

    Attributes
    ----------
    row : bool
        Whether it is one row, ``[start]``, or ``[start:stop:step]``.
    start, stop, step : int or None
        As in Python.
    symbolic : bool
        Whether start and stop are known to a call alone.
    """

    row: bool
    start: int | None
    stop: int | None
    step: int | None
    symbolic: bool

    def of_graph(self, rows: Variable, inputs: list[tuple[Variable, Any]]) -> Variable:
        """Return the read of a symbolic result; what only a call knows is added to ``inputs`` with its value."""

        def number(value: int | None) -> Any:
            if value is None or not self.symbolic:
                return value
            variable = T.lscalar(f"i{len(inputs)}")
            inputs.append((variable, value))
            return variable

        start = number(self.start)
        read: Variable = rows[start] if self.row else rows[start : number(self.stop) : self.step]
        return read

    def of_array(self, rows: Array) -> Array:
        """Return the read of an array; IndexError where there is no such row."""
        index: Any = self.start if self.row else slice(self.start, self.stop, self.step)
        return np.asarray(rows[index])

    def needs(self, count: int) -> int:
        """Return how many first rows of ``count`` it looks at; all where it asks for a row that there is not."""
        if self.row:
            assert self.start is not None
            return range(count)[self.start] + 1 if -count <= self.start < count else count
        picked = range(count)[self.start : self.stop : self.step]
        return max(picked) + 1 if picked else 0

    @property
    def is_tight(self) -> bool:
        """Return whether its bounds alone determine the rows it reads: strides may end before them."""
        return self.row or self.step in (None, 1, -1)


def row_reads(most: int) -> st.SearchStrategy[RowRead]:
    """Return a strategy of reads of results of about ``most`` rows, some of rows that are not there."""
    places = st.integers(-most - 2, most + 1)
    bounds = st.none() | places
    rows = st.builds(RowRead, st.just(True), places, st.none(), st.none(), st.booleans())
    steps = st.sampled_from([None, None, 1, 2, 3, -1, -1, -2])
    return rows | rows | st.builds(RowRead, st.just(False), bounds, bounds, steps, st.booleans())
