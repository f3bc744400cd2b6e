"""Errors at run time in the user's words, on every tier, with rewrites and without."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T

x, h, n, j = T.vector("x"), T.vector("h"), T.lscalar("n"), T.lvector("j")
MODES = [scanviz.Mode(tier, rules) for tier in ("numpy", "reference") for rules in ("all", "none")]
modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.backend} {mode.rewrites}")


def sums(**options):
    return scanviz.scan(
        lambda x_t, so_far: so_far + x_t, sequences=x, outputs_info=T.constant(0.0), name="sums", **options
    )[0]


def failed(inputs, outputs, mode, *values):
    with pytest.raises(scanviz.ScanvizError) as caught:
        scanviz.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*values)
    return caught.value


@modes
def test_reading_the_last_row_of_no_steps_names_the_loop_and_a_fix(mode):
    for rows, inputs, values in ((sums(n_steps=n), [x, n], ([1.0], 0)), (sums(), [x], ([],))):
        error = failed(inputs, rows[-1], mode, *values)
        assert isinstance(error, IndexError)
        assert error.what == "loop `sums` took no steps, so `so_far` has no rows and no row -1"
        assert "T.concatenate([h0[None], so_far])[-1]" in error.fix and error.expected == "at least 1 step"
        assert error.where.file == __file__


@modes
def test_reading_a_missing_row_names_the_number_of_steps(mode):
    error = failed([x], sums()[5], mode, [1.0, 2.0])
    assert error.what == "loop `sums` took 2 steps, so `so_far` has no row 5"
    assert error.expected == "an index from -2 to 1"


@modes
def test_an_index_outside_of_an_array_names_the_array(mode):
    error = failed([h, n], h[n], mode, [1.0, 2.0, 3.0], 4)
    assert isinstance(error, IndexError)
    assert error.what == "index 4 is out of bounds for `h`, which has 3 rows"
    assert error.expected == "an index from -3 to 2"
    error = failed([h, n], T.outer(h, h)[:, n], mode, [1.0], -2)
    assert "which has size 1 along axis 1" in error.what


@modes
def test_an_index_in_a_step_names_loop_step_and_line_wherever_it_is_computed(mode):
    def step(place):
        return h[place] * 2

    rows, _ = scanviz.scan(step, sequences=j, name="picks")
    error = failed([j, h], rows, mode, [1, 0, 7, 1], [1.0, 2.0])
    assert error.what.startswith("index 7 is out of bounds for `h`, which has 2 rows in loop `picks`")
    assert error.step == 2 and error.where.line == step.__code__.co_firstlineno + 1
    backwards, _ = scanviz.scan(step, sequences=j, go_backwards=True, name="picks")
    assert failed([j, h], backwards, mode, [1, 0, 7, 1], [1.0, 2.0]).step == 1


@modes
def test_an_index_that_is_the_same_at_every_step_names_the_loop(mode):
    rows, _ = scanviz.scan(lambda x_t: h[n] * x_t, sequences=x, name="scaled")
    error = failed([x, n, h], rows, mode, [1.0, 2.0], 9, [1.0, 2.0])
    assert "index 9 is out of bounds for `h`, which has 2 rows in loop `scaled`" in error.what


@modes
def test_rows_too_large_for_memory_are_an_error_with_the_loop_and_a_fix(mode):
    rows, _ = scanviz.scan(lambda v: v + 1, outputs_info=0.0, n_steps=n, name="huge")
    for steps in (10**13, 2**61):
        error = failed([n], rows, mode, steps)
        assert isinstance(error, MemoryError)
        assert "loop `huge` needs" in error.what and "to keep every row of `v`" in error.what
        assert error.found == f"{steps} steps" and "v[-1] instead of all rows" in error.fix
        assert error.where.file == __file__


@modes
def test_an_array_too_large_for_memory_is_an_error_with_its_line(mode):
    error = failed([n], T.zeros((n, 10**6)), mode, 10**9)
    assert isinstance(error, MemoryError) and "needs" in error.what and error.where.file == __file__


def test_a_shape_error_keeps_its_message():
    error = failed([x, h], x + h, "reference", np.ones(2), np.ones(3))
    assert "shapes (2,) and (3,) do not broadcast together" in error.what


@modes
def test_unnamed_operands_are_written_as_expressions(mode):
    w, rows = T.matrix("w"), T.matrix("rows")
    states, _ = scanviz.scan(lambda r_t, h: T.tanh(T.dot(h, w) + r_t), rows, h, name="rnn")
    error = failed([rows, h, w], states, mode, np.ones((5, 4)), np.ones(3), np.eye(3))
    assert error.found == "`dot(h[t-1], w)` float64[3], `rows[t]` float64[4]"
    added = failed([x, h], T.exp(2 * x) * T.tanh(h + 1), mode, np.ones(2), np.ones(3))
    assert added.found == "`exp(2 * x)` float64[2], `tanh(h + 1)` float64[3]"
    added = failed([x], T.exp(x) * np.ones(4), mode, np.ones(2))
    assert added.found == "`exp(x)` float64[2], a constant float64[4]"
