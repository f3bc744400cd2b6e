"""By hand, in Numba: loops over numbers, and BLAS for products of matrices."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np

RHO = 0.8
compiled = partial(numba.njit, fastmath=True)


def power(size, steps):
    @compiled
    def run(a, k):
        p = np.ones_like(a)
        for _ in range(k):
            for j in range(a.size):
                p[j] *= a[j]
        return [p]

    return run


def cumulative_sum(steps):
    @compiled
    def run(x):
        rows, s = np.empty_like(x), 0.0
        for t in range(x.size):
            s += x[t]
            rows[t] = s
        return [rows]

    return run


def two_taps(steps):
    @compiled
    def run(x):
        rows, older, newer = np.empty_like(x), 0.0, 0.0
        for t in range(x.size):
            older, newer = newer, 0.5 * newer - 0.3 * older + x[t]
            rows[t] = newer
        return [rows]

    return run


def leaky_tanh(width, steps):
    @compiled
    def run(x, h):
        rows = np.empty_like(x)
        for t in range(x.shape[0]):
            for j in range(x.shape[1]):
                rows[t, j] = np.tanh(0.9 * (rows[t - 1, j] if t else h[j]) + 0.1 * x[t, j])
        return [rows]

    return run


def rnn(size, batch, steps):
    @compiled
    def run(x, h, W, U):
        rows = np.empty_like(x)
        for t in range(x.shape[0]):
            h = np.tanh(np.dot(x[t], W) + np.dot(h, U))
            rows[t] = h
        return [rows]

    return run


def rnn_gradient(size, batch, steps):
    forward = rnn(size, batch, steps)

    @compiled
    def run(x, h0, W, U):
        h = forward(x, h0, W, U)[0]
        dz, g, turned = np.empty_like(h), np.zeros_like(h0), U.T.copy()
        for t in range(x.shape[0] - 1, -1, -1):
            dz[t] = (2 * h[t] / h.size + g) * (1 - h[t] * h[t])
            g = np.dot(dz[t], turned)
        before = np.empty_like(h)
        before[0], before[1:] = h0, h[:-1]
        rows = x.size // size
        flat = dz.reshape(rows, size)
        first = np.dot(x.reshape(rows, size).T, flat)
        return [np.full((1, 1), np.mean(h * h)), first, np.dot(before.reshape(rows, size).T, flat)]

    return run


def taps_rnn(size, steps):
    @compiled
    def run(x, start, W, U, V):
        rows = np.empty((x.shape[0] + 2, size))
        rows[:2] = start
        for t in range(x.shape[0]):
            rows[t + 2] = np.tanh(np.dot(x[t], W) + np.dot(rows[t + 1], U) + np.dot(rows[t], V))
        return [rows[2:]]

    return run


def lstm(size, batch, steps):
    @compiled
    def run(x, h, c, W, U, b):
        rows = np.empty_like(x)
        for t in range(x.shape[0]):
            gates = np.dot(x[t], W) + np.dot(h, U) + b
            i = 1 / (1 + np.exp(-gates[..., :size]))
            f = 1 / (1 + np.exp(-gates[..., size : 2 * size]))
            o = 1 / (1 + np.exp(-gates[..., 2 * size : 3 * size]))
            c = f * c + i * np.tanh(gates[..., 3 * size :])
            h = o * np.tanh(c)
            rows[t] = h
        return [rows]

    return run


def linear(width, steps):
    @compiled
    def run(a, b, h):
        rows = np.empty_like(a)
        for t in range(a.shape[0]):
            for j in range(a.shape[1]):
                rows[t, j] = a[t, j] * (rows[t - 1, j] if t else h[j]) + b[t, j]
        return [rows]

    return run


def linear_gradient(width, steps):
    forward = linear(width, steps)

    @compiled
    def run(a, b, h0):
        h = forward(a, b, h0)[0]
        da, db, g = np.empty_like(h), np.empty_like(h), np.zeros(width)
        for t in range(a.shape[0] - 1, -1, -1):
            for j in range(width):
                db[t, j] = 2 * h[t, j] / h.size + g[j]
                da[t, j] = db[t, j] * (h[t - 1, j] if t else h0[j])
                g[j] = db[t, j] * a[t, j]
        return [np.full((1, 1), np.mean(h * h)), da, db]

    return run


def kalman(steps):
    @compiled
    def run(z, x, P, F, H, Q, R):
        rows, one = np.empty((z.shape[0], 4)), np.eye(4)
        for t in range(z.shape[0]):
            x, P = np.dot(F, x), np.dot(np.dot(F, P), F.T) + Q
            S = np.dot(np.dot(H, P), H.T) + R
            inverse = np.array([[S[1, 1], -S[0, 1]], [-S[1, 0], S[0, 0]]]) / (
                S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
            )
            K = np.dot(inverse, np.dot(H, P)).T.copy()
            x, P = x + np.dot(K, z[t] - np.dot(H, x)), np.dot(one - np.dot(K, H), P)
            rows[t] = x
        return [rows]

    return run


def gibbs(steps):
    @compiled
    def run(n):
        rows, x, y = np.empty((n, 2)), 0.0, 0.0
        spread = (1 - RHO * RHO) ** 0.5
        for t in range(n):
            x = RHO * y + spread * np.random.standard_normal()
            y = RHO * x + spread * np.random.standard_normal()
            rows[t, 0], rows[t, 1] = x, y
        return [rows]

    return run
