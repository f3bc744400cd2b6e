"""Compare symbolic operations with NumPy: values, dtypes, and shapes inferred from known sizes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import DTYPES, FLOATS, INTEGERS, TensorType
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of

dtypes = st.sampled_from(DTYPES)
float_dtypes = st.sampled_from(FLOATS)
integer_dtypes = st.sampled_from(INTEGERS)


def shape_before(variable, givens):
    """The shape of a variable as it is computed of the inputs' shapes, and of none of its values."""
    return tuple(int(evaluate(as_size(size), givens)) for size in shape_of(variable))


def shapes(min_dims: int = 0, max_dims: int = 3, min_side: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=4)


def tame(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """Arrays of numbers small enough that sums and products of them stay exact or nearly so."""
    low = 0 if dtype.startswith("u") else -8
    if dtype == "bool":
        elements: Any = st.booleans()
    elif dtype in INTEGERS:
        elements = st.integers(low, 8)
    else:
        elements = st.integers(-32, 32).map(lambda k: k / 4)
    return hnp.arrays(dtype, shape, elements=elements)


def symbol(array: np.ndarray, name: str, hidden: Sequence[bool] = ()) -> Variable:
    """An input for an array, with some of its dimensions hidden from the type."""
    marks = [*hidden, *(False,) * array.ndim]
    shape = tuple(None if hide else size for size, hide in zip(array.shape, marks, strict=False))
    return Variable(TensorType(array.dtype.name, shape), name)


def check(
    build: Callable[..., Variable],
    oracle: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    data: st.DataObject | None = None,
    *,
    rtol: float = 0,
    atol: float = 0,
    exact: bool = True,
) -> Variable:
    """Assert that a graph of inputs with partly hidden shapes gives what NumPy gives, dtype and shape included.

    ``exact=False`` is for shapes that depend on the values of inputs.
    """
    with np.errstate(all="ignore"):
        expected = np.asarray(oracle(*arrays))
    if exact:
        known = build(*(symbol(array, f"x{k}") for k, array in enumerate(arrays)))
        assert known.type.shape == expected.shape, "with all known, the shape is inferred exactly"
    hidden = [
        data.draw(st.lists(st.booleans(), min_size=a.ndim, max_size=a.ndim)) if data else [True] * a.ndim
        for a in arrays
    ]
    inputs = [
        symbol(array, f"x{k}", hide) for k, (array, hide) in enumerate(zip(arrays, hidden, strict=True))
    ]
    output = build(*inputs)
    givens = dict(zip(inputs, arrays, strict=True))
    found = np.asarray(evaluate(output, givens))
    assert output.type.dtype == found.dtype.name == expected.dtype.name
    assert found.shape == expected.shape
    assert output.type.ndim == expected.ndim
    assert all(size in (None, true) for size, true in zip(output.type.shape, expected.shape, strict=True))
    assert shape_before(output, givens) == expected.shape
    if rtol or atol:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(found, expected)
    return output
