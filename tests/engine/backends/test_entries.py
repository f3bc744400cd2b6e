"""Loops entered without an arena: from some run on, where all about their rows is known; errors and counts as with one."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.runtime.specialised import ENTERED


def made(f):
    """Return the code of a function's only loop for its latest shapes."""
    (runner,) = f.executable.flat.runners.values()
    return runner._latest[1]


def looked_up(mode="numpy"):
    """Return a function whose step fails where an index lies outside of a table."""
    x, places = T.vector("x"), T.lvector("places")
    rows, _ = scanviz.scan(lambda p, h, x: x[p] + h, places, T.constant(0.0), x, name="walk")
    return scanviz.function([x, places], rows, mode=mode)


@pytest.mark.parametrize("mode", ["numpy", "auto"])
def test_a_loop_has_an_entry_after_some_runs_and_not_before(mode):
    f, x, places = looked_up(mode), np.arange(3.0), np.array([0, 1, 2, 1])
    first = f(x, places)
    for _ in range(ENTERED - 1):
        f(x, places)
    assert made(f).entry is None
    f(x, places)
    assert made(f).entry is not None
    np.testing.assert_array_equal(f(x, places), [0.0, 1.0, 3.0, 4.0])
    np.testing.assert_array_equal(first, [0.0, 1.0, 3.0, 4.0])


def test_threads_that_count_a_run_at_the_same_time_do_not_lose_the_entry():
    f, x, places = looked_up(), np.arange(3.0), np.array([0, 1, 2, 1])
    f(x, places)
    made(f).runs = ENTERED  # two have counted, and neither has looked yet
    f(x, places)
    assert made(f).entry is not None


def test_an_error_in_an_entered_step_has_the_usual_message():
    f, x, places = looked_up(), np.arange(3.0), np.array([0, 1, 7, 1])
    with pytest.raises(IndexError) as before:
        f(x, places)
    for _ in range(ENTERED + 1):
        f(x, places % 3)
    assert made(f).entry is not None
    with pytest.raises(IndexError) as after:
        f(x, places)
    assert str(after.value) == str(before.value)
    assert "step 2" in str(after.value)


def test_other_lengths_use_the_entry_without_an_arena():
    f, x, places = looked_up(), np.arange(3.0), np.array([0, 1, 2, 1])
    for _ in range(ENTERED + 1):
        f(x, places)
    np.testing.assert_array_equal(f(x, places[:2]), [0.0, 1.0])
    assert f(x, places[:0]).shape == (0,)
    np.testing.assert_array_equal(f(np.arange(5.0), np.array([4, 0])), [4.0, 4.0])


def test_a_sequence_that_is_too_short_is_named():
    x, y = T.vector("x"), T.vector("y")
    n = T.lscalar("n")
    rows, _ = scanviz.scan(lambda x_t, y_t: x_t * y_t, [x, y], n_steps=n, name="both")
    f = scanviz.function([x, y, n], rows, mode="numpy")
    for _ in range(ENTERED + 2):
        f(np.ones(3), np.ones(3), 3)
    with pytest.raises(ValueError, match=r"`y`"):
        f(np.ones(3), np.ones(2), 3)


def test_results_of_a_loop_share_no_memory_with_later_calls():
    h = T.vector("h")
    rows, _ = scanviz.scan(lambda h: h * 0.5, outputs_info=h, n_steps=3, name="halved")
    f = scanviz.function([h], [rows, rows[-1]], mode="numpy")
    found = [f(np.ones(2)) for _ in range(ENTERED + 3)]
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
