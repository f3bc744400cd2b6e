"""Derivatives of indexing and assignment, with every kind of index entry, and of the rows of loops."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.ops.index import last_row, state_history
from scanviz.testing import verify_grad
from tests.engine.gradient.checking import gradient_of

seeds = st.integers(0, 2**32 - 1)
bounds = st.one_of(st.none(), st.integers(-5, 5))
steps = st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2]))


class Indexed(NamedTuple):
    """An array and an index of it with some parts as inputs."""

    array: np.ndarray
    parts: list  # ints, slices, None, ..., arrays; an Input where an input stands
    inputs: list  # values of the inputs

    def key(self, given):
        """Return the index, with its inputs replaced by ``given``."""
        return tuple(_filled(part, given) for part in self.parts)


class Input(NamedTuple):
    """The place of an input in an index."""

    position: int


def _filled(part, given):
    if isinstance(part, Input):
        return given[part.position]
    if isinstance(part, slice):
        return slice(*(_filled(each, given) for each in (part.start, part.stop, part.step)))
    return part


@st.composite
def indexed(draw):
    """An array with a valid index; integers, bounds and arrays are inputs or known, as it happens."""
    shape = draw(st.lists(st.sampled_from([3, 2, 4, 3, 2, 1, 0]), min_size=1, max_size=3).map(tuple))
    rng = np.random.default_rng(draw(seeds))
    inputs, parts = [], []

    def put(value, kind="int64"):
        if value is None or not draw(st.booleans()):
            return value
        inputs.append(np.asarray(value, kind))
        return Input(len(inputs) - 1)

    length, axis = draw(st.sampled_from([3, 4, 2, 0])), 0
    masks = 0  # one at most: how many elements it picks must fit the arrays beside it
    while axis < len(shape) and draw(st.integers(0, 5)):
        size = shape[axis]
        kinds = (
            ["slice", "newaxis"] + (["integer", "array", "array"] if size else []) + ["mask"] * (not masks)
        )
        kind = draw(st.sampled_from(kinds))
        if kind == "newaxis":
            parts.append(None)
            continue
        if kind == "integer":
            parts.append(put(draw(st.integers(-size, size - 1))))
        elif kind == "array" and masks != 1:
            places = rng.integers(-size, size, draw(st.sampled_from([(length,), (2, length), (1,)])))
            parts.append(put(places))
        elif kind == "mask" and not any(isinstance(part, np.ndarray | Input) for part in parts):
            wide = draw(st.integers(1, len(shape) - axis))
            parts.append(put(rng.random(shape[axis : axis + wide]) < 0.6, "bool"))
            masks, axis = 1, axis + wide - 1
        else:
            parts.append(slice(put(draw(bounds)), put(draw(bounds)), put(draw(steps))))
        axis += 1
    if draw(st.booleans()):
        parts.append(Ellipsis)
    return Indexed(rng.normal(size=shape), parts, inputs)


@given(indexed(), st.booleans(), st.sampled_from(["float64", "float32"]))
def test_gradients_of_indexing_agree_with_finite_differences(case, known, dtype):
    points = [case.array.astype(dtype), *case.inputs]
    verify_grad(lambda x, *given: x[case.key(given)], points, known_shapes=known)


@given(indexed())
def test_second_derivatives_of_indexing_agree_with_finite_differences(case):
    verify_grad(gradient_of(lambda x, *given: x[case.key(given)]), [case.array, *case.inputs], tolerance=1e-4)


@st.composite
def assigned(draw):
    """An array, an index of it, and a value of a shape that broadcasts into its place."""
    case = draw(indexed())
    shape = np.shape(case.array[case.key(case.inputs)])
    shape = shape[draw(st.integers(0, len(shape))) :]
    shape = tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in shape)
    return case, np.random.default_rng(draw(seeds)).normal(size=shape)


@pytest.mark.parametrize("change", [T.set_subtensor, T.inc_subtensor])
@given(assigned(), st.booleans(), st.sampled_from(["float64", "float32"]))
def test_gradients_of_indexed_assignment_agree_with_finite_differences(change, pair, known, dtype):
    case, value = pair
    points = [case.array.astype(dtype), value.astype(dtype), *case.inputs]
    verify_grad(lambda x, v, *given: change(x[case.key(given)], v), points, known_shapes=known)


@pytest.mark.parametrize("change", [T.set_subtensor, T.inc_subtensor])
@given(assigned())
def test_second_derivatives_of_indexed_assignment_agree_with_finite_differences(change, pair):
    case, value = pair

    def build(x, v, *given):
        return change(x[case.key(given)], v * v) * x

    verify_grad(gradient_of(build), [case.array, value, *case.inputs], tolerance=1e-4)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("places", [[1, 1, 0], [0, -3, 2], [2, 2, 2]])
def test_the_last_of_several_values_put_in_one_place_has_the_derivative(mode, symbolic, places):
    x, v, k = T.vector("x"), T.vector("v"), T.lvector("k")
    weights = np.array([1.0, 10.0, 100.0])
    changed = T.set_subtensor(x[k if symbolic else np.array(places)], v)
    gradients = scanviz.grad(T.sum(changed * weights), [x, v])
    f = scanviz.function([x, v, k], gradients, mode=mode, on_unused_input="ignore")
    to_x, to_v = f([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], places)
    held = np.full(3, -1)
    held[places] = np.arange(3)
    np.testing.assert_array_equal(to_x, np.where(held < 0, weights, 0))
    np.testing.assert_array_equal(to_v, [np.sum(weights[held == k]) for k in range(3)])


def test_a_number_put_twice_in_one_place_counts_once():
    x, v = T.vector("x"), T.scalar("v")
    y = T.sum(T.set_subtensor(x[[1, 1, 0]], v))
    assert float(scanviz.grad(y, v).eval({x: [1.0, 2.0, 3.0], v: 4.0})) == 2.0


def operations_of(variable):
    """Return the names of the operations above a variable."""
    names, stack = set(), [variable]
    while stack:
        node = stack.pop().owner
        if node is not None:
            names.add(node.op.name)
            stack.extend(node.inputs)
    return names


@pytest.mark.parametrize(
    ("key", "looks"),
    [(np.array([0, 2]), False), (slice(1, None), False), (np.array([0, 0]), True), (np.array([0, -1]), True)],
)
def test_only_repeatable_indices_are_searched_for_the_last_assignment(key, looks):
    x, v = T.vector("x"), T.vector("v")
    (g,) = pull_back({T.sum(T.set_subtensor(x[key], v)): T.constant(1.0)}, [v])
    assert isinstance(g, Variable)
    assert ("equal" in operations_of(g)) == looks


def test_a_mask_names_no_place_twice_and_takes_a_value_of_unknown_length():
    x, m, v = T.vector("x"), T.tensor("bool", (None,), "m"), T.vector("v")
    (g,) = pull_back({T.sum(T.set_subtensor(x[m], v) ** 2): T.constant(1.0)}, [v])
    assert "equal" not in operations_of(g)
    assert g.eval({x: [1.0, 2.0, 3.0], m: [True, False, True], v: [4.0, 5.0]}).tolist() == [8.0, 10.0]


def test_indices_have_no_derivative():
    x, k = T.vector("x"), T.scalar("k")
    y = x[T.cast(k, "int64")]
    assert pull_back({y: T.constant(1.0)}, [k]) == [None]
    with pytest.raises(scanviz.ScanvizError, match="has no derivative"):
        scanviz.grad(y, k)


rows_and_row = st.tuples(
    st.integers(0, 3), st.lists(st.integers(0, 3), max_size=2).map(tuple), seeds, st.booleans()
)


@given(rows_and_row)
def test_without_rows_the_initial_value_has_the_derivative_of_the_last_row(case):
    count, row, seed, known = case
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(count, *row)), rng.normal(size=row)]
    verify_grad(last_row, points, known_shapes=known)
    verify_grad(gradient_of(lambda x, y: last_row(x * x, y * y)), points, tolerance=1e-4)


@given(rows_and_row, st.integers(1, 3), st.integers(0, 2), st.booleans())
def test_rows_of_a_state_and_those_it_started_from_have_their_own_derivatives(case, offset, more, single):
    count, row, seed, known = case
    rng = np.random.default_rng(seed)
    initial = rng.normal(size=row) if single else rng.normal(size=(offset + more, *row))
    points = [rng.normal(size=(count, *row)), initial]

    def build(x, y):
        return state_history(x, y, 1 if single else offset)

    verify_grad(build, points, known_shapes=known)
    verify_grad(gradient_of(lambda x, y: build(x * x, y * y)), points, tolerance=1e-4)
