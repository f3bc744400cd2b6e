import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import creation
from scanviz.tensor import creation as filled
from tests.engine.ops.checking import shape_before

steps = st.integers(-4, 4).filter(bool)


def scalar(name, dtype="int64"):
    return Variable(TensorType(dtype, ()), name)


@given(st.integers(-5, 5), st.integers(-5, 5), steps)
def test_a_range_of_python_ints_is_numpys_with_a_known_length(start, stop, step):
    made = creation.arange(start, stop, step)
    expected = np.arange(start, stop, step)
    assert made.type == TensorType("int64", expected.shape)
    np.testing.assert_array_equal(evaluate(made), expected)
    np.testing.assert_array_equal(evaluate(creation.arange(stop)), np.arange(stop))


@given(st.integers(-5, 5), st.integers(-5, 5), steps, st.sampled_from(["int64", "int8", "int32"]))
def test_the_length_of_a_range_of_inputs_is_forecast(start, stop, step, dtype):
    a, b, c = (scalar(name, dtype) for name in "abc")
    givens = {a: np.array(start, dtype), b: np.array(stop, dtype), c: np.array(step, dtype)}
    expected = np.arange(*givens.values())
    for parts in ((a, b, c), (a, b, step), (start, b, c), (start, stop, c)):
        made = creation.arange(*parts)
        found = evaluate(made, givens)
        assert made.type.dtype == found.dtype.name == expected.dtype.name == "int64"
        np.testing.assert_array_equal(found, expected)
        assert shape_before(made, givens) == expected.shape


@given(
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.integers(-8, 8).filter(bool),
    st.sampled_from(["float16", "float32", "float64"]),
)
def test_a_range_of_floats_has_numpys_dtype_length_and_values(start, stop, step, dtype):
    values = [np.dtype(dtype).type(each / 10) for each in (start, stop, step)]
    expected = np.arange(*values)
    inputs = [scalar(name, dtype) for name in "abc"]
    made = creation.arange(*inputs)
    found = evaluate(made, dict(zip(inputs, values, strict=True)))
    assert made.type.dtype == found.dtype.name == expected.dtype.name
    assert made.type.shape == (None,)
    np.testing.assert_array_equal(found, expected)
    assert shape_before(made, dict(zip(inputs, values, strict=True))) == expected.shape


def test_a_range_of_whole_numbers_between_floats_has_the_length_of_the_floats():
    stop = scalar("stop", "float64")
    made = creation.arange(0, stop, dtype="int64")
    assert evaluate(made, {stop: 2.5}).tolist() == [0, 1, 2]
    assert shape_before(made, {stop: 2.5}) == (3,)


def test_the_dtype_of_a_range_can_be_chosen():
    n = scalar("n", "uint8")
    assert creation.arange(3).type.dtype == "int64"
    assert creation.arange(n).type.dtype == "int64"
    assert creation.arange(0.0, 1.0, 0.5).type.dtype == "float64"
    assert creation.arange(3, dtype="float32").type.dtype == "float32"
    assert evaluate(creation.arange(n, dtype="int8"), {n: np.uint8(2)}).dtype == "int8"


def test_python_floats_in_a_range_follow_float_x(monkeypatch):
    from scanviz.engine.config import config

    monkeypatch.setattr(config, "floatX", "float32")
    assert creation.arange(0.0, 1.0, 0.5).type.dtype == "float32"
    assert creation.eye(2).type.dtype == "float32"


def test_a_range_that_means_nothing_is_refused():
    step = scalar("step")
    with pytest.raises(ScanvizValueError, match="step of arange is 0"):
        creation.arange(0, 3, 0)
    with pytest.raises(ScanvizValueError, match="step of arange is 0"):
        evaluate(creation.arange(0, 3, step), {step: 0})
    with pytest.raises(ScanvizTypeError, match=r"(?s)scalars.*`v`"):
        creation.arange(Variable(TensorType("int64", (None,)), "v"))


def test_sizes_of_eye_are_checked():
    n = scalar("n")
    with pytest.raises(ShapeError, match="negative"):
        evaluate(creation.eye(n), {n: -1})
    with pytest.raises(ScanvizTypeError, match="eye: the number of rows"):
        creation.eye(2.0)


def test_an_array_like_another_does_not_compute_the_other():
    from scanviz.engine.function import function
    from scanviz.engine.mode import Mode
    from scanviz.engine.ops import elementwise as e

    x = Variable(TensorType("float64", (None,)), "x")
    call = function([x], filled.filled_like(e.exp(x), 2.0), mode=Mode("reference", "all"))
    assert call(np.zeros(3)).tolist() == [2.0, 2.0, 2.0]
    assert not any("exp" in str(instruction.op) for instruction in call.program.instructions)
