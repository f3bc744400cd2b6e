"""Linear systems and factorisations in native loops, on every instruction set, and the calls of LAPACK."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import NumericalError
from tests.engine.backends.native.emit.test_native_loops import agree, tiers_of

RNG = np.random.default_rng(8)


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def registers(request, monkeypatch):
    """Make code for processors of one level; the widest registers are those that there are."""
    if request.param != "avx512":
        monkeypatch.setenv("SCANVIZ_NATIVE_TARGET", request.param)


def everything(a, b, one):
    """Return what can be done with a matrix and a right side; ``one`` is a unit matrix."""
    positive = T.dot(a, a.T) + one
    return [
        T.linalg.solve(positive, b),
        T.linalg.solve(a, b, assume_a="gen"),
        T.linalg.solve(positive, b, assume_a="pos"),
        T.linalg.solve_triangular(T.linalg.cholesky(positive), b, lower=True),
        T.linalg.inv(a),
        T.linalg.cholesky(positive, lower=False),
        T.linalg.det(a),
        *T.linalg.slogdet(a),
    ]


@pytest.mark.parametrize("size", [1, 4, 11])
def test_small_matrix_operations_are_not_called_out(registers, size):
    a, b = T.tensor3("a"), T.matrix("b")
    results, _ = scanviz.scan(everything, [a, b], non_sequences=np.eye(size))
    given = RNG.normal(size=(3, size, size)) + 2 * size**0.5 * np.eye(size), RNG.normal(size=(3, size))
    f = agree([a, b], results, *given, tolerance=1e-10, rewrites="none")
    assert all("called out" not in why for _, why in tiers_of(f)), tiers_of(f)


def test_batches_with_one_right_side_and_slices_are_solved():
    a, b = T.tensor4("a"), T.matrix("b")

    def step(each):
        return [T.linalg.solve(each, b), T.linalg.inv(each[::-1, 1:, :-1]), T.linalg.det(each.swapaxes(1, 2))]

    results, _ = scanviz.scan(step, a)
    given = RNG.normal(size=(2, 3, 4, 4)) + 3 * np.eye(4), RNG.normal(size=(4, 5))
    agree([a, b], results, *given, tolerance=1e-10, rewrites="none")


def test_whole_numbers_and_two_dtypes_are_computed_in_the_common_floating_one():
    a, b = T.tensor("int64", (None, 3, 3), "a"), T.tensor("float32", (None, 3), "b")
    results, _ = scanviz.scan(lambda a, b: [T.linalg.solve(a, b), T.linalg.inv(a)], [a, b])
    given = (
        RNG.integers(-9, 9, (4, 3, 3)) + 20 * np.eye(3, dtype=int),
        RNG.normal(size=(4, 3)).astype("float32"),
    )
    agree([a, b], results, *given, tolerance=1e-12, rewrites="none")


def kalman():
    """Return a Kalman filter, and values: the gain solves a system in each step."""
    z, x, p, f, h, q, r = (*(T.matrix("z"), T.vector("x")), *map(T.matrix, "pfhqr"))

    def step(z_t, x, p):
        x, p = T.dot(f, x), T.dot(T.dot(f, p), f.T) + q
        gain = T.linalg.solve(T.dot(T.dot(h, p), h.T) + r, T.dot(h, p)).T
        return x + T.dot(gain, z_t - T.dot(h, x)), T.dot(np.eye(4) - T.dot(gain, h), p)

    (rows, _), _ = scanviz.scan(step, z, [x, p], name="kalman")
    moves = np.eye(4) + 0.01 * np.eye(4, k=2)
    return [z, x, p, f, h, q, r], rows, [
        RNG.normal(size=(9, 2)), np.zeros(4), np.eye(4), moves, np.eye(2, 4), 1e-3 * np.eye(4), np.eye(2)
    ]  # fmt: skip


def test_a_kalman_filter_and_its_gradient_are_native():
    inputs, rows, values = kalman()
    cost = T.sum(rows * rows)
    f = agree(inputs, [rows, *scanviz.grad(cost, inputs[3:])], *values, tolerance=1e-9)
    assert len(tiers_of(f)) == 2 and all("called out" not in why for _, why in tiers_of(f)), tiers_of(f)


@pytest.mark.parametrize("operation", [T.linalg.inv, T.linalg.cholesky])
def test_a_matrix_that_cannot_be_factorised_is_named_with_its_step(operation):
    a, text = T.tensor3("a"), []
    found, _ = scanviz.scan(operation, a, name="systems")
    matrices = np.stack([9.0 * np.eye(3)] * 5)
    matrices[3, 2] = -matrices[3, 1]
    for mode in ("native", "reference"):
        with pytest.raises(NumericalError, match="step 3") as error:
            scanviz.function([a], found, mode=Mode(mode, "none"))(matrices)
        text.append(str(error.value))
    assert text[0] == text[1]


def test_large_matrices_are_called_out():
    a, b = T.tensor3("a"), T.matrix("b")
    found, _ = scanviz.scan(lambda a, b: T.tanh(T.linalg.solve(a, T.sin(b) + T.cos(b) * 2.0)) / 3.0, [a, b])
    given = RNG.normal(size=(2, 33, 33)) + 9 * np.eye(33), RNG.normal(size=(2, 33))
    f = agree([a, b], found, *given, tolerance=1e-9, rewrites="none")
    assert "left to LAPACK" in tiers_of(f)[0][1]
