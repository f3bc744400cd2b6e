import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizIndexError, ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.function import function
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.assign import inc_subtensor, set_subtensor
from scanviz.engine.ops.index import getitem
from tests.engine.ops.checking import check, symbol, tame
from tests.engine.ops.test_index import indexed_arrays


def vector(name="x", dtype="float64", size=None):
    return Variable(TensorType(dtype, (size,)), name)


@st.composite
def assignments(draw, kinds):
    """An array, an index of it, and a value that broadcasts to the place."""
    array, parts = draw(indexed_arrays(kinds))
    try:
        place = array[parts].shape
    except IndexError:  # an Ellipsis moved parts to other sizes, or arrays do not broadcast
        assume(False)
    rank = draw(st.integers(0, len(place)))
    shape = tuple(draw(st.sampled_from([1, n])) for n in place[len(place) - rank :])
    return array, parts, draw(tame(array.dtype.name, shape))


def numpy_set(array, parts, value):
    changed = array.copy()
    changed[parts] = value
    return changed


def numpy_increase(array, parts, value):
    changed = array.copy()
    np.add.at(changed, parts, value)
    return changed


KINDS = ["integer", "slice", "newaxis", "array", "mask"]


@given(assignments(KINDS), st.data())
def test_set_subtensor_agrees_with_numpy_assignment(case, data):
    array, parts, value = case
    check(
        lambda x, y: set_subtensor(getitem(x, parts), y),
        lambda x, y: numpy_set(x, parts, y),
        [array, value],
        data,
    )


@given(assignments(KINDS), st.data())
def test_inc_subtensor_adds_up_at_repeated_places(case, data):
    array, parts, value = case
    check(
        lambda x, y: inc_subtensor(getitem(x, parts), y),
        lambda x, y: numpy_increase(x, parts, y),
        [array, value],
        data,
    )


def test_places_may_be_inputs():
    x, i, n = vector(), Variable(TensorType("int64", ()), "i"), Variable(TensorType("int32", ()), "n")
    changed = inc_subtensor(getitem(set_subtensor(getitem(x, i), 7), slice(None, n)), 1)
    found = evaluate(changed, {x: np.zeros(4), i: 1, n: np.int32(3)})
    assert found.tolist() == [1.0, 8.0, 1.0, 0.0]


def test_repeated_indices_given_at_run_time_add_up():
    x, where = vector(), vector("where", "int64")
    counted = evaluate(inc_subtensor(getitem(x, where), 1), {x: np.zeros(3), where: np.array([2, 0, 2])})
    assert counted.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_set_subtensor_leaves_its_operand_unchanged(mode):
    x = vector()
    call = function([x], [set_subtensor(getitem(x, 0), 9.0), x], mode=mode)
    array = np.arange(3.0)
    changed, same = call(array)
    assert changed.tolist() == [9.0, 1.0, 2.0]
    assert same.tolist() == array.tolist() == [0.0, 1.0, 2.0]


def test_the_whole_array_can_be_assigned_to():
    x = vector()
    for key in (slice(None), ...):
        assert evaluate(set_subtensor(getitem(x, key), 2), {x: np.zeros(3)}).tolist() == [2.0, 2.0, 2.0]


def test_python_numbers_take_the_dtype_of_the_array():
    x = vector(dtype="float32")
    for value in (1, 0.5, [1, 2], (0.5, 1.5)):
        assert set_subtensor(getitem(x, slice(0, 2)), value).type.dtype == "float32"
    assert set_subtensor(getitem(vector(dtype="uint8"), 0), 255).type.dtype == "uint8"


def test_a_value_of_a_smaller_dtype_is_widened():
    x, y = vector(), Variable(TensorType("int32", ()), "y")
    assert evaluate(inc_subtensor(getitem(x, 0), y), {x: np.zeros(2), y: np.int32(3)}).tolist() == [3.0, 0.0]


@pytest.mark.parametrize("change", [set_subtensor, inc_subtensor])
@pytest.mark.parametrize(
    "value", [0.5, [0.5], np.float64(0.5), Variable(TensorType("float32", ()), "y"), np.array([1.0])]
)
def test_a_value_that_would_lose_precision_is_refused(change, value):
    with pytest.raises(ScanvizTypeError, match=f"(?s){change.__name__}.*would lose precision in `x`.*int64"):
        change(getitem(vector(dtype="int64"), slice(0, 1)), value)


def test_a_number_that_does_not_fit_the_dtype_is_refused():
    with pytest.raises(ScanvizValueError, match="uint8"):
        set_subtensor(getitem(vector(dtype="uint8"), 0), 256)


@pytest.mark.parametrize("change", [set_subtensor, inc_subtensor])
def test_only_an_indexed_variable_can_be_assigned_to(change):
    x = vector()
    with pytest.raises(ScanvizTypeError, match=r"(?s)`x` is no indexed array.*x\[0, 1\], not x\[0\]\[1\]"):
        change(x, 0)
    with pytest.raises(ScanvizTypeError, match="indexed symbolic array"):
        change(np.zeros(3), 0)


def test_an_element_of_a_row_changes_the_row_alone():
    x = Variable(TensorType("float64", (None, 3)), "x")
    row = getitem(x, 0)
    changed = set_subtensor(getitem(row, 1), 5.0)
    assert changed.type.shape == (3,)
    assert evaluate(changed, {x: np.zeros((2, 3))}).tolist() == [0.0, 5.0, 0.0]


def test_a_value_that_does_not_fit_its_place_is_refused():
    x = Variable(TensorType("float64", (4, 3)), "x")
    with pytest.raises(ShapeError, match="does not fit"):
        set_subtensor(getitem(x, 0), np.zeros(2))
    with pytest.raises(ShapeError, match="more dimensions"):
        set_subtensor(getitem(x, 0), np.zeros((1, 3)))
    y, unknown = vector("y"), vector("x")
    changed = set_subtensor(getitem(unknown, slice(0, 2)), y)
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        evaluate(changed, {unknown: np.zeros(4), y: np.zeros(3)})


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_place_out_of_bounds_at_run_time_names_the_variables(mode):
    x, i = vector("weights"), Variable(TensorType("int64", ()), "i")
    call = function([x, i], inc_subtensor(getitem(x, i), 1.0), mode=mode)
    with pytest.raises(ScanvizIndexError, match=r"index 9 is out of bounds for `weights`, which has 3 rows"):
        call(np.zeros(3), 9)


def test_the_shape_of_a_changed_array_is_that_of_the_array():
    array = np.zeros((2, 3))
    x = symbol(array, "x")
    assert set_subtensor(getitem(x, 0), 1.0).type == x.type


X, MASK, ROWS = (
    T.tensor("float64", (None, None, None), "x"),
    T.matrix("mask", dtype="bool"),
    T.lvector("rows"),
)


@pytest.mark.parametrize(
    ("part", "axes"),
    [
        (X[:], set()), (X[0], {0}), (X[..., 1:], {2}), (X[:, None, :, 1:], {2}), (X[:, ROWS], {1}), (X[ROWS, :, ROWS], {0, 2}),
        (X[MASK], {0, 1}), (X[MASK, 1:], {0, 1, 2}), (X[:, MASK], {1, 2}),
    ],
)  # fmt: skip
def test_an_assignment_declares_the_axes_that_it_writes_in_part(part, axes):
    """Threads that share rows may not take an assignment apart along these."""
    assigned = T.set_subtensor(part, 0.0).owner
    assert assigned.op.facts.placed(assigned.op) == axes
