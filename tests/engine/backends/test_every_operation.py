"""Elementwise operations and reductions of every dtype, on numbers and arrays, inside a step: equal bits on both tiers."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.reduce import ReductionDeclaration
from scanviz.engine.scan.variables import NonSequence, Sequence, StepOutput
from tests.engine.backends.running import loop, run

ELEMENTWISE = [each for each in declarations() if isinstance(each, ElementwiseDeclaration)]
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


def built(declaration, operands):
    """Return the operation on operands, None where these dtypes have no meaning."""
    try:
        return declaration(*operands)
    except ScanvizError:
        return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("declaration", ELEMENTWISE, ids=lambda each: each.name)
def test_an_elementwise_operation_in_a_step(declaration, dtype):
    if declaration.name in ("left_shift", "right_shift") and dtype == "bool":
        pytest.skip("no shifts of booleans")
    a, s, f, w = T.tensor(dtype, (3,)), T.tensor(dtype, ()), T.tensor(dtype, ()), T.tensor(dtype, (3,))
    outer = [T.tensor(dtype, (None, 3)), T.tensor(dtype, (None,)), T.tensor(dtype, ()), T.tensor(dtype, (3,))]
    choices = {
        1: [(a,), (s,), (f,)],
        2: [(a, w), (s, f), (a, s), (f, a), (s, s)],
        3: [(a, w, a), (s, f, s), (s, a, f)],
    }
    results = [built(declaration, operands) for operands in choices[declaration.arity]]
    results = [result for result in results if result is not None]
    if not results:
        pytest.skip(f"{declaration.name} has no meaning for {dtype}")
    chained = [cast(result, "float64") + 1.0 for result in results]
    outputs = [StepOutput(f"o{k}", each) for k, each in enumerate([*results, *chained])]
    variables = [Sequence("a", a), Sequence("s", s), *outputs, NonSequence("f", f), NonSequence("w", w)]
    rows = loop(variables, N, outer)
    given = [values_of(dtype, shape, seed) for seed, shape in enumerate([(5, 3), (5,), (), (3,)])]
    same_on_both_tiers([N, *outer], rows, [5, *given])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool"])
@pytest.mark.parametrize("declaration", REDUCTIONS, ids=lambda each: each.name)
def test_a_reduction_in_a_step(declaration, dtype):
    m, rows = T.tensor(dtype, (2, 3)), T.tensor(dtype, (None, 2, 3))
    made = [declaration(m, axis, keepdims=keep) for axis in (None, 0, 1, (0, 1)) for keep in (False, True)]
    outputs = [StepOutput(f"o{k}", each) for k, each in enumerate([*made, declaration(m.sum())])]
    results = loop([Sequence("m", m), *outputs], N, [rows])
    same_on_both_tiers([N, rows], results, [4, values_of(dtype, (4, 2, 3), 1)])


@pytest.mark.parametrize("given", DTYPES)
@pytest.mark.parametrize("wanted", DTYPES)
def test_a_cast_in_a_step(given, wanted):
    a, s = T.tensor(given, (3,)), T.tensor(given, ())
    outer = [T.tensor(given, (None, 3)), T.tensor(given, (None,))]
    outputs = [StepOutput("a", cast(a, wanted)), StepOutput("s", cast(s, wanted))]
    results = loop([Sequence("a", a), Sequence("s", s), *outputs], N, outer)
    clean = [np.nan_to_num(values_of(given, shape, 2), posinf=1, neginf=-1) for shape in [(4, 3), (4,)]]
    if np.dtype(wanted).kind == "u":
        clean = [
            np.abs(each) for each in clean
        ]  # what a negative float becomes as unsigned is the machine's choice
    same_on_both_tiers([N, *outer], results, [4, *(each.astype(given) for each in clean)])
