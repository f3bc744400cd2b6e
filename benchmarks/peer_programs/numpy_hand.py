"""By hand, in NumPy: rows written into arrays that are made before the loop."""

from __future__ import annotations

import numpy as np

RHO = 0.8


def power(size, steps):
    def run(a, k):
        p = np.ones_like(a)
        for _ in range(k):
            p *= a
        return [p]

    return run


def cumulative_sum(steps):
    def run(x):
        rows, s = np.empty_like(x), 0.0
        for t, x_t in enumerate(x.tolist()):
            s += x_t
            rows[t] = s
        return [rows]

    return run


def two_taps(steps):
    def run(x):
        rows, older, newer = np.empty_like(x), 0.0, 0.0
        for t, x_t in enumerate(x.tolist()):
            older, newer = newer, 0.5 * newer - 0.3 * older + x_t
            rows[t] = newer
        return [rows]

    return run


def leaky_tanh(width, steps):
    def run(x, h):
        rows, scaled = np.empty_like(x), np.empty_like(h)
        for x_t, row in zip(x, rows, strict=True):
            np.multiply(h, 0.9, scaled)
            np.multiply(x_t, 0.1, row)
            np.add(row, scaled, row)
            h = np.tanh(row, row)
        return [rows]

    return run


def rnn(size, batch, steps):
    def run(x, h, W, U):
        rows, product = np.empty_like(x), np.empty_like(h)
        for x_t, row in zip(x, rows, strict=True):
            np.dot(x_t, W, product)
            np.dot(h, U, row)
            np.add(row, product, row)
            h = np.tanh(row, row)
        return [rows]

    return run


def rnn_gradient(size, batch, steps):
    forward = rnn(size, batch, steps)

    def run(x, h0, W, U):
        (h,) = forward(x, h0, W, U)
        before = np.concatenate([h0[None], h[:-1]])
        dz, g, carried = np.empty_like(h), np.zeros_like(h0), 2 * h / h.size
        for t in range(len(x) - 1, -1, -1):
            row = dz[t]
            np.add(carried[t], g, row)
            row *= 1 - h[t] * h[t]
            np.dot(row, U.T, g)
        flat = dz.reshape(-1, dz.shape[-1])
        grads = [x.reshape(flat.shape).T @ flat, before.reshape(flat.shape).T @ flat]
        return [np.mean(h * h), *grads]

    return run


def taps_rnn(size, steps):
    def run(x, start, W, U, V):
        rows = np.empty((len(x) + 2, size))
        rows[:2] = start
        for t, x_t in enumerate(x):
            rows[t + 2] = np.tanh(x_t @ W + rows[t + 1] @ U + rows[t] @ V)
        return [rows[2:]]

    return run


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(size, batch, steps):
    def run(x, h, c, W, U, b):
        rows = np.empty_like(x)
        for t, x_t in enumerate(x):
            gates = x_t @ W + h @ U + b
            i, f, o = (_sigmoid(gates[..., k * size : (k + 1) * size]) for k in range(3))
            c = f * c + i * np.tanh(gates[..., 3 * size :])
            h = rows[t] = o * np.tanh(c)
        return [rows]

    return run


def linear(width, steps):
    def run(a, b, h):
        rows = np.empty_like(a)
        for a_t, b_t, row in zip(a, b, rows, strict=True):
            np.multiply(a_t, h, row)
            h = np.add(row, b_t, row)
        return [rows]

    return run


def linear_gradient(width, steps):
    forward = linear(width, steps)

    def run(a, b, h0):
        (h,) = forward(a, b, h0)
        before = np.concatenate([h0[None], h[:-1]])
        db, g = np.empty_like(h), np.zeros(width)
        for t in range(len(a) - 1, -1, -1):
            row = db[t]
            np.multiply(h[t], 2 / h.size, row)
            np.add(row, g, row)
            np.multiply(row, a[t], g)
        return [np.mean(h * h), db * before, db]

    return run


def kalman(steps):
    def run(z, x, P, F, H, Q, R):
        rows, one = np.empty((len(z), 4)), np.eye(4)
        for t, z_t in enumerate(z):
            x, P = F @ x, F @ P @ F.T + Q
            K = np.linalg.solve(H @ P @ H.T + R, H @ P).T
            x, P = x + K @ (z_t - H @ x), (one - K @ H) @ P
            rows[t] = x
        return [rows]

    return run


def gibbs(steps):
    def run(n):
        random, rows = np.random.default_rng(), np.empty((n, 2))
        draw, spread = random.standard_normal, (1 - RHO * RHO) ** 0.5
        x = y = 0.0
        for t in range(n):
            x = RHO * y + spread * draw()
            y = RHO * x + spread * draw()
            rows[t, 0], rows[t, 1] = x, y
        return [rows]

    return run
