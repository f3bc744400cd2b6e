"""Small arrays in registers agree with the reference tier, for any step."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T

RNG = np.random.default_rng(0)
STEPS = 5


def lorenz(s):
    x, y, z = s[0], s[1], s[2]
    return T.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])


def runge_kutta(s):
    a = lorenz(s)
    b = lorenz(s + 0.005 * a)
    return s + 0.01 / 6 * (a + 2 * b)


def changed(s):
    s = T.set_subtensor(s[1], s[0] * 0.5)
    s = T.inc_subtensor(s[1:], s[-1])
    return T.concatenate([s[1:], s[:1]])


def summed(s):
    return s / (1.0 + T.sum(s * s)) + T.max(s) * 0.25


def sorted_by_a_branch(s):
    return T.where(s > T.mean(s), s * 0.5, s + 0.25)


def turned(s):
    return T.dot(s, T.constant(np.linspace(-1, 1, 9).reshape(3, 3))) * 0.5 + s[::-1]


def cumulated(s):
    return T.cumsum(s) * 0.25 + T.exp(-s)


STEPS_OF_VECTORS = [runge_kutta, changed, summed, sorted_by_a_branch, turned, cumulated]


def agree(inputs, outputs, *values, rewrites="all", tolerance=1e-13):
    native = scanviz.function(inputs, outputs, mode=Mode("native", rewrites), on_unused_input="ignore")
    expected = scanviz.function(inputs, outputs, mode=Mode("reference", "none"), on_unused_input="ignore")(
        *values
    )
    for mine, theirs in zip(native(*values), expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    return native


@pytest.mark.parametrize("step", STEPS_OF_VECTORS)
@pytest.mark.parametrize("steps", [0, 1, STEPS])
def test_a_small_state_and_its_gradient_agree_with_numpy(step, steps):
    start, n = T.vector("start"), T.lscalar("n")
    rows, _ = scanviz.scan(step, None, start, n_steps=n, name="small")
    value = np.array([1.0, 0.5, 0.25])
    agree([start, n], [rows], value, steps)
    if steps:
        agree([start, n], [rows[-1]], value, steps)
        agree([start, n], [rows[-2:]], value, max(2, steps))
    if steps <= STEPS:
        agree([start, n], [scanviz.grad(T.sum(rows * rows), start)], value, steps, tolerance=1e-10)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
def test_small_rows_of_every_size_and_dtype_agree_with_numpy(size, dtype):
    start, x = T.tensor(dtype, (None,), "start"), T.tensor(dtype, (None, None), "x")
    if dtype == "bool":
        rows, _ = scanviz.scan(lambda x_t, s: x_t ^ s[::-1], x, start)
        given = [RNG.integers(0, 2, shape).astype(bool) for shape in ((size,), (STEPS, size))]
    else:
        rows, _ = scanviz.scan(lambda x_t, s: T.cast(x_t - s[::-1] * s, dtype), x, start)
        given = [RNG.integers(-2, 3, shape).astype(dtype) for shape in ((size,), (STEPS, size))]
    agree([start, x], [rows, rows[-1]], *given, tolerance=0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_recurrences_of_small_matrices_agree_with_numpy(size):
    A, P, B = T.matrix("A"), T.matrix("P"), T.matrix("B")
    given = [RNG.normal(size=(size, size)) * 0.4 for _ in range(3)]
    for step in (
        lambda P, A, B: T.dot(A, P),
        lambda P, A, B: T.dot(P, A.T) + T.eye(size),
        lambda P, A, B: T.dot(T.dot(A, P), A.T) + B,
        lambda P, A, B: T.dot(P.T, P) * 0.1 + T.sum(P, axis=0) + T.dot(B, P[0]),
        lambda P, A, B: T.dot(A, P)[::-1] + T.max(P, axis=1, keepdims=True) + P.T,
    ):
        rows, _ = scanviz.scan(step, None, P, [A, B], n_steps=STEPS)
        agree([A, P, B], [rows, rows[-1]], *given)
        agree([A, P, B], [scanviz.grad(T.sum(rows[-1] * B), P)], *given, tolerance=1e-11)


def test_no_load_waits_for_a_store_in_a_loop_of_a_small_vector():
    start = T.vector("start")
    rows, _ = scanviz.scan(runge_kutta, None, start, n_steps=STEPS)
    f = scanviz.function([start], rows, mode="native")
    f(np.ones(3))
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    text = made.written("plain").text
    step = text.split("icmp slt")[-1].split("br label")[0]
    assert "store double" in step and "load double" not in step


@pytest.mark.parametrize("taps", [[-1, -2], [-1, -3], [-2, -4], [-1, -2, -3, -5, -6]])
def test_accumulated_scalar_gradients_stay_in_registers(taps):
    x, h = T.vector("x"), T.vector("h")
    rows, _ = scanviz.scan(
        lambda x_t, *before: x_t * 0.5 + T.sin(sum(before)) * 0.7,
        x,
        {"initial": h, "taps": taps},
        name="filter",
    )
    given = RNG.normal(size=40), RNG.normal(size=-min(taps))
    agree([x, h], [scanviz.grad(T.sum(rows**2), each) for each in (x, h)], *given, tolerance=1e-12)


def test_no_load_waits_for_a_store_in_the_gradient_of_a_loop_of_numbers():
    x = T.vector("x")
    start = {"initial": T.zeros(2), "taps": [-1, -2]}
    rows, _ = scanviz.scan(lambda x_t, y1, y2: x_t + 0.5 * y1 - 0.1 * y2, x, start, name="filter")
    f = scanviz.function([x], scanviz.grad(T.sum(rows**2), x), mode="native")
    f(np.ones(30))
    _, runner = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    step = made.written("plain").text.split("icmp slt")[-1].split("br label")[0]
    assert step.count("load double") == 1  # the row that no step before has written to


def test_chunks_continue_from_stored_rows():
    start = T.vector("start")
    rows, _ = scanviz.scan(runge_kutta, None, start, n_steps=600)
    agree([start], [rows], np.ones(3), tolerance=1e-9)
