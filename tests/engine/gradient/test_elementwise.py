"""Derivatives of elementwise operations: finite differences at random points and shapes, and where none exist."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import PULLBACKS, PUSHFORWARDS
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.testing import verify_grad

# op → interval that its inputs are drawn from, away from points without derivative
REAL = {
    "add": (-2, 2), "subtract": (-2, 2), "multiply": (-2, 2), "divide": (0.5, 2), "mod": (1.1, 1.9), "power": (0.3, 2),
    "maximum": (-2, 2), "minimum": (-2, 2), "fmax": (-2, 2), "fmin": (-2, 2), "arctan2": (0.2, 2), "hypot": (0.2, 2),
    "logaddexp": (-3, 3), "copysign": (0.2, 2), "negative": (-2, 2), "positive": (-2, 2), "absolute": (0.2, 2),
    "reciprocal": (0.5, 2), "square": (-2, 2), "sqrt": (0.3, 2), "cbrt": (0.3, 2), "exp": (-2, 2), "exp2": (-2, 2),
    "expm1": (-2, 2), "log": (0.4, 3), "log2": (0.4, 3), "log10": (0.4, 3), "log1p": (-0.5, 2), "sin": (-3, 3),
    "cos": (-3, 3), "tan": (-1, 1), "arcsin": (-0.8, 0.8), "arccos": (-0.8, 0.8), "arctan": (-3, 3), "sinh": (-2, 2),
    "cosh": (-2, 2), "tanh": (-2, 2), "arcsinh": (-3, 3), "arccosh": (1.3, 4), "arctanh": (-0.8, 0.8),
    "deg2rad": (-99, 99), "rad2deg": (-2, 2), "sigmoid": (-4, 4), "softplus": (-4, 4), "erf": (-2, 2), "erfc": (-2, 2),
    "erfinv": (-0.8, 0.8), "multiply_no_nan": (0.5, 2), "gammaln": (0.6, 4), "digamma": (0.8, 4), "floor": (0.2, 0.8), "ceil": (0.2, 0.8),
    "trunc": (0.2, 0.8), "round": (0.6, 0.9), "sign": (0.2, 2), "floor_divide": (1.1, 1.9),
    "logit": (0.1, 0.9), "xlogy": (0.3, 2), "xlog1py": (0.3, 2), "betaln": (0.5, 3),
}  # fmt: skip
SPECIAL = {"where", "clip", "polygamma", "cast", "gammainc", "gammaincc"}
SMOOTH = sorted(
    set(REAL)
    - {"maximum", "minimum", "fmax", "fmin", "floor", "ceil", "trunc", "round", "sign", "floor_divide", "mod"}
)
OPS = {
    declaration.name: declaration
    for declaration in declarations()
    if isinstance(declaration, ElementwiseDeclaration)
}


def points(rng, name, shapes, dtype):
    """Return one array an input; where two inputs must differ, they do."""
    low, high = REAL[name]
    values = [rng.uniform(low, high, shape).astype(dtype) for shape in shapes]
    if name in ("mod", "floor_divide"):
        values = [
            np.asarray(1.1 + 0.7 * (values[0] - 1.1), dtype),
            *(np.asarray(1 + (v - 1.5) * 0.1, dtype) for v in values[1:]),
        ]
    return values


SHAPES = [[(), ()], [(3,), (3,)], [(2, 3), (3,)], [(1, 3), (2, 1)], [(2, 1), ()], [(0,), (1,)]]


@pytest.mark.parametrize("name", sorted(REAL))
@given(
    shapes=st.sampled_from(SHAPES),
    seed=st.integers(0, 2**32 - 1),
    known=st.booleans(),
    dtype=st.sampled_from(["float64", "float64", "float32"]),
)
def test_the_derivative_is_that_of_finite_differences(name, shapes, seed, known, dtype):
    rng = np.random.default_rng(seed)
    op = OPS[name]
    values = points(rng, name, shapes[: op.arity], dtype)
    if name in ("maximum", "minimum", "fmax", "fmin"):
        values[1] = values[1] + np.asarray(5 * rng.choice([-1, 1]), dtype)
    verify_grad(op, values, rng=rng, known_shapes=known)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_second_derivative_is_that_of_finite_differences(name):
    rng = np.random.default_rng(1)
    op = OPS[name]

    def gradient(*inputs):
        y = op(*inputs)
        seeds = {y: T.tanh(T.zeros_like(y) + 0.7)}
        return [
            g if g is not None else T.zeros_like(x)
            for g, x in zip(pull_back(seeds, inputs), inputs, strict=True)
        ]

    verify_grad(gradient, points(rng, name, [(2, 3), (3,)][: op.arity], "float64"), rng=rng, tolerance=1e-4)


def test_every_elementwise_op_has_both_rows_and_a_test():
    assert set(OPS) - set(REAL) - SPECIAL == {op.name for op in OPS.values() if op.name in NOT_FLOATING}, (
        "a new op needs a line in REAL"
    )
    for op in [*OPS.values(), e.CAST]:
        assert op in PULLBACKS and op in PUSHFORWARDS, op.name


NOT_FLOATING = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
    "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "isnan", "isinf",
    "isfinite", "signbit",
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_where_agree_with_finite_differences(known):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3)), rng.normal(size=3)
    verify_grad(e.where, [rng.normal(size=(2, 1)) > 0, a, b], known_shapes=known)
    verify_grad(
        e.clip, [np.array([-2.0, 0.1, 3.0]), np.array(-1.0), np.array([1.0, 1.0, 2.0])], known_shapes=known
    )
    verify_grad(e.clip, [np.array([-2.0, 0.1, 3.0]), np.array(1.0), np.array(-1.0)], known_shapes=known)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_have_a_derivative_by_their_bound_alone(name):
    verify_grad(lambda x: OPS[name](1.7, x), [np.array([0.3, 2.0, 9.0])])
    a, x = T.vector("a"), T.vector("x")
    edges = scanviz.grad(T.sum(OPS[name](np.array([0.5, 1.0, 2.0]), x)), x).eval({x: np.zeros(3)})
    assert np.abs(edges).tolist() == [np.inf, 1.0, 0.0]
    with pytest.raises(scanviz.ScanvizError, match="with respect to its first argument") as caught:
        scanviz.grad(T.sum(OPS[name](a, x)), a)
    assert "test_elementwise.py" in str(caught.value)


def test_polygamma_is_the_derivative_of_digamma_to_any_order():
    verify_grad(lambda x: e.polygamma(2, x), [np.array([0.7, 2.0])], tolerance=1e-4)


def test_casts_pass_between_floats_and_stop_at_integers():
    x = T.vector("x", dtype="float32")
    (g,) = pull_back({T.sum(T.cast(x, "float64") ** 2): T.constant(1.0)}, [x])
    found = g.eval({x: np.array([1.0, 3.0], "float32")})
    assert found.dtype == "float32" and found.tolist() == [2.0, 6.0]
    assert pull_back({T.sum(T.cast(T.cast(x, "int32"), "float64")): T.constant(1.0)}, [x]) == [None]


def gradient_at(build, *values):
    variables = [T.scalar(f"x{k}") for k in range(len(values))]
    found = pull_back({build(*variables): T.constant(1.0)}, variables)
    return [
        0.0 if g is None else float(scanviz.function(variables, g, on_unused_input="ignore")(*values))
        for g in found
    ]


@pytest.mark.parametrize(
    ("build", "at", "expected"),
    [
        (e.absolute, [0.0], [0.0]),
        (e.maximum, [2.0, 2.0], [0.5, 0.5]),
        (e.minimum, [2.0, 2.0], [0.5, 0.5]),
        (e.fmax, [2.0, np.nan], [1.0, 0.0]),
        (e.fmin, [np.nan, 2.0], [0.0, 1.0]),
        (lambda x: e.clip(x, 0.0, 1.0), [1.0], [1.0]),
        (lambda x: e.clip(x, 0.0, 1.0), [0.0], [1.0]),
        (e.hypot, [0.0, 0.0], [0.0, 0.0]),
        (e.power, [0.0, 2.0], [0.0, 0.0]),
        (e.power, [0.0, 1.0], [1.0, 0.0]),
        (e.power, [3.0, 0.0], [0.0, np.log(3.0)]),
        (lambda x: x**2, [0.0], [0.0]),
        (lambda x: x**0, [0.0], [0.0]),
        (lambda x: x**3, [-2.0], [12.0]),
        (lambda x: x * x, [3.0], [6.0]),
        (e.logaddexp, [1000.0, 0.0], [1.0, 0.0]),
    ],
)
def test_points_without_a_derivative_have_the_documented_one(build, at, expected):
    np.testing.assert_allclose(gradient_at(build, *at), expected)
