import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizIndexError, ScanvizTypeError, ShapeError
from scanviz.engine.function import function
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Constant, Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.index import INDEX, getitem, last_row, state_history
from scanviz.engine.ops.shape import DIMENSION, shape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of
from tests.engine.ops.checking import check, dtypes, shape_before, shapes, symbol, tame

numbers = st.integers(-6, 6)
slices = st.builds(
    slice,
    st.one_of(st.none(), numbers),
    st.one_of(st.none(), numbers),
    st.one_of(st.none(), numbers.filter(bool)),
)


@st.composite
def indexed_arrays(draw, kinds):
    """An array with an index made of parts of the given kinds, valid for NumPy."""
    array = draw(tame(draw(dtypes), draw(shapes(max_dims=4))))
    parts, axis = [], 0
    lengths = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    while axis < array.ndim and draw(st.integers(0, 5)):
        size = array.shape[axis]
        kind = draw(st.sampled_from(kinds))
        if kind == "integer" and size:
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "array" and size:
            shown = tuple(draw(st.sampled_from([1, length])) for length in lengths)
            parts.append(draw(hnp.arrays("int64", shown, elements=st.integers(-size, size - 1))))
        elif kind == "mask":
            ndim = draw(st.integers(1, min(2, array.ndim - axis)))
            parts.append(draw(hnp.arrays("bool", array.shape[axis : axis + ndim])))
            axis += ndim - 1
        elif kind == "newaxis":
            parts.append(None)
            continue
        else:
            parts.append(draw(slices))
        axis += 1
    if axis < array.ndim and draw(st.booleans()):
        masked = any(isinstance(part, np.ndarray) and part.dtype == bool for part in parts)
        kept = len(parts) if masked else draw(st.integers(0, len(parts)))  # a mask belongs to its axis
        parts.insert(kept, Ellipsis)
    return array, tuple(parts)


def _valid(array, parts):
    try:
        return array[parts].ndim <= 6
    except IndexError:  # an Ellipsis moved parts to other sizes, or arrays do not broadcast
        return False


@given(indexed_arrays(["integer", "slice", "newaxis"]), st.data())
def test_basic_indexing_agrees_with_numpy(case, data):
    array, parts = case
    assume(_valid(array, parts))
    check(lambda x: getitem(x, parts), lambda x: x[parts], [array], data)


@given(indexed_arrays(["integer", "slice", "newaxis", "array"]), st.data())
def test_indexing_by_integer_arrays_agrees_with_numpy(case, data):
    array, parts = case
    assume(_valid(array, parts))
    check(lambda x: getitem(x, parts), lambda x: x[parts], [array], data)


@given(indexed_arrays(["integer", "slice", "newaxis", "mask"]), st.data())
def test_indexing_by_masks_agrees_with_numpy(case, data):
    array, parts = case
    assume(_valid(array, parts))
    check(lambda x: getitem(x, parts), lambda x: x[parts], [array], data, exact=False)


def _symbolic(parts):
    """An index with every number and array in it replaced by an input, and the values of the inputs."""
    givens = {}

    def hidden(value):
        if value is None:
            return None
        array = np.asarray(value) if isinstance(value, np.ndarray) else np.asarray(value, "int64")
        found = symbol(array, f"i{len(givens)}", [True] * array.ndim)
        givens[found] = array
        return found

    key = []
    for part in parts:
        if part is None or part is Ellipsis:
            key.append(part)
        elif isinstance(part, slice):
            key.append(slice(hidden(part.start), hidden(part.stop), hidden(part.step)))
        else:
            key.append(hidden(part))
    return tuple(key), givens


@given(indexed_arrays(["integer", "slice", "newaxis", "array", "mask"]))
def test_indexing_by_inputs_equals_numpy_and_its_shape_is_forecast(case):
    array, parts = case
    assume(_valid(array, parts))
    x = symbol(array, "x", [True] * array.ndim)
    key, givens = _symbolic(parts)
    picked = getitem(x, key)
    found = evaluate(picked, {**givens, x: array})
    np.testing.assert_array_equal(found, array[parts])
    assert picked.type.ndim == found.ndim
    sizes = evaluate(shape(picked), {**givens, x: array})
    assert tuple(sizes) == found.shape
    assert shape_before(picked, {**givens, x: array}) == found.shape


