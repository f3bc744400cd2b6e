"""Whole random loops against a plain Python loop, on every tier: the core of the suite."""

import numpy as np
import pytest
from hypothesis import given

from scanviz.engine.ops.evaluate import evaluate
from scanviz.testing import random_loops, run_plainly
from scanviz.testing.loop_case import LAST_ROW

TOLERANCE = {"float64": 1e-10, "float32": 2e-4, "int64": 0, "int32": 0}


def agree(found, expected, dtype):
    assert found.dtype == dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def near_the_stop(case, expected):
    """Return whether rounding may decide at which step the loop stops."""
    if case.stop is None:
        return False
    sums = [float(np.sum(row)) for row in expected[0][0]]
    return any(abs(total - case.stop) < 1e-3 for total in sums)


@pytest.mark.parametrize("mode", ["reference", "numpy"])
@given(case=random_loops())
def test_a_random_loop_gives_what_a_plain_python_loop_gives(mode, case):
    expected = run_plainly(case)
    if near_the_stop(case, expected):
        return
    results, state = case.compute(mode)
    for found, wanted in zip(results, expected[0], strict=True):
        agree(found, wanted, case.dtype)
    if state is not None:
        agree(state, expected[1], case.dtype)


@given(case=random_loops())
def test_asking_for_last_rows_alone_gives_the_last_rows(case):
    expected = run_plainly(case)
    if near_the_stop(case, expected) or len(expected[0][0]) == 0:
        return
    results, state = case.compute("numpy", LAST_ROW)
    for found, wanted in zip(results, expected[0], strict=True):
        agree(found, wanted[-1], case.dtype)
    if state is not None:
        agree(state, expected[1], case.dtype)


@given(case=random_loops(updates=False))
def test_the_plain_meaning_of_the_scan_op_agrees(case):
    expected = run_plainly(case)
    if near_the_stop(case, expected) or len(expected[0][0]) == 0:
        return  # without a step the op alone does not know the shape of a row
    results, _, inputs, _ = case.build()
    for found, wanted in zip(evaluate(results, dict(inputs)), expected[0], strict=True):
        agree(np.asarray(found), wanted, case.dtype)
