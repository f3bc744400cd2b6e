import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.function import function
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import RANDOM_STATE, TensorType
from scanviz.engine.mode import Mode
from scanviz.engine.ops import control
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import ifelse
from scanviz.engine.ops.shape import shape, stack_scalars
from scanviz.engine.ops.symbolic_shape import shape_of
from tests.engine.ops.checking import check, dtypes, shape_before, shapes, symbol, tame


@given(st.data(), shapes(), dtypes, dtypes, st.sampled_from([True, False, 0, 2, 0.0, 0.5]))
def test_ifelse_returns_the_selected_value_in_the_common_dtype(data, size, one, other, condition):
    first, second = data.draw(tame(one, size)), data.draw(tame(other, size))
    hidden = data.draw(st.lists(st.booleans(), min_size=first.ndim, max_size=first.ndim))
    a, b = symbol(first, "a", hidden), symbol(second, "b")
    test = Variable(TensorType(np.asarray(condition).dtype.name, ()), "test")
    found = evaluate(ifelse(test, a, b), {a: first, b: second, test: condition})
    chosen = first if condition else second
    assert ifelse(test, a, b).type.dtype == found.dtype.name == np.result_type(first, second).name
    assert ifelse(test, a, b).type.shape == tuple(
        None if hide else n for n, hide in zip(size, hidden, strict=True)
    )
    np.testing.assert_array_equal(found, chosen)


def test_branches_may_be_lists():
    test, x = Variable(TensorType("bool", ()), "test"), Variable(TensorType("float64", ()), "x")
    first, second = ifelse(test, [x, 1], (e.negative(x), 2))
    for condition, expected in ((True, [3.0, 1]), (False, [-3.0, 2])):
        assert evaluate([first, second], {test: condition, x: 3.0}) == expected
    assert ifelse(test, [], []) == []


def test_a_python_number_takes_the_dtype_of_the_other_branch():
    test, x = Variable(TensorType("bool", ()), "test"), Variable(TensorType("float32", ()), "x")
    assert ifelse(test, x, 0.5).type.dtype == "float32"
    assert ifelse(test, 0, x).type.dtype == "float32"
    assert ifelse(test, e.cast(x, "int8"), 0.5).type.dtype == "float64"
    assert ifelse(test, 1, 0.5).type.dtype == "float64"


def test_the_shape_of_a_choice_follows_the_condition():
    test = Variable(TensorType("bool", ()), "test")
    a, b = (Variable(TensorType("float64", (None, 2)), name) for name in "ab")
    made = ifelse(test, a, b)
    assert made.type.shape == (None, 2)
    for condition, rows in ((True, 3), (False, 5)):
        found = shape_before(made, {test: condition, a: np.zeros((3, 2)), b: np.zeros((5, 2))})
        assert found == (rows, 2)
    known = {}
    assert shape_of(ifelse(test, a, e.negative(a)), known) == shape_of(a, known)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_only_the_taken_branch_is_computed(mode):
    from scanviz.engine.ops.index import getitem

    test, x = Variable(TensorType("bool", ()), "test"), Variable(TensorType("float64", (None,)), "x")
    call = function([test, x], ifelse(test, 0.0, getitem(x, 5)), mode=mode)
    assert call(True, np.zeros(2)) == 0.0  # the other would be out of bounds
    with pytest.raises(IndexError):
        call(False, np.zeros(2))


def test_states_of_random_numbers_can_be_chosen():
    test = Variable(TensorType("bool", ()), "test")
    a, b = Variable(RANDOM_STATE, "a"), Variable(RANDOM_STATE, "b")
    assert ifelse(test, a, b).type == RANDOM_STATE
    with pytest.raises(ScanvizTypeError, match="different types"):
        ifelse(test, a, Variable(TensorType("float64", ()), "x"))


def test_branches_that_do_not_match_are_refused():
    test, x = Variable(TensorType("bool", ()), "test"), Variable(TensorType("float64", (None,)), "x")
    with pytest.raises(ScanvizTypeError, match=r"(?s)numbers of dimensions.*`x`"):
        ifelse(test, x, 0.0)
    with pytest.raises(ScanvizTypeError, match="one length"):
        ifelse(test, [x], [x, x])
    with pytest.raises(ScanvizTypeError, match="both be lists"):
        ifelse(test, x, [x])
    with pytest.raises(ScanvizTypeError, match=r"(?s)`x`.*one number.*T.switch"):
        ifelse(x, 1.0, 2.0)


def test_asking_for_the_shape_of_a_choice_computes_neither_branch():
    x = Variable(TensorType("float64", (None,)), "x")
    test = Variable(TensorType("int8", ()), "test")
    call = function([test, x], shape(ifelse(test, e.exp(x), stack_scalars([test, test]))), mode="reference")
    assert call(1, np.zeros(4)).tolist() == [4]
    assert call(0, np.zeros(4)).tolist() == [2]
    assert not any("exp" in str(instruction.op) for instruction in call.program.instructions)


BARRIERS = {
    "disconnected_grad": control.disconnected_grad,
    "zero_grad": control.zero_grad,
    "consider_constant": control.consider_constant,
    "grad_clip": lambda x: control.grad_clip(x, -1, 1),
}


@pytest.mark.parametrize("name", BARRIERS)
@given(st.data())
def test_barriers_pass_values_of_every_dtype_and_shape_unchanged(name, data):
    array = data.draw(tame(data.draw(dtypes), data.draw(shapes())))
    check(BARRIERS[name], lambda x: x, [array], data)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("name", BARRIERS)
def test_barriers_are_removed_before_a_graph_runs(name, mode):
    x = Variable(TensorType("float64", (None,)), "x")
    f = function([x], BARRIERS[name](x) * 2, mode=Mode(mode, "all"))
    assert f([1.0, 2.0]).tolist() == [2.0, 4.0]
    assert BARRIERS.keys().isdisjoint(instruction.op.name for instruction in f.program.instructions)


@pytest.mark.parametrize("bounds", [(1, -1), (math.nan, 1), (0, math.nan)])
def test_bounds_that_are_no_interval_are_refused_with_the_line(bounds):
    with pytest.raises(ScanvizValueError, match=r"(?s)test_control\.py:\d+.*interval"):
        control.grad_clip(Variable(TensorType("float64", ()), "x"), *bounds)


def test_one_bound_may_be_infinite_and_both_may_be_equal():
    x = Variable(TensorType("float64", ()), "x")
    assert control.grad_clip(x, -math.inf, 2).owner.op.parameters == (-math.inf, 2.0)
    assert control.grad_clip(x, 1, 1).owner.op.parameters == (1.0, 1.0)
