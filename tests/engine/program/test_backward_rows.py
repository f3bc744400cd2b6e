"""Rows stored from last to first read the same on every tier, and are never copied."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.program.instructions import all_loops

RULE = "lay_rows_backwards"
drawn = np.random.default_rng(5)


def recurrent(batch: int = 0, dtype: str = "float64") -> tuple[list[Any], Any]:
    """Return the inputs and the rows of a recurrent loop, of rows or of batches of rows."""
    x, h = (T.tensor(dtype, (None,) * (n + (batch > 0))) for n in (2, 1))
    w, u = T.matrix("w", dtype), T.matrix("u", dtype)
    rows, _ = scanviz.scan(lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)), x, h, [w, u], name="rnn")
    return [x, h, w, u], rows


def numbers(batch: int = 0, dtype: str = "float64", steps: int = 7, size: int = 4) -> list[Any]:
    row = (batch, size) if batch else (size,)
    shapes = ((steps, *row), row, (size, size), (size, size))
    return [drawn.normal(size=shape).astype(dtype) / 2 for shape in shapes]


def beside_a_state() -> tuple[Any, Any]:
    """Return the input of a loop, and an output beside its state."""
    x = T.matrix("x")
    (_, made), _ = scanviz.scan(
        lambda x_t, h: (T.tanh(x_t + T.cumsum(h)), T.cumsum(h * x_t)),
        x,
        [T.zeros_like(x[0]), None],
        name="sums",
    )
    return x, made


def backwards(f: Any) -> list[str]:
    """Return the names of the rows that lie backwards."""
    return [slot.name for loop, _ in all_loops(f.program) for slot in loop.step_outputs if slot.backwards]


def agree(inputs: list[Any], outputs: Sequence[Any], given: Sequence[Any], rtol: float = 1e-10) -> Any:
    """Compare several calls on each tier with the graph as it was built; return the native function."""
    expected = scanviz.function(inputs, outputs, mode="reference")(*given)
    for mode in ("numpy", "auto", "native"):
        # outputs that follow from rows leave the loop elsewhere
        f = scanviz.function(inputs, outputs, mode=Mode(mode).excluding("PushOutScanOutput"))
        for _ in range(3):
            for found, wanted in zip(f(*given), expected, strict=True):
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
                np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)
    return f


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_gradients_of_weights_read_rows_in_the_order_of_steps(batch: int, dtype: str) -> None:
    inputs, rows = recurrent(batch, dtype)
    outputs = scanviz.grad(T.sum(rows * rows), inputs)
    f = agree(inputs, outputs, numbers(batch, dtype), 1e-10 if dtype == "float64" else 1e-4)
    assert "∂h[t] * (1 - h[t] * h[t])" in backwards(f)


def test_rows_from_the_last_on_lie_in_order() -> None:
    x, made = beside_a_state()
    f = agree([x], [made[::-1]], [drawn.normal(size=(6, 3))])
    assert backwards(f)
    assert f(np.ones((6, 3)))[0].flags.c_contiguous


def test_rows_returned_to_the_caller_keep_the_usual_order() -> None:
    x, made = beside_a_state()
    f = agree([x], [made[::-1], made], [drawn.normal(size=(6, 3))])
    g = agree([x], [made[::-1], T.sum(made[1:], axis=0)], [drawn.normal(size=(6, 3))])
    h = agree([x], [made[::-1, ::-1], made[::-1] + 1, made.shape[0]], [drawn.normal(size=(6, 3))])
    assert not backwards(f) and not backwards(g) and backwards(h)


def test_loops_that_end_early_lay_rows_forwards() -> None:
    x = T.vector("x")
    made, _ = scanviz.scan(lambda x_t: (T.exp(x_t), scanviz.until(x_t > 1)), x, name="ends")
    f = agree([x], [made[::-1]], [np.array([0.0, 0.5, 2.0, 0.1])])
    assert not backwards(f)


def _linear() -> tuple[list[Any], Any]:
    a, b, h = T.matrix("a"), T.matrix("b"), T.vector("h")
    rows, _ = scanviz.scan(lambda a_t, b_t, h: a_t * h + b_t, [a, b], h, name="linear")
    return [a, b, h], rows


@pytest.mark.parametrize("lengths", [(9, 9), (9, 6), (6, 9), (1, 1)])
def test_a_cotangent_of_all_rows_takes_the_place_of_zeros(lengths: tuple[int, int]) -> None:
    inputs, rows = _linear()
    given = [*(drawn.normal(size=(n, 3)) for n in lengths), drawn.normal(size=3)]
    outputs = scanviz.grad(T.sum(rows * rows), inputs)
    f = agree(inputs, outputs, given)
    for found, value in zip(f(*given), given, strict=True):
        assert found.shape == value.shape and found.flags.writeable


def test_a_zero_that_is_added_to_zeros_has_no_sign() -> None:
    inputs, rows = _linear()
    outputs = scanviz.grad(T.sum(-rows), inputs[:2])
    given = [np.ones((4, 2)), np.zeros((4, 2)), np.zeros(2)]
    signs = [
        [np.signbit(found).tolist() for found in scanviz.function(inputs, outputs, mode=mode)(*given)]
        for mode in ("reference", "numpy", "native")
    ]
    assert signs[0] == signs[1] == signs[2]


def test_cotangents_returned_twice_are_two_arrays() -> None:
    inputs, rows = _linear()
    a, b = scanviz.grad(T.sum(rows * rows), inputs[:2])
    given = [drawn.normal(size=(5, 3)), drawn.normal(size=(5, 3)), drawn.normal(size=3)]
    f = agree(inputs, [a, b, a + b, a, a[::-1]], given)
    first = f(*given)
    kept = [array.copy() for array in first]
    first[0][...] = 7
    for k in (1, 2, 3, 4):
        np.testing.assert_array_equal(first[k], kept[k])


def test_zeros_are_not_written_to() -> None:
    inputs, rows = _linear()
    f = scanviz.function(inputs, scanviz.grad(T.sum(rows * rows), inputs[:2]), mode="numpy")
    assert f.executable.source().count("added_to_zeros(") == 2