@given(st.integers(0, 7), slices, st.lists(st.booleans(), min_size=4, max_size=4))
def test_the_length_of_every_slice_is_that_of_its_range(size, part, hide):
    givens = {}

    def number(value, hidden, name):
        if value is None or not hidden:
            return value
        givens[Variable(TensorType("int64", ()), name)] = value
        return list(givens)[-1]

    x = Variable(TensorType("float64", (None if hide[3] else size,)), "x")
    key = slice(
        *(
            number(v, h, n)
            for v, h, n in zip((part.start, part.stop, part.step), hide[:3], "abc", strict=True)
        )
    )
    expected = len(range(*part.indices(size)))
    assert shape_before(getitem(x, key), {**givens, x: np.zeros(size)}) == (expected,)


def test_the_length_of_a_slice_is_known_without_its_elements():
    x = Variable(TensorType("float64", (None,)), "x")
    step = Variable(TensorType("int64", ()), "step")
    for key in (slice(1, None), slice(None, None, -2), slice(None, None, step)):
        (text,) = shape_of(getitem(x, key))
        assert _asks_only(as_size(text), x), key


def _asks_only(variable, source):
    """Whether a size is computed from sizes of ``source`` and not from its elements."""
    from scanviz.engine.graph.traversal import toposort

    return all(
        node.op.declaration is DIMENSION if source in node.inputs else node.op.declaration is not INDEX
        for node in toposort([variable])
    )


def test_an_index_that_keeps_everything_can_be_assigned_to():
    x = Variable(TensorType("float64", (None, 3)), "x")
    for key in (..., slice(None), (slice(None), slice(None))):
        assert getitem(x, key).type == x.type
        assert getitem(x, key).owner.inputs == (x,)


def test_indexing_a_shape_by_a_constant_gives_the_size_itself():
    x = Variable(TensorType("float64", (None, 3)), "x")
    assert getitem(shape(x), 0).owner.op.declaration is DIMENSION
    assert isinstance(getitem(shape(x), 1), Constant)
    assert getitem(shape(x), slice(1, None)).type.shape == (1,)
    assert evaluate(getitem(shape(x), slice(0, 0))).shape == (0,)


def test_a_basic_index_is_a_view_and_an_advanced_one_is_not():
    x = Variable(TensorType("float64", (None,)), "x")
    array = np.arange(4.0)
    assert np.shares_memory(evaluate(getitem(x, slice(1, None)), {x: array}), array)
    assert not np.shares_memory(evaluate(getitem(x, [0, 1]), {x: array}), array)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ((0, 0, 0), "3 parts"),
        ((..., ...), "more than one"),
        (5, "index 5 is out of bounds of `x`, along axis 0"),
        ((0, -4), "index -4 is out of bounds of `x`, along axis 1"),
        (slice(None, None, 0), "step of 0"),
        (np.ones((4, 3), bool), "mask"),
    ],
)
def test_an_index_that_cannot_fit_is_refused_when_building(key, words):
    x = Variable(TensorType("float64", (2, 3)), "x")
    with pytest.raises(ScanvizIndexError, match=words):
        getitem(x, key)


@pytest.mark.parametrize("key", [1.5, "a", slice(0.5, None), np.array([0.5]), True])
def test_indices_that_are_not_integers_are_refused(key):
    x = Variable(TensorType("float64", (2, 3)), "x")
    with pytest.raises(ScanvizTypeError, match="x"):
        getitem(x, key)


def test_arrays_that_do_not_broadcast_are_refused_with_their_types():
    x = Variable(TensorType("float64", (4, 4)), "x")
    with pytest.raises(ValueError, match="broadcast"):
        getitem(x, ([0, 1], [0, 1, 2]))


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_an_index_out_of_bounds_at_run_time_names_variable_index_and_size(mode):
    x = Variable(TensorType("float64", (None, None)), "rates")
    i = Variable(TensorType("int64", ()), "i")
    call = function([x, i], getitem(x, (0, i)), mode=mode)
    with pytest.raises(
        ScanvizIndexError, match=r"index 7 is out of bounds for `rates`, .*size 3 along axis 1"
    ) as caught:
        call(np.zeros((2, 3)), 7)
    assert "`rates`" in str(caught.value)
    assert "`i`" in str(caught.value)
    assert "test_index.py" in str(caught.value)


def test_without_rows_the_last_row_is_the_initial_value():
    rows = Variable(TensorType("float64", (None, 2)), "rows")
    initial = Variable(TensorType("float64", (2,)), "initial")
    last = last_row(rows, initial)
    assert last.type == TensorType("float64", (2,))
    full, empty, start = np.arange(6.0).reshape(3, 2), np.zeros((0, 2)), np.array([8.0, 9.0])
    np.testing.assert_array_equal(evaluate(last, {rows: full, initial: start}), [4.0, 5.0])
    np.testing.assert_array_equal(evaluate(last, {rows: empty, initial: start}), start)


