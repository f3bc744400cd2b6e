"""Expressions are written as mathematics, with the parentheses that they need and no others."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import describe
from scanviz.engine.graph.notation import LONGEST

h, W, i, t = T.dvector("h"), T.dmatrix("W"), T.lvector("i"), T.lscalar("t")
ROWS = T.tensor3("rows")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (1 - h**2, "1 - h²"),
        (1 - T.square(h), "1 - h²"),
        ((1 - h) ** 3, "(1 - h)³"),
        (h**-2, "h⁻²"),
        (h ** (h + 1), "h ** (h + 1)"),
        (-(h + 1), "-(h + 1)"),
        (-h * 2, "-h * 2"),
        ((-h) ** 2, "(-h)²"),
        (h - (h - 1), "h - (h - 1)"),
        (h - h - 1, "h - h - 1"),
        (h + (h + 1), "h + h + 1"),
        (h / (h * h), "h / (h * h)"),
        ((h > 0) & (h < 1), "(h > 0) & (h < 1)"),
        (T.reciprocal(1 + h), "1 / (1 + h)"),
        (T.tanh(h[1:] + 1), "tanh(h[1:] + 1)"),
        ((h + 1)[t], "(h + 1)[t]"),
        (h[i], "h[i]"),
        (W[t, 1:t], "W[t, 1:t]"),
        (W.T, "W.T"),
        (W.shape[0] + 1, "W.shape[0] + 1"),
        (T.dot(h, W.T), "dot(h, W.T)"),
        (ROWS.transpose(0, 2, 1) * 2, "rows.transpose(0, 2, 1) * 2"),
        (T.inc_subtensor(h[1:], 2.0), "h[1:] += 2"),
        (T.set_subtensor(T.zeros(3)[t], 1.0), "zeros[t] = 1"),
        (h[None, :] * W, "h[None] * W"),
        (T.cast(h, "float32") * 2, "float32(h) * 2"),
        (T.alloc(h, 3, t), "full((3, t), h)"),
        (T.zeros(3), "zeros(3)"),
        (T.zeros((W.shape[0], T.iscalar("n"))), "zeros((W.shape[0], n))"),
        (T.ones((t, 2)), "ones((t, 2))"),
        (T.zeros_like(W) + 1, "0 + 1"),
        (T.outer(h, h + 1), "h[:, None] * (h + 1)"),
        (T.einsum("i,j->ij", h, h), "h[:, None] * h"),
        (T.expand_dims(W, (1, 3)) * ROWS, "W[:, None, :, None] * rows"),
        (T.sum(W, axis=1) * 2, "sum(W, axis=1) * 2"),
        (T.sum(W) * 2, "sum(W) * 2"),
        (T.max(ROWS, axis=(0, 2)), "max(rows, axis=(0, 2))"),
        (T.inner(W, W), "tensordot(W, W, axes=(1, 1))"),
        (T.sum(W, axis=0), "sum(W, axis=0)"),
        (T.sum(h, axis=0), "sum(h)"),
        (T.max(ROWS, axis=(0, 1)), "max(rows, axis=(0, 1))"),
        (T.sum(W, axis=0, keepdims=True) * W, "sum(W, axis=0, keepdims=True) * W"),
        (T.sum(W, keepdims=True), "sum(W, keepdims=True)"),
        (T.argmax(W, axis=0), "argmax(W, axis=0)"),
        (T.argmax(W), "argmax(W)"),
        (T.argmin(h, axis=0, keepdims=True), "argmin(h, keepdims=True)"),
        (T.cumsum(W, axis=1), "cumsum(W, axis=1)"),
        (T.tile(h, 3), "tile(h, 3)"),
        (T.tile(h + 1, (2, t)) * W, "tile(h + 1, (2, t)) * W"),
        (T.tile(W, (1, t + 1)), "tile(W, (1, t + 1))"),
        (W.reshape((2, 3)) + 1, "reshape(W, (2, 3)) + 1"),
        (W.reshape((t, -1)), "reshape(W, (t, -1))"),
        (W.ravel() + 1, "reshape(W, -1) + 1"),
        (T.tril(W), "tril(W)"),
        (T.triu(W, 1), "triu(W, k=1)"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_expressions_are_written_as_mathematics(expression, text):
    assert describe(expression) == text


def test_long_expressions_are_cut_at_whole_operands():
    long = h
    for k in range(9):
        long = T.tanh(long + k) * h
    text = describe(long)
    assert len(text) <= LONGEST and "…" not in text
    assert not values_named(text) <= {"h"}, "deep operands are named by their operations"


def values_named(text):
    tree = ast.parse(text)
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called}


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: -a,
    lambda a, b: T.tanh(a) if isinstance(a, scanviz.Variable) else np.tanh(a),
]


@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 9), st.integers(0, 9)), max_size=6))
@pytest.mark.filterwarnings("ignore")
def test_a_short_description_evaluates_to_the_expressions_value(steps):
    a, b = T.dscalar("a"), T.dscalar("b")
    symbols, numbers = [a, b], [np.float64(1.7), np.float64(-0.6)]
    for operation, one, other in steps:
        operands = one % len(symbols), other % len(symbols)
        symbols.append(operation(*(symbols[k] for k in operands)))
        numbers.append(operation(*(numbers[k] for k in operands)))
    text = describe(symbols[-1])
    if values_named(text) <= {"a", "b"}:
        read = eval(text, {"tanh": np.tanh}, {"a": np.float64(1.7), "b": np.float64(-0.6)})
        np.testing.assert_allclose(read, numbers[-1], rtol=1e-9)
