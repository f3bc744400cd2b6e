"""Public elementwise functions: every op has one, documented by an example that runs, and it means what NumPy's does."""

import doctest
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ShapeError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.tensor import elementwise

DECLARED = {
    declaration.name: declaration
    for declaration in declarations()
    if isinstance(declaration, ElementwiseDeclaration)
}
floats = hnp.arrays("float64", hnp.array_shapes(max_dims=2, max_side=3), elements=st.floats(width=16))


@pytest.mark.parametrize("name", sorted(set(DECLARED) - {"clip", "round"}))  # whose arguments may be left out
def test_every_op_is_applied_by_a_function_of_its_name(name):
    function = getattr(T, name)
    parameters = list(inspect.signature(function).parameters)
    assert (function.__name__, len(parameters)) == (name, DECLARED[name].arity)
    inputs = [T.bscalar(parameter) for parameter in parameters]
    made = function(**dict(zip(parameters, inputs, strict=True)))
    assert made.owner.op.name == name and list(made.owner.inputs) == inputs


@pytest.mark.parametrize("name", elementwise.__all__)
def test_the_example_of_every_function_runs(name):
    function = getattr(T, name)
    (example,) = doctest.DocTestFinder().find(function, name, globs={})
    result = doctest.DocTestRunner(verbose=False).run(example)
    assert result.attempted >= 2 and result.failed == 0
    assert "Parameters\n" in function.__doc__ and "Returns\n" in function.__doc__


ALIASES = {
    "eq": "equal", "neq": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "switch": "where", "sqr": "square", "abs_": "absolute", "true_divide": "divide", "remainder": "mod",
}  # fmt: skip


@pytest.mark.parametrize("old", ALIASES)
def test_old_spellings_are_the_same_function(old):
    assert getattr(T, old) is getattr(T, ALIASES[old])


def test_numbers_and_arrays_are_accepted_beside_variables():
    x = T.fvector("x")
    made = T.maximum(x, 0.5) + np.float32(1)
    assert made.dtype == "float32"
    assert evaluate(made, {x: np.array([0, 2], "float32")}).tolist() == [1.5, 3.0]


@given(floats, st.booleans(), st.data())
def test_isclose_is_numpys(first, equal_nan, data):
    second = first + data.draw(st.sampled_from([0, 1e-9, 1e-6, 1e-3]))
    for a, b in ((first, second), (second, first), (first, data.draw(st.floats(width=16)))):
        with np.errstate(all="ignore"):
            expected = np.isclose(a, b, equal_nan=equal_nan)
            found = evaluate(T.isclose(a, b, equal_nan=equal_nan), {})
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32"])
def test_isclose_takes_numbers_of_every_kind(dtype):
    a, b = np.array([0, 1, 1, 100]).astype(dtype), np.array([0, 1, 0, 3]).astype(dtype)
    for first, second in ((a, b), (b, a)):
        assert evaluate(T.isclose(first, second), {}).tolist() == np.isclose(first, second).tolist()


@given(floats)
def test_nan_to_num_is_numpys(values):
    for options in ({}, {"nan": 1.0}, {"posinf": 2.0, "neginf": -3.0}):
        np.testing.assert_array_equal(
            evaluate(T.nan_to_num(values, **options), {}), np.nan_to_num(values, **options)
        )


def test_nan_to_num_leaves_integers_and_keeps_float32():
    n, x = T.lvector("n"), T.fvector("x")
    assert T.nan_to_num(n) is n and T.nan_to_num(x).dtype == "float32"
    assert np.isfinite(evaluate(T.nan_to_num(x), {x: np.array([np.inf, -np.inf, np.nan], "float32")})).all()


@given(hnp.arrays("float64", 3, elements=st.floats(0, 100)))
def test_xlogx_is_scipys_xlogy(values):
    np.testing.assert_allclose(evaluate(T.xlogx(values), {}), special.xlogy(values, values), rtol=1e-14)


def test_cast_accepts_numpys_dtypes_and_floatx(monkeypatch):
    monkeypatch.setattr(scanviz.config, "_floatX", "float32")
    x = T.dvector("x")
    assert T.cast(x, "floatX").dtype == x.astype("floatX").dtype == "float32"
    assert T.cast(x, int).dtype == "int64" and T.cast(x, np.dtype("int8")).dtype == "int8"
    assert T.cast(x, "float64") is x


MISTAKES = {
    "too few": (lambda: T.add(T.vector()), ScanvizTypeError, "add takes 2 arguments"),
    "too many": (lambda: T.tanh(T.vector(), 1), ScanvizTypeError, "tanh takes 1 arguments"),
    "keyword": (lambda: T.tanh(out=T.vector()), TypeError, "'out'"),
    "twice": (lambda: T.add(T.vector(), 1, second=2), TypeError, "'second'"),
    "dtype": (lambda: T.invert(T.vector("x")), ScanvizTypeError, "`x`"),
    "shape": (lambda: T.add(np.zeros(2), np.zeros(3)), ShapeError, "broadcast"),
    "complex": (lambda: T.cast(T.vector(), complex), ScanvizTypeError, "two real variables"),
    "no array": (lambda: T.exp(object()), ScanvizTypeError, "object"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    call, error, part = MISTAKES[mistake]
    with pytest.raises(error, match=part):
        call()
