"""Calls of a loop again: errors, results and settings are those of the first call."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T


def test_a_sequence_that_is_too_short_is_named():
    x, y = T.vector("x"), T.vector("y")
    n = T.lscalar("n")
    rows, _ = scanviz.scan(lambda x_t, y_t: x_t * y_t, [x, y], n_steps=n, name="both")
    f = scanviz.function([x, y, n], rows, mode="numpy")
    for _ in range(3):
        f(np.ones(3), np.ones(3), 3)
    with pytest.raises(ValueError, match=r"`y`"):
        f(np.ones(3), np.ones(2), 3)


def test_results_of_a_loop_share_no_memory_with_later_calls():
    h = T.vector("h")
    rows, _ = scanviz.scan(lambda h: h * 0.5, outputs_info=h, n_steps=3, name="halved")
    f = scanviz.function([h], [rows, rows[-1]], mode="numpy")
    found = [f(np.ones(2)) for _ in range(4)]
    found[-1][0][...] = 7
    np.testing.assert_array_equal(found[-2][0], [[0.5] * 2, [0.25] * 2, [0.125] * 2])
    np.testing.assert_array_equal(found[-2][1], [0.125] * 2)


def test_floating_point_error_settings_are_restored_after_a_call():
    x = T.vector("x")
    f = scanviz.function([x], T.log(x), mode="numpy")
    with np.errstate(all="raise"):
        assert f(np.array([0.0, -1.0]))[0] == -np.inf
        assert np.geterr()["divide"] == "raise"
        with pytest.raises(FloatingPointError):
            np.log(np.zeros(1))
