"""Values of rows: when a row is known, and its text (laws: `tests/laws/rulers.py`)."""

import numpy as np

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.render.row_values import RowValue, row_spans, rows_held


def value(shape, *elements):
    return RowValue(TracedVariableRecord("h[t]", "output", shape=shape, values=np.array([elements])), 0)


def test_a_row_with_a_nan_is_marked():
    x = TracedVariableRecord("x[t]", "input", 0, None, statistics=np.array([[0.0, 0, 1, 1, 0]]))
    trace = TraceRecord(1, 0, 1, (0,), variables=(x,))
    [(row, first, end, seen)] = row_spans([trace], LoopVariableRecord("sequence", "x"), 0)
    assert (row, first, end) == (0, -1, None) and np.isnan(seen.mean)


def test_a_row_that_the_loop_gives_is_unknown_before_its_step():
    rows = np.array([[1.0, 1, 1, 0, 0], [2.0, 2, 2, 0, 0]])
    y = TracedVariableRecord("y[t]", "output", 0, 0, statistics=rows)
    trace = TraceRecord(1, 0, 2, (0, 1), variables=(y,))
    variable = LoopVariableRecord("nitsot", "y")
    assert [sorted(rows_held([trace], variable, 0, step)) for step in (-1, 0, 1)] == [[], [0], [0, 1]]


def test_a_number_has_four_digits_and_an_array_its_shape_and_first_elements():
    assert [value((), element).text for element in (2.0, 1 / 3, -1.5e-7, np.inf, np.nan)] == [
        "2",
        "0.3333",
        "-1.5e-07",
        "inf",
        "NaN",
    ]
    assert value((5,), 1.0, 2.0, 3.0, 4.0).text == "(5,) 1 2 3 …"
    assert value((2,), 0.5, 0.25).text == "(2,) 0.5 0.25"
    assert value((2, 2), 0.5).text == "(2, 2) 0.5 …", "the profile kept no more"
    assert value((0,)).text == "(0,)"
