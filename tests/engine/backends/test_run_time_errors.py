"""Errors at run time name the operation, the user's line, the loop, the step and the values, alike on every tier."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import (
    NumericalError,
    ScanvizError,
    ScanvizIndexError,
    ScanvizValueError,
    ShapeError,
)
from scanviz.engine.graph.shared import shared
from scanviz.engine.scan.variables import State
from tests.engine.backends.running import TIERS, loop, run

pytestmark = pytest.mark.parametrize("tier", TIERS)
N = T.lscalar("n")


def message_of(tier, inputs, outputs, values, kind):
    """Return the message of the error that running raises, which must be of a kind."""
    with pytest.raises(kind) as caught:
        run(tier, inputs, outputs, values)
    assert isinstance(caught.value, ScanvizError)
    return str(caught.value)


def test_mismatched_shapes_are_an_error_with_inputs_and_step(tier):
    rows, w = T.matrix("rows"), T.matrix("w")
    out, _ = scanviz.scan(lambda row, w: T.dot(row, w), rows, None, [w], name="products")
    text = message_of(tier, [rows, w], [out], [np.ones((3, 2)), np.ones((4, 4))], ShapeError)
    assert "test_run_time_errors.py:" in text
    assert "T.dot(row, w)" in text
    assert "in loop `products`, at step 0" in text
    assert "`w` float64[4, 4]" in text


def test_a_singular_matrix_is_a_numerical_error(tier):
    m = T.tensor3("m")
    out, _ = scanviz.scan(lambda each: T.inv(each), m, name="inverses")
    values = np.stack([np.eye(2), np.zeros((2, 2))])
    text = message_of(tier, [m], [out], [values], NumericalError)
    assert "in loop `inverses`, at step 1" in text


def test_an_error_in_an_inner_loop_names_both_loops_and_steps(tier):
    m, x = T.lmatrix("m"), T.vector("x")

    def inner(row):
        return scanviz.scan(lambda place: x[place], row, name="inner")[0].sum()

    out, _ = scanviz.scan(inner, m, name="outer")
    text = message_of(tier, [m, x], [out], [[[0, 1], [1, 7]], [1.0, 2.0]], ScanvizIndexError)
    assert "in loop `inner`, at step 1" in text
    assert "in loop `outer`, at step 1" in text


def test_an_operation_outside_of_loops_names_its_line(tier):
    x, y = T.vector("x"), T.vector("y")
    text = message_of(tier, [x, y], [x + y], [[1.0, 2.0], [1.0, 2.0, 3.0]], ShapeError)
    assert "test_run_time_errors.py:" in text
    assert "`x` float64[2]" in text
    assert "`y` float64[3]" in text
    assert "loop" not in text


def test_values_of_names_used_twice_are_distinguished(tier):
    x, again = T.vector("x"), T.vector("x")
    text = message_of(tier, [x, again], [T.dot(x, again)], [[1.0, 2.0], [1.0, 2.0, 3.0]], ShapeError)
    assert "`x` float64[2], `x` float64[3]" in text


def test_a_negative_number_of_steps_is_an_error_with_a_fix(tier):
    x = T.vector("x")
    out, _ = scanviz.scan(lambda v: v + 1, x, n_steps=N, name="back")
    text = message_of(tier, [x, N], [out], [[1.0], -2], ScanvizValueError)
    assert "loop `back`" in text
    assert "go_backwards" in text


def test_a_sequence_that_is_too_short_is_named_with_both_lengths(tier):
    x, y = T.vector("x"), T.vector("y")
    out, _ = scanviz.scan(lambda a, b: a + b, [x, y], n_steps=N, name="pairs")
    text = message_of(tier, [x, y, N], [out], [[1.0, 2.0, 3.0], [1.0, 2.0], 3], ScanvizValueError)
    assert "`y`" in text
    assert "3" in text
    assert "2 rows" in text


def test_an_initial_state_with_too_few_rows_is_named(tier):
    a, start = T.vector("a"), T.matrix("start")
    results = loop([State("deep", {-3: a}, {0: a * 2})], N, [start])
    text = message_of(tier, [N, start], results, [2, np.ones((2, 2))], ScanvizValueError)
    assert "`deep`" in text
    assert "expected: 3 rows" in text
    assert "2 rows" in text


def test_a_buffer_with_too_few_rows_is_named(tier):
    now, start = T.vector("now"), T.matrix("start")
    results = loop([State("wide", {0: now}, {0: now * 2, 1: now})], N, [start])
    text = message_of(tier, [N, start], results, [4, np.ones((4, 2))], ScanvizValueError)
    assert "`wide`" in text
    assert "at least 5 rows" in text


def test_a_state_that_would_broadcast_is_refused(tier):
    x, h0 = T.matrix("x"), T.vector("h0")
    out, _ = scanviz.scan(lambda row, h: h + row, x, h0, name="sums")
    text = message_of(tier, [x, h0], [out], [np.ones((3, 4)), np.ones(1)], ShapeError)
    assert "state `" in text
    assert "loop `sums`" in text
    assert "at step 0" in text
    assert "(1,)" in text
    assert "(4,)" in text
    assert "h + row" in text


def test_a_failed_call_does_not_affect_the_next(tier):
    places, x = T.lvector("places"), T.vector("x")
    total = shared(0.0, "total")
    out, _ = scanviz.scan(lambda place, x: T.exp(x[place] * T.ones((3,))), places, None, [x], allow_gc=False)
    f = scanviz.function([places, x], out, updates={total: total + 1}, mode=tier)
    wanted = f([0, 1], [1.0, 2.0])
    for _ in range(3):
        with pytest.raises(ScanvizIndexError):
            f([0, 1, 5], [1.0, 2.0])
    np.testing.assert_array_equal(f([0, 1], [1.0, 2.0]), wanted)
    assert total.get_value() == 2


def test_the_traceback_shows_generated_code_or_none_at_all(tier):
    x, y = T.vector("x"), T.vector("y")
    with pytest.raises(ShapeError) as caught:
        run(tier, [x, y], [x + y], [[1.0, 2.0], [1.0, 2.0, 3.0]])
    assert caught.value.__suppress_context__ or caught.value.__cause__ is not None
