"""Shape, indexing and creation functions give the same in the generated and the reference tier, alone and in loops."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from tests.engine.ops.test_symbolic_shape import EXPRESSIONS, inputs_of, values_of

SIZES = [(4, 3, 2), (3, 4, 3), (5, 2, 1)]


def _same(first, second):
    assert first.dtype == second.dtype
    np.testing.assert_array_equal(first.shape, second.shape)
    np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_tiers_agree_for_sizes_that_change_between_calls(name):
    inputs = inputs_of()
    made = EXPRESSIONS[name](*inputs)
    calls = [
        scanviz.function(inputs, [made, made * 2], mode=mode, on_unused_input="ignore")
        for mode in ("numpy", "reference")
    ]
    for sizes in SIZES:
        for ours, theirs in zip(*(call(*values_of(*sizes)) for call in calls), strict=True):
            _same(ours, theirs)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_tiers_agree_in_loops_and_rows_have_the_forecast_shape(name):
    inputs = inputs_of()
    rows, _ = scanviz.scan(lambda k: EXPRESSIONS[name](*inputs) + k, sequences=T.arange(3))
    found = [
        scanviz.function(inputs, rows, mode=mode, on_unused_input="ignore")(*values_of(4, 3, 2))
        for mode in ("numpy", "reference")
    ]
    _same(*found)
    text = scanviz.function(inputs, rows.shape, on_unused_input="ignore")(*values_of(4, 3, 2))
    assert tuple(text) == found[0].shape
