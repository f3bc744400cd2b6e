"""States written over their old row: only where nothing else needs that row, and with the same results."""

import re

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from tests.support.internals import loop_sources

A, START = np.array([0.5, 1.25, -2.0]), np.array([1.0, 2.0, 3.0])


def two_tiers(step, results=lambda rows: rows[-1], steps=7, **arguments):
    """Return the value on both tiers, checked to be the same, and the NumPy tier's source without the user's lines."""
    h, a, n = T.vector("h"), T.vector("a"), T.lscalar("n")
    arguments.setdefault("outputs_info", h)
    if callable(arguments["outputs_info"]):
        arguments["outputs_info"] = arguments["outputs_info"](h)
    rows, _ = scanviz.scan(step, non_sequences=a, n_steps=n, name="loop", **arguments)
    f, g = (
        scanviz.function([h, a, n], results(rows), mode=m, on_unused_input="ignore")
        for m in ("numpy", "reference")
    )
    start = START.copy()
    with scanviz.profile():
        watched = f(start, A, steps)
    found, wanted = f(start, A, steps), g(start, A, steps)
    for one, other, third in zip(*(np.atleast_2d(each) for each in (found, wanted, watched)), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(third, other)
    np.testing.assert_array_equal(start, START)
    (text,) = loop_sources(f.executable)
    return found, re.sub(r"  # .*", "", text)


def rows_held(text):
    """Return how many names hold rows of a state taken before the loop."""
    return len(re.findall(r"= \w+_rows\[\(first", text))


@pytest.mark.parametrize("steps", [1, 2, 7, 8])
def test_a_power_is_written_over_the_power_before(steps):
    found, text = two_tiers(lambda p, a: p * a, steps=steps)
    np.testing.assert_allclose(found, START * A**steps)
    assert rows_held(text) == 1


def test_without_steps_the_initial_state_is_kept():
    h, n = T.vector("h"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda p: p * 2.0, outputs_info=h, n_steps=n)
    f = scanviz.function([h, n], [rows.shape[0], rows[-1:]])
    assert f(START, 0)[0] == 0 and f(START, 0)[1].shape == (0, 3)


def test_an_old_row_with_later_readers_is_kept():
    for step in (
        lambda p, a: T.tanh(p * a) + p,  # the same operation reads both
        lambda p, a: (p * a)[::-1] * p.sum(),
    ):
        two_tiers(step)
    _, text = two_tiers(lambda p, a: p[::-1] * p)
    assert rows_held(text) == 2


def test_an_old_row_that_is_also_a_result_is_kept():
    found, text = two_tiers(
        lambda p, a: [p * a, p],
        lambda rows: [rows[0][-1], rows[1][-1]],
        outputs_info=lambda h: [h, None],
    )
    np.testing.assert_allclose(found[1] * A, found[0])
    assert rows_held(text) == 2


def test_an_old_row_reused_by_another_state_is_kept():
    found, _ = two_tiers(
        lambda p, q, a: [p + 1.0, p],
        lambda rows: [rows[0][-1], rows[1][-1]],
        outputs_info=lambda h: [h, h],
    )
    np.testing.assert_array_equal(found[0] - 1.0, found[1])


def test_two_states_of_one_operation_do_not_share_a_row():
    def step(p, q, a):
        new = p * a
        return [new, new]

    found, _ = two_tiers(step, lambda rows: [rows[0][-1], rows[1][-1]], outputs_info=lambda h: [h, h])
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("steps", [3, 5000])
def test_a_stopped_loop_that_grew_its_rows_gives_its_last_row(steps):
    found, text = two_tiers(lambda p, a: (p + 1.0, scanviz.until(p[0] > 3000)), steps=steps)
    np.testing.assert_array_equal(found, START + min(steps, 3001))
    assert rows_held(text) in (1, 2)


def test_views_of_the_new_row_see_the_new_row():
    def step(p, a):
        new = p * a
        return [new, new[::-1] * 1.0]

    found, text = two_tiers(step, lambda rows: [rows[0][-1], rows[1][-1]], outputs_info=lambda h: [h, None])
    np.testing.assert_array_equal(found[0][::-1], found[1])
    assert rows_held(text) == 1
