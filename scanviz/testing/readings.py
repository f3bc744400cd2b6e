"""What a graph reads of a loop's results: all rows, the last, a sum of them; the same on symbolic variables and on arrays.

Rewrites look at what is read: a last row alone, a sum over the steps, rows turned round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Variable


class Reading(NamedTuple):
    """One way of reading rows.

    Attributes
    ----------
    name : str
        In words.
    symbolic, plain : callable
        What is read of the variable, and of the array, that holds the rows.
    rows : int
        How many rows there must be; with fewer, all rows are read.
    runs : bool
        Whether a step must be taken for it, if there is one.
    """

    name: str
    symbolic: Callable[[Any], Any]
    plain: Callable[[Any], Any]
    rows: int = 0
    runs: bool = True

    def __repr__(self) -> str:
        return self.name

    def of(self, rows: Any, count: int) -> Any:
        """Return what is read of rows, a variable or an array, of which there are ``count`` when run."""
        if count < self.rows:
            return rows
        return self.symbolic(rows) if isinstance(rows, Variable) else np.asarray(self.plain(rows))


ALL_ROWS = Reading("all rows", lambda rows: rows, lambda rows: rows)
LAST_ROW = Reading("the last row", lambda rows: rows[-1], lambda rows: rows[-1], 1)
READINGS = (
    ALL_ROWS,
    LAST_ROW,
    Reading("the first row", lambda rows: rows[0], lambda rows: rows[0], 1),
    Reading("the second row", lambda rows: rows[1], lambda rows: rows[1], 2),
    Reading("the row before the last", lambda rows: rows[-2], lambda rows: rows[-2], 2),
    Reading("all rows but the last", lambda rows: rows[:-1], lambda rows: rows[:-1], runs=False),
    Reading("the last two rows", lambda rows: rows[-2:], lambda rows: rows[-2:]),
    Reading("all rows but the first", lambda rows: rows[1:], lambda rows: rows[1:]),
    Reading("rows turned round", lambda rows: rows[::-1], lambda rows: rows[::-1]),
    Reading("the sum of all", T.sum, np.sum),
    Reading("the sum over the steps", lambda rows: T.sum(rows, axis=0), lambda rows: rows.sum(axis=0)),
    Reading("the sum of each row", lambda rows: T.sum(rows, axis=-1), lambda rows: rows.sum(axis=-1)),
    Reading("the sum of the last row", lambda rows: T.sum(rows[-1]), lambda rows: rows[-1].sum(), 1),
    Reading("the shape", lambda rows: rows.shape, lambda rows: np.array(rows.shape, np.int64), runs=False),
)
