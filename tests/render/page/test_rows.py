"""Rows in the page's player (laws: `tests/laws/rulers.py`)."""

import numpy as np

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.render.page.data import spans_of


def test_a_row_with_a_nan_is_marked():
    x = TracedVariableRecord("x[t]", "input", 0, None, statistics=np.array([[0.0, 0, 1, 1, 0]]))
    trace = TraceRecord(1, 0, 1, (0,), variables=(x,))
    [(row, first, end, mean)] = spans_of(trace, LoopVariableRecord("sequence", "x"), 0)
    assert (row, first, end) == (0, 0, None) and np.isnan(mean)
