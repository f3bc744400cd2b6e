"""scan returns a pair to unpack, and misuse of the pair is an error with that fix."""

import pickle

import pytest

import scanviz
from scanviz import tensor as T
from tests.trap_helpers import trapped

x = T.vector("x")


def sums(**options):
    return scanviz.scan(lambda x_t, h: h + x_t, sequences=x, outputs_info=0.0, name="sums", **options)


pair = sums()


@pytest.mark.parametrize(
    "call",
    [
        lambda: T.sum(pair),
        lambda: T.tanh(pair),
        lambda: pair * 2,
        lambda: 2 * pair,
        lambda: pair - x,
        lambda: x + pair,
        lambda: pair @ x,
        lambda: -pair,
        lambda: abs(pair),
        lambda: pair + x,
        lambda: pair[-1] + 1.0,
        lambda: pair[-1] * x,
        lambda: x * pair[-1],
        lambda: T.sum(pair[-1]),
        lambda: scanviz.function([x], pair),
        lambda: scanviz.grad(pair, x),
        lambda: scanviz.scan(lambda a: a, sequences=pair),
        lambda: scanviz.scan(lambda a, b: a, sequences=x, non_sequences=pair),
        lambda: scanviz.function([x], x, updates=pair),
    ],
)
def test_a_result_pair_used_as_a_variable_is_an_error_with_a_fix(call):
    error = trapped(call, TypeError)
    assert "h, updates = scan(…)" in error.fix


@pytest.mark.parametrize(
    "call", [lambda: pair.sum(), lambda: pair.shape, lambda: pair[-1].mean(), lambda: pair.T]
)
def test_attributes_of_variables_on_a_result_pair_are_errors_with_a_fix(call):
    assert "h, updates = scan(…)" in trapped(call, AttributeError).fix


def test_the_result_pair_is_otherwise_a_plain_tuple():
    outputs, updates = pair
    assert isinstance(pair, tuple) and len(pair) == 2
    assert pair[0] is outputs is pair.outputs and pair[-1] is updates is pair.updates
    assert pair == (outputs, updates) and hash(type(pair)) and not hasattr(pair, "nonsense")
    again = pickle.loads(pickle.dumps(pair))
    assert type(again) is type(pair) and again.updates == {}
    assert not isinstance(sums(return_updates=False), tuple)


def test_views_return_the_same_pair():
    for made in (
        scanviz.map(lambda a: a, x),
        scanviz.reduce(lambda a, b: a + b, x, 0.0),
        scanviz.filter(lambda a: a > 0, x),
    ):
        assert type(made) is type(pair)


def test_a_step_may_return_the_pair_of_a_loop_inside():
    rows, _ = scanviz.scan(lambda r: scanviz.scan(lambda a: a * 2, sequences=r), sequences=T.matrix("m"))
    assert rows.ndim == 2


@pytest.mark.parametrize("wrong", [1, x, None, [x], [(x,)], 1.5, [([1, 2], [3, 4])]])
def test_updates_accept_only_pairs(wrong):
    with pytest.raises(TypeError, match="update"):
        scanviz.Updates().update(wrong)


def test_a_function_updates_shared_variables_alone():
    for key in ([1, 2], {"a": 1}, x):
        with pytest.raises(TypeError, match="only shared variables can be updated"):
            scanviz.function([], [], updates=[(key, 1.0)])
