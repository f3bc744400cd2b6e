"""Loops with a stop condition reserve rows by their bytes, not by their number."""

import tracemalloc

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T

X = T.vector("x")
WIDE = np.zeros(100_000)


def peak_of(f, *given):
    """Return the result of a call, and the most bytes that it held."""
    f(*given)
    tracemalloc.start()
    try:
        return f(*given), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("tier", ["numpy", "native", "reference"])
@pytest.mark.parametrize(
    "made",
    [
        lambda h: [],
        lambda h: [h + 1],
        lambda h: [h[h > -1]],
    ],  # a state; an output; one whose first row gives the shape
    ids=["state", "output", "picked"],
)
def test_rows_are_reserved_by_their_bytes(tier, made):
    def step(k, h):
        return [k + 1, h * 0.5 + k, *made(h)], scanviz.until(k >= 9)

    starts = [0, X] if not made(X) else [0, X, None]
    results, _ = scanviz.scan(step, outputs_info=starts, n_steps=1_000_000)
    rows, held = peak_of(scanviz.function([X], results[1:], mode=tier), WIDE)
    assert all(len(each) == 10 for each in rows)
    assert held < 45 * len(rows) * WIDE.nbytes


@pytest.mark.parametrize("tier", ["numpy", "native", "reference"])
def test_small_rows_have_room_for_a_thousand_steps_at_first(tier):
    k, _ = scanviz.scan(lambda k: (k + 1, scanviz.until(k >= 3_000)), outputs_info=0, n_steps=1_000_000)
    with scanviz.profile() as session:
        assert len(scanviz.function([], k, mode=tier)()) == 3_001
    (loop,) = session.record.loops
    assert loop.measures["row_growths"] == 2