def test_the_last_of_rows_and_an_initial_value_of_another_type_is_refused():
    rows = Variable(TensorType("float64", (None, 2)), "rows")
    for wrong in (TensorType("float32", (2,)), TensorType("float64", ())):
        with pytest.raises(ScanvizTypeError, match="initial"):
            last_row(rows, Variable(wrong, "initial"))


def test_the_last_row_is_never_the_initial_value_itself_which_others_may_change():
    rows = Variable(TensorType("float64", (None, 2)), "rows")
    initial = Variable(TensorType("float64", (2,)), "initial")
    start = np.array([8.0, 9.0])
    found = evaluate(last_row(rows, initial), {rows: np.zeros((0, 2)), initial: start})
    assert not np.shares_memory(found, start)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@given(
    count=st.integers(0, 3),
    row=st.lists(st.integers(0, 3), max_size=2).map(tuple),
    offset=st.integers(1, 3),
    more=st.integers(0, 2),
    single=st.booleans(),
    hide=st.booleans(),
)
def test_a_history_is_the_rows_with_those_they_started_from_in_front(
    mode, count, row, offset, more, single, hide
):
    rng = np.random.default_rng(0)
    given_rows = rng.normal(size=(count, *row))
    offset = 1 if single else offset
    start = rng.normal(size=row) if single else rng.normal(size=(offset + more, *row))
    rows, initial = symbol(given_rows, "rows", [hide]), symbol(start, "initial", [hide] * start.ndim)
    history = state_history(rows, initial, offset)
    expected = np.concatenate([start[None] if single else start[:offset], given_rows])
    assert history.type.shape == (None if hide else count + offset, *row)
    np.testing.assert_array_equal(function([rows, initial], history, mode=mode)(given_rows, start), expected)
    assert shape_before(history, {rows: given_rows, initial: start})[0] == count + offset


def test_a_history_of_rows_of_another_type_is_refused():
    rows = Variable(TensorType("float64", (None, 2)), "rows")
    for wrong in (TensorType("float32", (2,)), TensorType("float64", ()), TensorType("float64", (1, 1, 2))):
        with pytest.raises(ScanvizTypeError, match="initial rows `start` do not match those of `rows`"):
            state_history(rows, Variable(wrong, "start"), 1)
    with pytest.raises(ShapeError, match="must agree"):
        state_history(rows, Variable(TensorType("float64", (3,)), "start"), 1)
    with pytest.raises(ScanvizTypeError, match="initial rows"):  # one row is the history of one row
        state_history(rows, Variable(TensorType("float64", (2,)), "first"), 2)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_row_is_added_at_places_in_two_dimensions(mode):
    """NumPy 2.4's own ``add.at`` reads beyond the row here."""
    x, v = T.vector("x"), T.vector("v")
    added = T.inc_subtensor(x[np.array([[2, 0, 0], [1, 1, 0]])], v)
    f = scanviz.function([x, v], added, mode=mode)
    assert f(np.zeros(3), [1.0, 10.0, 100.0]).tolist() == [210.0, 11.0, 1.0]


@pytest.mark.parametrize("mode", ["reference", "numpy", "native"])
def test_a_number_beyond_int64_is_no_index_from_the_end(mode):
    k, v = T.tensor("uint64", (), "k"), T.vector("v")
    values, largest = np.arange(4.0), np.uint64(2**64 - 1)
    rows, _ = scanviz.scan(lambda h, k, v: h + T.sum(v[:k]), None, 0.0, [k, v], n_steps=2)
    parts = scanviz.function([k, v], [v[:k], v[k:], rows], mode=mode)(largest, values)
    assert [part.tolist() for part in parts] == [[0.0, 1.0, 2.0, 3.0], [], [6.0, 12.0]]
    assert scanviz.function([k, v], v[k], mode=mode)(np.uint64(3), values) == 3.0
    with pytest.raises(IndexError, match="out of bounds"):
        scanviz.function([k, v], v[k], mode=mode)(largest, values)
    picked, _ = scanviz.scan(lambda h, k, v: h + v[k], None, 0.0, [k, v], n_steps=2)
    with pytest.raises(IndexError, match="out of bounds"):
        scanviz.function([k, v], picked, mode=mode)(largest, values)
    with pytest.raises(IndexError, match="is beyond every axis of `v`"):
        v[largest]
