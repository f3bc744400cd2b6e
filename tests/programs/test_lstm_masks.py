"""An LSTM over a batch of padded sequences with a mask a step: values and gradients against back-propagation by hand.

Where the mask is 0 the state of a sequence stays as it is, so what the padding holds must not matter, and its gradient is exactly
zero.

Source: S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997.
"""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T

BATCH, STEPS, WIDE, HIDDEN = 3, 7, 2, 4
LENGTHS = (7, 3, 1)
TIERS = [Mode(backend, rewrites) for backend in ("numpy", "reference") for rewrites in ("all", "none")]


def case(seed, lengths=LENGTHS):
    """Return inputs (steps, batch, wide) with rubbish as padding, the mask, and the weights."""
    rng = np.random.default_rng(seed)
    mask = np.arange(max(lengths))[:, None] < np.array(lengths)
    x = np.where(mask[..., None], rng.normal(size=(*mask.shape, WIDE)), 30.0)
    w, u = rng.normal(size=(WIDE, 4 * HIDDEN)), rng.normal(size=(HIDDEN, 4 * HIDDEN)) * 0.5
    return x, mask, w, u, rng.normal(size=4 * HIDDEN)


def cost_of(x, mask, w, u, b):
    """Return the cost: the sum of squares of the last states, and of all states of steps that count, tanh taken."""
    zeros = T.zeros((x.shape[1], HIDDEN))

    def step(x_t, mask_t, h, c):
        gates = T.dot(x_t, w) + T.dot(h, u) + b
        i, f, o = (T.sigmoid(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
        c_t = f * c + i * T.tanh(gates[:, 3 * HIDDEN :])
        counts = mask_t[:, None]
        return T.where(counts, o * T.tanh(c_t), h), T.where(counts, c_t, c)

    (h, _), _ = scanviz.scan(step, [x, mask], [zeros, zeros], name="lstm")
    return T.sum(h[-1] ** 2) + T.sum(T.where(mask[:, :, None], T.tanh(h), 0.0)), h


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(x, mask, w, u, b):
    """Return the cost, the states and the gradients with respect to x, w, u and b, written out."""
    h, c = np.zeros((x.shape[1], HIDDEN)), np.zeros((x.shape[1], HIDDEN))
    kept, states = [], []
    for x_t, mask_t in zip(x, mask[..., None], strict=True):
        gates = x_t @ w + h @ u + b
        i, f, o = (sigmoid(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
        g = np.tanh(gates[:, 3 * HIDDEN :])
        new = f * c + i * g
        kept.append((x_t, mask_t, h, c, i, f, o, g, new))
        h, c = np.where(mask_t, o * np.tanh(new), h), np.where(mask_t, new, c)
        states.append(h)
    cost = np.sum(h**2) + sum(np.sum(np.tanh(s) * m) for s, m in zip(states, mask[..., None], strict=True))
    dx, dw, du, db = (np.zeros_like(each) for each in (x, w, u, b))
    dh, dc = 2 * h, np.zeros_like(c)
    for t in reversed(range(len(x))):
        x_t, mask_t, before, c_before, i, f, o, g, new = kept[t]
        dh = dh + mask_t * (1 - np.tanh(states[t]) ** 2)
        out, inner = dh * mask_t, dc * mask_t
        inner = inner + out * o * (1 - np.tanh(new) ** 2)
        parts = (
            inner * g * i * (1 - i),
            inner * c_before * f * (1 - f),
            out * np.tanh(new) * o * (1 - o),
            inner * i * (1 - g**2),
        )
        gates = np.concatenate(parts, axis=1)
        dx[t], dw, du, db = gates @ w.T, dw + x_t.T @ gates, du + before.T @ gates, db + gates.sum(0)
        dh, dc = dh * ~mask_t + gates @ u.T, dc * ~mask_t + inner * f
    return cost, np.array(states), dx, dw, du, db


@pytest.fixture
def program():
    inputs = [
        T.tensor3("x"),
        T.tensor("bool", (None, None), "mask"),
        T.matrix("w"),
        T.matrix("u"),
        T.vector("b"),
    ]
    cost, h = cost_of(*inputs)
    return inputs, [cost, h, *scanviz.grad(cost, [inputs[0], *inputs[2:]])]


@pytest.mark.parametrize("mode", TIERS, ids=str)
def test_values_and_gradients_agree_with_handwritten_ones(program, mode):
    f = scanviz.function(*program, mode=mode)
    for seed, lengths in enumerate([LENGTHS, (2, 5, 5, 1), (4,)]):
        values = case(seed, lengths)
        for mine, theirs in zip(f(*values), by_hand(*values), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)


def test_a_mask_of_multiplications_gives_the_same_in_the_mean_over_lengths():
    """The mean of a state over the steps that count, by sum over length; one sequence has no step at all."""
    h, mask = T.matrix("h"), T.matrix("mask")
    length = T.sum(mask, 0)
    means = T.where(length > 0, T.sum(h * mask, 0) / length, 0.0)
    spread = T.sqrt(T.sum(mask * (h - means) ** 2, 0)) * (length > 0)
    gradient = scanviz.grad(T.sum(means) + T.sum(spread), h)
    found = gradient.eval({h: [[1.0, 2.0], [3.0, 4.0]], mask: [[1.0, 0.0], [1.0, 0.0]]})
    assert np.isfinite(found).all() and not found[:, 1].any()
