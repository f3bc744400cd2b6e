"""In CuPy, a Python loop that calls it at each step."""

from __future__ import annotations

import cupy as cp

from gpu_programs.reference import CLOSE, RATE, SHARE


def to_device(given):
    return [cp.asarray(each) for each in given]


def to_host(array):
    return array.get()


def waiting(function, *given):
    """Return a call that waits for the device."""

    def call():
        result = function(*given)
        cp.cuda.get_current_stream().synchronize()
        return result

    return call


def leaky_tanh(sizes, given):
    def run(x, h):
        rows = cp.empty_like(x)
        for t in range(len(x)):
            h = cp.tanh(x[t] + 0.9 * h, out=rows[t])
        return rows

    return waiting(run, *to_device(given))


def logistic(sizes, given):
    def run(s):
        for _ in range(sizes[-1]):
            s = RATE * s * (1 - s)
        return s

    return waiting(run, *to_device(given))


def linear(sizes, given):
    def run(a, b, h):
        rows = cp.empty_like(b)
        for t in range(len(a)):
            h = cp.add(a[t] * h, b[t], out=rows[t])
        return rows

    return waiting(run, *to_device(given))


def rnn(sizes, given):
    def run(x, h, W, U):
        rows = cp.empty_like(x)
        for t in range(len(x)):
            h = cp.tanh(x[t] @ W + h @ U, out=rows[t])
        return rows

    return waiting(run, *to_device(given))


def _sigmoid(x):
    return 1 / (1 + cp.exp(-x))


def lstm(sizes, given):
    size = sizes[0]

    def run(x, h, c, W, U):
        rows = cp.empty_like(x)
        for t in range(len(x)):
            gates = x[t] @ W + h @ U
            i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
            c = _sigmoid(f) * c + _sigmoid(i) * cp.tanh(g)
            h = cp.multiply(_sigmoid(o), cp.tanh(c), out=rows[t])
        return rows

    return waiting(run, *to_device(given))


def newton(sizes, given):
    def run(a, x):
        for _ in range(sizes[-1]):
            x = x - SHARE * (x - a / x)
            if float(cp.max(cp.abs(x * x - a))) < CLOSE:
                break
        return x

    return waiting(run, *to_device(given))
