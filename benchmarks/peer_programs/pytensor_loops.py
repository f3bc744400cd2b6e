"""In PyTensor, as one would write it first.  ``MODE`` names the backend: NUMBA or CVM."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt

MODE = "NUMBA"
RHO = 0.8


def _scan(*given, **named):
    return pytensor.scan(*given, return_updates=False, **named)


def _compiled(inputs, outputs, updates=None):
    return pytensor.function(inputs, outputs, updates=updates, mode=MODE, on_unused_input="ignore")


def _rows(batch, name):
    return pt.dvector(name) if batch == 1 else pt.dmatrix(name)


def _steps(batch, name):
    return pt.dmatrix(name) if batch == 1 else pt.dtensor3(name)


def power(size, steps):
    a, k = pt.dvector("a"), pt.lscalar("k")
    rows = _scan(lambda p, a: p * a, outputs_info=pt.ones_like(a), non_sequences=a, n_steps=k)
    return _compiled([a, k], [rows[-1]])


def cumulative_sum(steps):
    x = pt.dvector("x")
    rows = _scan(lambda x_t, s: s + x_t, x, pt.constant(0.0, dtype="float64"))
    return _compiled([x], [rows])


def two_taps(steps):
    x = pt.dvector("x")
    start = dict(initial=pt.zeros(2), taps=[-2, -1])
    rows = _scan(lambda x_t, older, newer: 0.5 * newer - 0.3 * older + x_t, x, start)
    return _compiled([x], [rows])


def _leaky_tanh():
    x, h = pt.dmatrix("x"), pt.dvector("h")
    return [x, h], _scan(lambda x_t, h: pt.tanh(0.9 * h + 0.1 * x_t), x, h)


def leaky_tanh(width, steps):
    inputs, rows = _leaky_tanh()
    return _compiled(inputs, [rows])


def _gradient(inputs, rows, wanted):
    cost = pt.mean(rows * rows)
    return _compiled(inputs, [cost, *pytensor.grad(cost, wanted)])


def leaky_tanh_gradient(width, steps):
    inputs, rows = _leaky_tanh()
    return _gradient(inputs, rows, inputs)


def _rnn(batch):
    x, h, W, U = _steps(batch, "x"), _rows(batch, "h"), pt.dmatrix("W"), pt.dmatrix("U")
    return [x, h, W, U], _scan(lambda x_t, h, W, U: pt.tanh(pt.dot(x_t, W) + pt.dot(h, U)), x, h, [W, U])


def rnn(size, batch, steps):
    inputs, rows = _rnn(batch)
    return _compiled(inputs, [rows])


def rnn_gradient(size, batch, steps):
    inputs, rows = _rnn(batch)
    return _gradient(inputs, rows, inputs[2:])


def taps_rnn(size, steps):
    x, start, W, U, V = (pt.dmatrix(name) for name in ("x", "start", "W", "U", "V"))

    def step(x_t, older, newer, W, U, V):
        return pt.tanh(pt.dot(x_t, W) + pt.dot(newer, U) + pt.dot(older, V))

    return _compiled([x, start, W, U, V], [_scan(step, x, dict(initial=start, taps=[-2, -1]), [W, U, V])])


def _lstm(size, batch):
    x, h, c = _steps(batch, "x"), _rows(batch, "h"), _rows(batch, "c")
    W, U, b = pt.dmatrix("W"), pt.dmatrix("U"), pt.dvector("b")

    def step(x_t, h, c, W, U, b):
        gates = pt.dot(x_t, W) + pt.dot(h, U) + b
        i, f, o = (pt.sigmoid(gates[..., k * size : (k + 1) * size]) for k in range(3))
        c = f * c + i * pt.tanh(gates[..., 3 * size :])
        return o * pt.tanh(c), c

    rows, _ = _scan(step, x, [h, c], [W, U, b])
    return [x, h, c, W, U, b], rows


def lstm(size, batch, steps):
    inputs, rows = _lstm(size, batch)
    return _compiled(inputs, [rows])


def lstm_gradient(size, batch, steps):
    inputs, rows = _lstm(size, batch)
    return _gradient(inputs, rows, inputs[3:])


def _linear():
    a, b, h = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("h")
    return [a, b, h], _scan(lambda a_t, b_t, h: a_t * h + b_t, [a, b], h)


def linear(width, steps):
    inputs, rows = _linear()
    return _compiled(inputs, [rows])


def linear_gradient(width, steps):
    inputs, rows = _linear()
    return _gradient(inputs, rows, inputs[:2])


def kalman(steps):
    z, x, P = pt.dmatrix("z"), pt.dvector("x"), pt.dmatrix("P")
    constants = [pt.dmatrix(name) for name in "FHQR"]

    def step(z_t, x, P, F, H, Q, R):
        x, P = pt.dot(F, x), pt.dot(pt.dot(F, P), F.T) + Q
        K = pt.linalg.solve(pt.dot(pt.dot(H, P), H.T) + R, pt.dot(H, P)).T
        return x + pt.dot(K, z_t - pt.dot(H, x)), pt.dot(np.eye(4) - pt.dot(K, H), P)

    rows, _ = _scan(step, z, [x, P], constants)
    return _compiled([z, x, P, *constants], [rows])


def gibbs(steps):
    n, rng = pt.lscalar("n"), pytensor.shared(np.random.default_rng(1))
    spread, zero = (1 - RHO * RHO) ** 0.5, pt.constant(0.0, dtype="float64")

    def step(x, y, rng):
        rng, first = pt.random.normal(0.0, 1.0, rng=rng).owner.outputs
        rng, second = pt.random.normal(0.0, 1.0, rng=rng).owner.outputs
        x = RHO * y + spread * first
        return x, RHO * x + spread * second, rng

    x, y, last = _scan(step, None, [zero, zero, rng], n_steps=n)
    return _compiled([n], [pt.stack([x, y], axis=1)], {rng: last})
