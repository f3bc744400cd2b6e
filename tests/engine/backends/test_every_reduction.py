"""Reductions of every dtype inside a step: equal bits on both tiers.  Elementwise operations and casts: the laws of steps of one operation."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.ops.reduce import ReductionDeclaration
from scanviz.engine.scan.variables import Sequence, StepOutput
from tests.engine.backends.running import loop, run

REDUCTIONS = [each for each in declarations() if isinstance(each, ReductionDeclaration)]
N = T.lscalar("n")


def values_of(dtype, shape, seed):
    """Return values of a dtype that include its corner cases."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 7, shape) if np.dtype(dtype).kind != "f" else rng.normal(size=shape) * 3
    values = values.astype(dtype)
    if np.dtype(dtype).kind == "f" and values.size > 3:
        values.flat[:4] = [0.0, -0.0, np.inf, np.nan]
    return values


def same_on_both_tiers(inputs, outputs, values):
    """Check that both tiers give the same bits and that these have the promised types."""
    reference, generated = (run(tier, inputs, outputs, values) for tier in ("reference", "numpy"))
    for promised, wanted, found in zip(outputs, reference, generated, strict=True):
        assert wanted.dtype == found.dtype == promised.type.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool"])
@pytest.mark.parametrize("declaration", REDUCTIONS, ids=lambda each: each.name)
def test_a_reduction_in_a_step_agrees_with_the_reference(declaration, dtype):
    m, rows = T.tensor(dtype, (2, 3)), T.tensor(dtype, (None, 2, 3))
    made = [declaration(m, axis, keepdims=keep) for axis in (None, 0, 1, (0, 1)) for keep in (False, True)]
    outputs = [StepOutput(f"o{k}", each) for k, each in enumerate([*made, declaration(m.sum())])]
    results = loop([Sequence("m", m), *outputs], N, [rows])
    same_on_both_tiers([N, rows], results, [4, values_of(dtype, (4, 2, 3), 1)])
