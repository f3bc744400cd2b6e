"""Derivatives of reductions, shapes, indexing, joining, creating and sorting arrays, against finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.nodes import is_floating
from scanviz.engine.ops.index import last_row, state_history
from scanviz.testing import verify_grad

A = np.array([[0.3, -1.2, 2.0], [1.5, 0.7, -0.4]])
V = np.array([0.3, -1.2, 2.0, 0.8])
CUBE = np.random.default_rng(3).normal(size=(2, 3, 4))
ROW = np.array([0.1, 0.2, 0.3])
MASK = np.array([[True, False, True], [False, True, True]])
ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])

CASES = {
    "sum": (lambda x: T.sum(x), [A]),
    "sum along an axis": (lambda x: T.sum(x, axis=0), [A]),
    "sum kept": (lambda x: T.sum(x, axis=(0, 2), keepdims=True), [CUBE]),
    "sum in float64": (lambda x: T.sum(x, axis=1, dtype="float64"), [A.astype("float32")]),
    "mean": (lambda x: T.mean(x, axis=1), [A]),
    "variance": (lambda x: T.var(x, axis=0), [A]),
    "product": (lambda x: T.prod(x, axis=1), [A]),
    "product with zeros": (lambda x: T.prod(x, axis=1), [ZEROS]),
    "product of all with a zero": (lambda x: T.prod(x), [np.array([2.0, 0.0, 3.0])]),
    "product in float64": (lambda x: T.prod(x, dtype="float64"), [A.astype("float32")]),
    "max": (lambda x: T.max(x, axis=1), [A]),
    "min of all": (lambda x: T.min(x, keepdims=True), [A]),
    "cumsum": (lambda x: T.cumsum(x, axis=1), [A]),
    "cumsum flattened": (lambda x: T.cumsum(x), [A]),
    "cumprod": (lambda x: T.cumprod(x, axis=0), [A]),
    "cumprod with zeros": (lambda x: T.cumprod(x, axis=1), [ZEROS]),
    "cumprod flattened": (lambda x: T.cumprod(x), [A]),
    "reshape": (lambda x: T.reshape(x, (3, -1)), [A]),
    "reshape to a symbolic size": (lambda x, n: T.reshape(x, (n, 6 // n)), [A, 3]),
    "flatten": (lambda x: x.flatten(), [CUBE]),
    "transposed": (lambda x: T.transpose(x, (2, 0, 1)), [CUBE]),
    "new axis": (lambda x: x.dimshuffle("x", 1, 0), [A]),
    "dropped axis": (lambda x: x.dimshuffle(1), [A[:1]]),
    "filled": (lambda x: T.alloc(x, 4, 2, 3), [ROW]),
    "stretched": (lambda x: T.alloc(x, 4, 3), [ROW[:1]]),
    "specified": (lambda x: T.specify_shape(x, (2, 3)), [A]),
    "vector of scalars": (lambda x, y: T.stack([x, y, x]), [0.3, 0.4]),
    "row": (lambda x: x[1], [A]),
    "last row": (lambda x: x[-1], [A]),
    "element": (lambda x: x[0, 2], [A]),
    "symbolic row": (lambda x, k: x[k], [A, 1]),
    "slice": (lambda x: x[:, ::2], [A]),
    "turned": (lambda x: x[::-1, 1:], [A]),
    "symbolic slice": (lambda x, k: x[k:], [V, 2]),
    "places": (lambda x: x[[0, 2, 2]], [V]),
    "mask": (lambda x, m: x[m], [A, MASK]),
    "array and slice": (lambda x: x[:, [1, 1, 0]], [A]),
    "set a row": (lambda x, y: T.set_subtensor(x[1], y), [A, ROW]),
    "set to one number": (lambda x, y: T.set_subtensor(x[:, 1:], y), [A, 0.5]),
    "add to a row": (lambda x, y: T.inc_subtensor(x[1], y), [A, ROW]),
    "add to places": (lambda x, y: T.inc_subtensor(x[[0, 2, 2]], y), [V, ROW]),
    "set a mask": (lambda x, m, y: T.set_subtensor(x[m], y), [A, MASK, 0.7]),
    "part of a set array": (lambda x, y: T.set_subtensor(x[0], y)[:, 1] * x[:, 1], [A, ROW]),
    "last of rows": (last_row, [A, ROW]),
    "last of no rows": (last_row, [A[:0], ROW]),
    "history": (lambda x, y: state_history(x, y, 1), [A, ROW]),
    "history of many": (lambda x, y: state_history(x, y, 2), [A, np.ones((3, 3))]),
    "joined": (lambda x, y: T.concatenate([x, y, x], axis=1), [A, A[:, :1]]),
    "stacked": (lambda x, y: T.stack([x, y], axis=1), [ROW, ROW + 1]),
    "repeated": (lambda x: T.repeat(x, 2, axis=1), [A]),
    "repeated by counts": (lambda x, n: T.repeat(x, n, axis=0), [A, np.array([0, 3])]),
    "repeated flattened": (lambda x: T.repeat(x, 3), [A]),
    "tiled": (lambda x: T.tile(x, (2, 2)), [A]),
    "triangle": (lambda x: T.tril(x, -1) + T.triu(x), [ZEROS + 1]),
    "diagonal": (lambda x: T.diagonal(x, 1), [A]),
    "diagonal below": (lambda x: T.diagonal(x, -1), [CUBE[0]]),
    "diagonals of a batch": (lambda x: T.diagonal(x, 1, 1, 2), [CUBE]),
    "from a diagonal": (lambda x: T.diag(x), [ROW]),
    "sorted": (lambda x: T.sort(x, axis=1), [A]),
    "sorted along the first": (lambda x: T.sort(x, axis=0), [CUBE]),
    "sorted flattened": (lambda x: T.sort(x, axis=None), [A]),
    "chosen as a whole": (lambda c, x, y: T.ifelse(c, x * 2, y), [True, A, A + 1]),
    "not chosen": (lambda c, x, y: T.ifelse(c, x * 2, y), [False, A, A + 1]),
    "softmax": (lambda x: T.softmax(x), [A]),
    "softmax of columns": (lambda x: T.softmax(x, axis=0), [A]),
    "log softmax": (lambda x: T.log_softmax(x), [A]),
    "norm": (lambda x: T.sqrt(T.sum(x**2, axis=1)), [A]),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_the_derivative_is_that_of_finite_differences(name, known):
    build, points = CASES[name]
    verify_grad(build, points, known_shapes=known)


@pytest.mark.parametrize(
    "name", [each for each in CASES if each not in ("product with zeros", "cumprod with zeros")]
)
def test_the_second_derivative_is_that_of_finite_differences(name):
    build, points = CASES[name]
    if any(np.asarray(point).dtype == "float32" for point in points) or "with a zero" in name:
        return

    def gradient(*inputs):
        made = build(*inputs)
        y = T.sum(T.tanh(made * 0.7))
        moving = [each for each in inputs if is_floating(each)]
        found = pull_back({y: T.constant(1.0)}, moving)
        return [g if g is not None else T.zeros_like(x) for g, x in zip(found, moving, strict=True)]

    verify_grad(gradient, points, tolerance=1e-4)


@given(
    shape=st.lists(st.integers(0, 3), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
    keep=st.booleans(),
    data=st.data(),
)
def test_reductions_of_any_shape_and_axes(shape, seed, keep, data):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    x = np.random.default_rng(seed).normal(size=shape)
    for reduction in (T.sum, T.prod, *((T.max, T.min) if x.size else ())):
        verify_grad(lambda v, r=reduction: r(v, axis=tuple(axes), keepdims=keep), [x], tolerance=1e-4)


def test_equal_largest_elements_share_the_derivative():
    x = T.vector("x")
    (g,) = pull_back({T.max(x): T.constant(1.0)}, [x])
    assert g.eval({x: [2.0, 1.0, 2.0]}).tolist() == [0.5, 0.0, 0.5]


def test_shapes_and_indices_are_not_connected():
    x = T.vector("x")
    y = T.alloc(1.0, x.shape[0]) * T.cast(x.shape[0], "float64")
    assert pull_back({T.sum(y): T.constant(1.0)}, [x]) == [None]
    assert pull_back({T.sum(V[0] * T.arange(x[0])): T.constant(1.0)}, [x]) == [None]


def test_barriers_stop_zero_and_limit_derivatives():
    x = T.scalar("x")
    one = T.constant(1.0)
    assert pull_back({scanviz.disconnected_grad(x) * 2: one}, [x]) == [None]
    assert pull_back({scanviz.zero_grad(x) * 2: one}, [x]) == [None]
    (g,) = pull_back({scanviz.grad_clip(x, -1.5, 1.5) * 2: one}, [x])
    assert float(g.eval({x: 3.0})) == 1.5
    f = scanviz.function([x], [scanviz.disconnected_grad(x) + 1, scanviz.grad_clip(x, 0, 1)])
    assert [float(each) for each in f(4.0)] == [5.0, 4.0]
    assert all(
        instruction.op.name not in ("disconnected_grad", "grad_clip")
        for instruction in f.program.instructions
    )


def test_bounds_of_grad_clip_must_be_an_interval():
    with pytest.raises(scanviz.ScanvizError, match="interval"):
        scanviz.grad_clip(T.scalar(), 1, -1)
