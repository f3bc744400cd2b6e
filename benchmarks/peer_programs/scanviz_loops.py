"""In scanviz, as one would write it first: nothing is taken out of the step by hand.  ``MODE`` is the tier."""

from __future__ import annotations

import numpy as np

import scanviz
from scanviz import tensor as T

MODE = "auto"
RHO = 0.8


def _compiled(inputs, outputs):
    return scanviz.function(inputs, outputs, mode=MODE)


def _rows(batch, name):
    """Return an input of one row, or of a batch of rows."""
    return T.vector(name) if batch == 1 else T.matrix(name)


def _steps(batch, name):
    return T.matrix(name) if batch == 1 else T.tensor3(name)


def power(size, steps):
    a, k = T.vector("a"), T.lscalar("k")
    rows, _ = scanviz.scan(
        lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k, name="power"
    )
    return _compiled([a, k], [rows[-1]])


def cumulative_sum(steps):
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, s: s + x_t, x, 0.0, name="sum")
    return _compiled([x], [rows])


def two_taps(steps):
    x = T.vector("x")
    start = dict(initial=T.zeros((2,)), taps=[-2, -1])
    rows, _ = scanviz.scan(lambda x_t, older, newer: 0.5 * newer - 0.3 * older + x_t, x, start, name="taps")
    return _compiled([x], [rows])


def _leaky_tanh():
    x, h = T.matrix("x"), T.vector("h")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(0.9 * h + 0.1 * x_t), x, h, name="leaky")
    return [x, h], rows


def leaky_tanh(width, steps):
    inputs, rows = _leaky_tanh()
    return _compiled(inputs, [rows])


def leaky_tanh_gradient(width, steps):
    inputs, rows = _leaky_tanh()
    cost = T.mean(rows * rows)
    return _compiled(inputs, [cost, *scanviz.grad(cost, inputs)])


def _rnn(batch):
    x, h, W, U = _steps(batch, "x"), _rows(batch, "h"), T.matrix("W"), T.matrix("U")
    rows, _ = scanviz.scan(lambda x_t, h, W, U: T.tanh(T.dot(x_t, W) + T.dot(h, U)), x, h, [W, U], name="rnn")
    return [x, h, W, U], rows


def rnn(size, batch, steps):
    inputs, rows = _rnn(batch)
    return _compiled(inputs, [rows])


def rnn_gradient(size, batch, steps):
    inputs, rows = _rnn(batch)
    cost = T.mean(rows * rows)
    return _compiled(inputs, [cost, *scanviz.grad(cost, inputs[2:])])


def taps_rnn(size, steps):
    x, start, W, U, V = T.matrix("x"), T.matrix("start"), T.matrix("W"), T.matrix("U"), T.matrix("V")

    def step(x_t, older, newer):
        return T.tanh(T.dot(x_t, W) + T.dot(newer, U) + T.dot(older, V))

    rows, _ = scanviz.scan(step, x, dict(initial=start, taps=[-2, -1]), name="taps")
    return _compiled([x, start, W, U, V], [rows])


def _lstm(size, batch):
    x, h, c = _steps(batch, "x"), _rows(batch, "h"), _rows(batch, "c")
    W, U, b = T.matrix("W"), T.matrix("U"), T.vector("b")

    def step(x_t, h, c):
        gates = T.dot(x_t, W) + T.dot(h, U) + b
        i, f, o = (T.sigmoid(gates[..., k * size : (k + 1) * size]) for k in range(3))
        c = f * c + i * T.tanh(gates[..., 3 * size :])
        return o * T.tanh(c), c

    (rows, _), _ = scanviz.scan(step, x, [h, c], name="lstm")
    return [x, h, c, W, U, b], rows


def lstm(size, batch, steps):
    inputs, rows = _lstm(size, batch)
    return _compiled(inputs, [rows])


def lstm_gradient(size, batch, steps):
    inputs, rows = _lstm(size, batch)
    cost = T.mean(rows * rows)
    return _compiled(inputs, [cost, *scanviz.grad(cost, inputs[3:])])


def _linear():
    a, b, h = T.matrix("a"), T.matrix("b"), T.vector("h")
    rows, _ = scanviz.scan(lambda a_t, b_t, h: a_t * h + b_t, [a, b], h, name="linear")
    return [a, b, h], rows


def linear(width, steps):
    inputs, rows = _linear()
    return _compiled(inputs, [rows])


def linear_gradient(width, steps):
    inputs, rows = _linear()
    cost = T.mean(rows * rows)
    return _compiled(inputs, [cost, *scanviz.grad(cost, inputs[:2])])


def kalman(steps):
    z, x, P = T.matrix("z"), T.vector("x"), T.matrix("P")
    F, H, Q, R = (T.matrix(name) for name in "FHQR")

    def step(z_t, x, P):
        x, P = T.dot(F, x), T.dot(T.dot(F, P), F.T) + Q
        K = T.linalg.solve(T.dot(T.dot(H, P), H.T) + R, T.dot(H, P)).T
        return x + T.dot(K, z_t - T.dot(H, x)), T.dot(np.eye(4) - T.dot(K, H), P)

    (rows, _), _ = scanviz.scan(step, z, [x, P], name="kalman")
    return _compiled([z, x, P, F, H, Q, R], [rows])


def gibbs(steps):
    n, streams = T.lscalar("n"), T.random.RandomStreams(1)
    spread = (1 - RHO * RHO) ** 0.5

    def step(x, y):
        x = RHO * y + spread * streams.normal()
        return x, RHO * x + spread * streams.normal()

    (x, y), updates = scanviz.scan(step, None, [np.float64(0), np.float64(0)], n_steps=n, name="gibbs")
    return scanviz.function([n], [T.stack([x, y], axis=1)], updates=updates, mode=MODE)
