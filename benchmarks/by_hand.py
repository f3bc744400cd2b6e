"""Loops written by hand in NumPy as well as one can: everything preallocated, ``out=`` everywhere, names bound locally."""

from __future__ import annotations

import numpy as np


def power(a, steps):
    result = np.ones_like(a)
    multiply = np.multiply
    for _ in range(steps):
        multiply(result, a, result)
    return result


def leaky_tanh(x, h0):
    out, a, b = np.empty_like(x), np.empty_like(h0), np.empty_like(h0)
    h, tanh, multiply, add = h0, np.tanh, np.multiply, np.add
    for t in range(len(x)):
        multiply(0.9, h, a)
        multiply(0.1, x[t], b)
        add(a, b, a)
        h = out[t]
        tanh(a, h)
    return out


def cumulative_sum(x):
    out, total = np.empty_like(x), np.float64(0)
    for t in range(len(x)):
        total = total + x[t]
        out[t] = total
    return out


def two_taps(x, first, second):
    out = np.empty_like(x)
    a, b = np.float64(first), np.float64(second)
    for t in range(len(x)):
        a, b = b, a * 0.5 + b * 0.3 + x[t]
        out[t] = b
    return out


def rnn(x, h0, W, U):
    out, a, b = np.empty((len(x), len(h0))), np.empty_like(h0), np.empty_like(h0)
    h, dot, add, tanh = h0, np.dot, np.add, np.tanh
    for t in range(len(x)):
        dot(x[t], W, a)
        dot(h, U, b)
        add(a, b, a)
        h = out[t]
        tanh(a, h)
    return out


def _sigmoid(x, out):
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, 1, out)
    np.reciprocal(out, out)


def lstm(x, h0, c0, W, U, b):
    """The step as a user writes it: three gates, each a sigmoid of its own."""
    size = h0.shape[-1]
    out = np.empty((len(x), *h0.shape))
    gates, other = np.empty((*h0.shape[:-1], 4 * size)), np.empty((*h0.shape[:-1], 4 * size))
    parts = [gates[..., k * size : (k + 1) * size] for k in range(4)]
    i, f, o, z = (np.empty_like(h0) for _ in range(4))
    h, c, dot, add, multiply, tanh = h0, c0.copy(), np.dot, np.add, np.multiply, np.tanh
    for t in range(len(x)):
        dot(x[t], W, gates)
        dot(h, U, other)
        add(gates, other, gates)
        add(gates, b, gates)
        _sigmoid(parts[0], i)
        _sigmoid(parts[1], f)
        _sigmoid(parts[2], o)
        tanh(parts[3], z)
        multiply(f, c, c)
        multiply(i, z, z)
        add(c, z, c)
        tanh(c, z)
        h = out[t]
        multiply(o, z, h)
    return out


def kalman(z, x0, P0, F, H, Q, R):
    out, x, P, identity = np.empty((len(z), len(x0))), x0, P0, np.eye(len(x0))
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        x = x + K @ (z[t] - H @ x)
        P = (identity - K @ H) @ P
        out[t] = x
    return out


def nested(x):
    out = np.empty(len(x))
    for t in range(len(x)):
        total = np.float64(0)
        for value in x[t]:
            total = total + value * 2.0
        out[t] = total
    return out
