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
    kept, new = np.array(0.9), np.array(0.1)  # NumPy takes 0-d arrays quicker than numbers
    for x_t, row in zip(x, out, strict=True):
        multiply(kept, h, a)
        multiply(new, x_t, b)
        add(a, b, a)
        h = tanh(a, row)
    return out


def cumulative_sum(x):
    out, total = np.empty_like(x), np.float64(0)
    for t, x_t in enumerate(x):
        total = total + x_t
        out[t] = total
    return out


def two_taps(x, first, second):
    out = np.empty_like(x)
    a, b, early, late = np.float64(first), np.float64(second), np.float64(0.5), np.float64(0.3)
    for t, x_t in enumerate(x):
        a, b = b, a * early + b * late + x_t
        out[t] = b
    return out


def rnn(x, h0, W, U):
    out, a, b = np.empty((len(x), len(h0))), np.empty_like(h0), np.empty_like(h0)
    h, dot, add, tanh = h0, np.dot, np.add, np.tanh
    for x_t, row in zip(x, out, strict=True):
        dot(x_t, W, a)
        dot(h, U, b)
        add(a, b, a)
        h = tanh(a, row)
    return out


ONE = np.array(1.0)


def _lstm(x, h0, c0, W, U, b, split):
    """Run an LSTM; ``split`` is the number of arrays of the three sigmoid gates."""
    size = h0.shape[-1]
    out = np.empty((len(x), *h0.shape))
    gates, other = np.empty((*h0.shape[:-1], 4 * size)), np.empty((*h0.shape[:-1], 4 * size))
    sources = (
        [gates[..., : 3 * size]] if split == 1 else [gates[..., k * size : (k + 1) * size] for k in range(3)]
    )
    last = gates[..., 3 * size :]
    results = [np.empty(source.shape) for source in sources]
    i, f, o = [results[0][..., k * size : (k + 1) * size] for k in range(3)] if split == 1 else results
    z, pairs = np.empty_like(h0), list(zip(sources, results, strict=True))
    h, c, dot, add, multiply, tanh = h0, c0.copy(), np.dot, np.add, np.multiply, np.tanh
    negative, exp, divide = np.negative, np.exp, np.divide
    for x_t, row in zip(x, out, strict=True):
        dot(x_t, W, gates)
        dot(h, U, other)
        add(gates, other, gates)
        add(gates, b, gates)
        for source, result in pairs:
            negative(source, result)
            exp(result, result)
            add(result, ONE, result)
            divide(ONE, result, result)
        tanh(last, z)
        multiply(f, c, c)
        multiply(i, z, z)
        add(c, z, c)
        tanh(c, z)
        h = multiply(o, z, row)
    return out


def lstm(x, h0, c0, W, U, b):
    """Each of the three gates a sigmoid of its own, as most people write it."""
    return _lstm(x, h0, c0, W, U, b, 3)


def lstm_joined(x, h0, c0, W, U, b):
    """One sigmoid for the three gates, which lie beside one another."""
    return _lstm(x, h0, c0, W, U, b, 1)


def kalman(z, x0, P0, F, H, Q, R):
    size, seen = len(x0), len(z[0])
    out, x, P, identity = np.empty((len(z), size)), x0, P0.copy(), np.eye(size)
    predicted, correction, error = np.empty(size), np.empty(size), np.empty(seen)
    FP, ahead, HP, S = (
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty((seen, size)),
        np.empty((seen, seen)),
    )
    F_T, H_T, dot, add, subtract, solve = F.T, H.T, np.dot, np.add, np.subtract, np.linalg.solve
    for z_t, row in zip(z, out, strict=True):
        dot(F, x, predicted)
        dot(F, P, FP)
        dot(FP, F_T, ahead)
        add(ahead, Q, ahead)
        dot(H, ahead, HP)
        dot(HP, H_T, S)
        add(S, R, S)
        K = solve(S, HP).T
        dot(H, predicted, error)
        subtract(z_t, error, error)
        dot(K, error, correction)
        x = add(predicted, correction, row)
        dot(K, H, FP)
        subtract(identity, FP, FP)
        dot(FP, ahead, P)
    return out


def nested(x):
    out, two = np.empty(len(x)), np.float64(2)
    for t, row in enumerate(x):
        total = np.float64(0)
        for value in row:
            total = total + value * two
        out[t] = total
    return out
