"""Types: dtypes are NumPy's names, shapes are tuples with None for unknown, and both are immutable values."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.types import (
    DTYPES,
    RANDOM_STATE,
    RandomStateType,
    TensorType,
    canonical_dtype,
    common_shape,
    fits,
)

dimensions = st.none() | st.integers(0, 3)
shapes = st.lists(dimensions, max_size=3).map(tuple)
types = st.builds(TensorType, st.sampled_from(DTYPES), shapes)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_has_one_name_in_every_spelling(dtype):
    assert (
        canonical_dtype(dtype)
        == canonical_dtype(np.dtype(dtype))
        == canonical_dtype(np.dtype(dtype).type)
        == dtype
    )
    assert canonical_dtype(np.dtype(dtype).newbyteorder(">")) == dtype


@pytest.mark.parametrize(
    "dtype", ["complex64", object, "U3", "datetime64[s]", "nonsense", None.__class__, [1]]
)
def test_unsupported_dtypes_are_refused(dtype):
    with pytest.raises(ScanvizTypeError, match="dtype"):
        canonical_dtype(dtype)


def test_complex_numbers_get_an_advice():
    with pytest.raises(ScanvizTypeError, match="two real variables"):
        canonical_dtype(complex)


@pytest.mark.parametrize("shape", [5, (2.5,), ("3",), "ab", ((1, 2),)])
def test_invalid_shapes_are_refused(shape):
    with pytest.raises(ScanvizTypeError, match="a shape is a tuple"):
        TensorType("float64", shape)


def test_a_negative_size_is_refused():
    with pytest.raises(ScanvizValueError, match="negative"):
        TensorType("float64", (2, -1))


def test_sizes_may_be_numpy_integers():
    assert TensorType("float64", [np.int32(3), None]).shape == (3, None)


@given(types, types)
def test_types_are_equal_exactly_when_dtype_and_shape_are(first, second):
    same = (first.dtype, first.shape) == (second.dtype, second.shape)
    assert (first == second) is same
    assert not same or hash(first) == hash(second)


@given(types)
def test_a_type_survives_pickling_and_its_own_repr(kind):
    assert pickle.loads(pickle.dumps(kind)) == kind == eval(repr(kind))
    assert kind.with_shape(kind.shape) == kind.with_dtype(kind.dtype) == kind


def test_types_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        TensorType("float64").dtype = "int8"


def test_a_type_has_a_rank_a_size_in_bytes_and_a_printed_form():
    kind = TensorType("float32", (3, None))
    assert (kind.ndim, kind.itemsize, str(kind)) == (2, 4, "float32[3, ?]")


@given(types, types)
def test_types_fit_each_other_both_ways_or_not_at_all(first, second):
    assert fits(first, second) == fits(second, first)
    assert fits(first, first)


def test_known_sizes_must_agree_and_unknown_ones_fit_any():
    assert fits(TensorType("int8", (None, 3)), TensorType("int8", (2, None)))
    assert not fits(TensorType("int8", (2,)), TensorType("int8", (3,)))
    assert not fits(TensorType("int8", (2,)), TensorType("int16", (2,)))
    assert not fits(TensorType("int8", (None,)), TensorType("int8", (None, None)))


def test_a_random_state_fits_nothing_but_a_random_state():
    assert fits(RANDOM_STATE, RandomStateType()) and RandomStateType() == RANDOM_STATE
    assert not fits(RANDOM_STATE, TensorType("uint64", (4,)))
    assert TensorType("uint64", (4,)) != RANDOM_STATE and str(RANDOM_STATE) == "random state"


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=4))
def test_a_common_shape_has_the_known_sizes_of_both(columns):
    first = tuple(size if known else None for size, known, _ in columns)
    second = tuple(size if known else None for size, _, known in columns)
    expected = tuple(size if a or b else None for size, a, b in columns)
    assert common_shape(first, second) == expected


def test_types_written_as_in_theano_are_errors_with_a_fix():
    with pytest.raises(ScanvizTypeError, match="axes of size 1 broadcast") as error:
        TensorType("float64", (False, True, 3))
    assert error.value.fix == "(None, 1, 3)"
    with pytest.raises(ScanvizTypeError, match="a type cannot be called") as error:
        TensorType("float32", (None, 2))("x")
    assert error.value.fix == 'T.tensor("float32", (None, 2), "x")'
    with pytest.raises(ScanvizTypeError, match="cannot be called") as error:
        TensorType("float32", ())()
    assert error.value.fix == 'T.tensor("float32", ())'


@pytest.mark.parametrize("call", [lambda: T.zeros(3, 4), lambda: T.ones(3, T.matrix("m").shape[0])])
def test_a_size_given_as_a_dtype_is_an_error_about_shapes(call):
    with pytest.raises(ScanvizTypeError, match=r"is not a dtype(?s:.*)write: +sizes as one tuple"):
        call()
