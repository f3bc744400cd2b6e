"""A loop with a stop condition counts its steps where only the number of its rows is read."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.program.instructions import all_loops

N, X = T.lscalar("n"), T.scalar("x")


def loop():
    return scanviz.scan(
        lambda h: ((h * 0.5 + 1, h * 2), scanviz.until(h > 1.9)), outputs_info=[X, None], n_steps=N
    )[0]


def built(read, tier="numpy"):
    f = scanviz.function([N, X], read(*loop()), mode=scanviz.Mode(tier, "all"))
    (instruction,) = (found for found, _ in all_loops(f.program))
    return f, instruction


def rows_kept(instruction):
    """Return how many results keep all rows."""
    slots = [*instruction.states, *instruction.step_outputs]
    return sum(slot.result is not None and slot.keep_last is None for slot in slots)


@pytest.mark.parametrize("tier", ["numpy", "native", "reference", "auto"])
@pytest.mark.parametrize(
    "read",
    [
        lambda u, v: [u.shape[0]],
        lambda u, v: [v.shape[0]],
        lambda u, v: [u.shape[0], v.shape[0]],
        lambda u, v: [u.shape[0], u[-1:]],
        lambda u, v: [T.arange(v.shape[0]), u[-1:]],
        lambda u, v: [T.zeros_like(u), u[-2:].sum()],
    ],
)
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_a_step_count_needs_no_kept_rows(read, tier, n):
    f, instruction = built(read, tier)
    assert rows_kept(instruction) == 0
    plain = scanviz.function([N, X], read(*loop()), mode=scanviz.Mode("reference", "none"))
    for found, expected in zip(f(n, 0.0), plain(n, 0.0), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_step_count_uses_the_kept_rows_of_another_result():
    f, instruction = built(lambda u, v: [u.shape[0], v])
    assert [slot.name for slot in instruction.states] == ["h"]
    assert rows_kept(instruction) == 1
    count, rows = f(100, 0.0)
    assert count == len(rows) == 6


def test_a_loop_with_all_rows_read_keeps_no_step_count():
    f, instruction = built(lambda u, v: [u.shape[0], u])
    assert len(instruction.states) == 1
    assert "count_steps" not in [rewrite.rule for rewrite in f.rewrites]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_loop_whose_rows_are_all_among_the_last_counts_no_steps_in_turns(rows):
    u, v = scanviz.scan(
        lambda h: ((h * 0.5 + 1, h * 2), scanviz.until(h > 1.9)), outputs_info=[X, None], n_steps=2
    )[0]
    outputs = [u[-rows:], v[-rows:], T.arange(u.shape[0])]
    f = scanviz.function([X], outputs, mode="numpy")  # rules that undo one another warn
    assert sum(rewrite.rule == "count_steps" for rewrite in f.rewrites) == (rows == 1)
    for found, expected in zip(f(0.0), scanviz.function([X], outputs, mode="reference")(0.0), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_size_of_a_row_needs_one_row():
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t: x_t[x_t > 0], x)
    f = scanviz.function([x], rows.shape[1], mode="numpy")
    (instruction,) = (found for found, _ in all_loops(f.program))
    assert f(np.ones((4, 3))) == 3 and rows_kept(instruction) == 0


def test_the_gradient_of_a_loop_that_stops_counts_its_steps():
    rows, _ = scanviz.scan(lambda h: (h * 0.5 + 1, scanviz.until(h > 1.9)), outputs_info=X, n_steps=N)
    f = scanviz.function([N, X], scanviz.grad(rows[-1], X))
    assert all(rows_kept(instruction) == 0 for instruction, _ in all_loops(f.program))
    assert f(100, 0.0) == 0.5**6
