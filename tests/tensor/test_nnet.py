import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from scanviz import tensor as T
from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizIndexError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.evaluate import evaluate
from tests.engine.ops.checking import check, dtypes, shapes, tame


def eps(dtype: object) -> float:
    return 32 * float(np.finfo(dtype).eps)


def floating(array: np.ndarray) -> np.dtype:
    return array.dtype if array.dtype.kind == "f" else np.dtype("float64")


@st.composite
def tensors(draw, min_dims=0, max_dims=3, min_side=0):
    return draw(tame(draw(dtypes), draw(shapes(min_dims, max_dims, min_side))))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@given(tensors(min_dims=1, min_side=1), st.data())
def test_softmax_and_its_logarithm_agree_with_scipy_along_any_axes(name, array, data):
    one = st.integers(-array.ndim, array.ndim - 1)
    several = st.lists(one, min_size=1, unique_by=lambda axis: axis % array.ndim).map(tuple)
    axis = data.draw(st.one_of(st.none(), one, several))
    oracle = lambda x: getattr(special, name)(x.astype("float64"), axis=axis).astype(floating(x))  # noqa: E731
    build = lambda x: getattr(T.nnet, name)(x, axis)  # noqa: E731
    check(build, oracle, [array], data, rtol=eps(floating(array)), atol=eps(floating(array)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_does_not_overflow_or_lose_small_probabilities(dtype):
    x = np.array([-1e4, 0, 1e4], dtype)
    check(T.nnet.softmax, lambda x: np.array([0, 0, 1], dtype), [x])
    check(T.nnet.log_softmax, lambda x: np.array([-2e4, -1e4, 0], dtype), [x])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_nothing_is_nothing(name):
    check(getattr(T.nnet, name), lambda x: x, [np.zeros((3, 0), "float32")])


ACTIVATIONS = {
    "sigmoid": special.expit,
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "softplus": lambda x: np.logaddexp(x, 0),
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(st.data())
def test_activations_follow_their_formula_and_keep_the_dtype(name, dtype, data):
    array = data.draw(tame(dtype, data.draw(shapes())))
    oracle = lambda x: ACTIVATIONS[name](x.astype("float64")).astype(dtype)  # noqa: E731
    check(getattr(T.nnet, name), oracle, [array], data, rtol=eps(dtype), atol=eps(dtype))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations_pass_nan_on_and_take_infinities(name):
    x = np.array([np.nan, np.inf, -np.inf])
    ends = {"softplus": [np.inf, 0], "relu": [np.inf, 0], "elu": [np.inf, -1], "softsign": [np.nan, np.nan]}
    check(getattr(T.nnet, name), lambda x: np.array([np.nan, *ends.get(name, [1, 0])]), [x])


def test_relu_of_ints_is_ints_and_its_slope_broadcasts():
    check(T.nnet.relu, lambda x: np.maximum(x, 0), [np.array([-1, 2], "int32")])
    x, slopes = np.array([[-1.0, 2.0], [-3.0, 4.0]]), np.array([0.5, 1.0])
    check(T.nnet.relu, lambda x, a: np.where(x > 0, x, a * x), [x, slopes])


@given(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2), st.data())
def test_crossentropy_of_classes_is_minus_the_log_of_their_probability(rows, classes, extra, data):
    shape = ((), (rows,), (2, rows))[extra]
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    logits = rng.normal(size=(*shape, classes))
    p, y = special.softmax(logits, axis=-1), rng.integers(0, classes, shape).astype("int32")
    oracle = lambda p, y: -np.log(np.take_along_axis(p, y[..., None].astype(int), -1)[..., 0])  # noqa: E731
    check(T.nnet.categorical_crossentropy, oracle, [p, np.asarray(y)], data, rtol=1e-12, atol=1e-12)
    check(
        T.nnet.softmax_crossentropy,
        lambda x, y: oracle(p, y),
        [logits, np.asarray(y)],
        data,
        rtol=1e-9,
        atol=1e-12,
    )
    true = special.softmax(rng.normal(size=(*shape, classes)), axis=-1)
    oracle = lambda p, t: -np.sum(t * np.log(p), axis=-1)  # noqa: E731
    check(T.nnet.categorical_crossentropy, oracle, [p, true], data, rtol=1e-12, atol=1e-12)
    check(T.nnet.softmax_crossentropy, lambda x, t: oracle(p, t), [logits, true], data, rtol=1e-9, atol=1e-12)


def test_a_probability_of_zero_where_nothing_is_expected_costs_nothing():
    p, t = np.array([[0.0, 1.0]]), np.array([[0.0, 1.0]])
    check(T.nnet.categorical_crossentropy, lambda p, t: np.zeros(1), [p, t])
    check(T.nnet.binary_crossentropy, lambda p, t: np.zeros((1, 2)), [p, t])


def test_a_probability_of_zero_where_something_is_expected_costs_infinitely_much():
    p, t = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    check(T.nnet.categorical_crossentropy, lambda p, t: np.array([np.inf]), [p, t])
    check(T.nnet.binary_crossentropy, lambda p, t: np.full((1, 2), np.inf), [p, t])


@given(st.data())
def test_binary_crossentropy_follows_its_formula_with_and_without_logits(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    logits, target = rng.normal(size=(2, 3)), rng.uniform(size=3)
    p = special.expit(logits)
    oracle = lambda p, t: -(t * np.log(p) + (1 - t) * np.log1p(-p))  # noqa: E731
    check(T.nnet.binary_crossentropy, oracle, [p, target], data, rtol=1e-9)
    check(T.nnet.sigmoid_binary_crossentropy, lambda x, t: oracle(p, t), [logits, target], data, rtol=1e-9)


def test_losses_on_logits_hold_where_probabilities_round_to_zero():
    logits = np.array([[1000.0, 0.0]])
    check(T.nnet.softmax_crossentropy, lambda x, y: np.array([1000.0]), [logits, np.array([1])])
    check(
        T.nnet.sigmoid_binary_crossentropy,
        lambda x, t: np.array([[1000.0, np.log(2)]]),
        [logits, np.zeros(2)],
    )


def test_a_class_that_does_not_exist_is_an_error():
    p, y = T.matrix("p"), T.ivector("y")
    with pytest.raises(ScanvizIndexError):
        evaluate(T.nnet.categorical_crossentropy(p, y), {p: np.ones((2, 3)), y: np.array([0, 3], "int32")})


def test_float_classes_are_refused_with_the_cast_to_write():
    with pytest.raises(ScanvizTypeError, match=r"test_nnet\.py:\d+: .*`y` are no classes(.|\n)*T.cast\(y"):
        T.nnet.categorical_crossentropy(T.matrix("p"), T.vector("y"))


def test_targets_of_a_wrong_rank_are_refused_by_name():
    with pytest.raises(ScanvizTypeError, match="`y` does not fit `p`"):
        T.nnet.categorical_crossentropy(T.matrix("p"), T.tensor3("y"))


@given(st.sampled_from(["int8", "uint8", "int64"]), shapes(max_dims=2), st.integers(0, 4), st.data())
def test_one_hot_agrees_with_numpy_and_is_zero_for_unknown_classes(dtype, shape, classes, data):
    array = data.draw(tame(dtype, shape))
    oracle = lambda y: (y[..., None] == np.arange(classes)).astype(config.floatX)  # noqa: E731
    check(lambda y: T.nnet.one_hot(y, classes), oracle, [array], data)


def test_one_hot_takes_a_symbolic_number_of_classes_and_a_dtype():
    y, n = T.ivector("y"), T.lscalar("n")
    found = evaluate(T.nnet.one_hot(y, n, "int8"), {y: np.array([1, 0], "int32"), n: 2})
    np.testing.assert_array_equal(found, np.array([[0, 1], [1, 0]], "int8"))
    assert found.dtype == "int8"


def test_an_axis_that_does_not_exist_is_an_error_that_names_the_variable():
    with pytest.raises(ScanvizValueError, match="softmax of `x`: there is no axis 1"):
        T.nnet.softmax(T.vector("x"), axis=1)
