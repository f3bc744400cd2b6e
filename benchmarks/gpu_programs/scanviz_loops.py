"""In scanviz, ``mode="cupy"``, as one would write it first."""

from __future__ import annotations

import scanviz
from gpu_programs.cupy_loops import to_device, to_host, waiting  # noqa: F401  # to_host is asked of each file
from gpu_programs.reference import CLOSE, RATE, SHARE
from scanviz import tensor as T
from scanviz.engine.backends.source.runners import all_made

MODE = "cupy"


def _call(inputs, output, given):
    f = scanviz.function(inputs, output, mode=MODE)
    call = waiting(f, *given)
    call.function = f
    return call


def how(call):
    """Return how the loops of a function ran, in words."""
    return [made.why for made in all_made(call.function.executable.flat.runners).values()]


def _inputs(*names_and_ndim):
    return [T.tensor("float32", (None,) * ndim, name) for name, ndim in names_and_ndim]


def leaky_tanh(sizes, given):
    x, h = _inputs(("x", 2), ("h", 1))
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + 0.9 * h), x, h)
    return _call([x, h], rows, to_device(given))


def logistic(sizes, given):
    (s,) = _inputs(("s", 0))
    rows, _ = scanviz.scan(lambda s: RATE * s * (1 - s), outputs_info=s, n_steps=sizes[-1])
    return _call([s], rows[-1], to_device(given))


def linear(sizes, given):
    a, b, h = _inputs(("a", 2), ("b", 2), ("h", 1))
    rows, _ = scanviz.scan(lambda a_t, b_t, h: a_t * h + b_t, [a, b], h)
    return _call([a, b, h], rows, to_device(given))


def rnn(sizes, given):
    x, h, W, U = _inputs(("x", 3), ("h", 2), ("W", 2), ("U", 2))
    rows, _ = scanviz.scan(lambda x_t, h, W, U: T.tanh(T.dot(x_t, W) + T.dot(h, U)), x, h, [W, U])
    return _call([x, h, W, U], rows, to_device(given))


def lstm(sizes, given):
    x, h, c, W, U = _inputs(("x", 3), ("h", 2), ("c", 2), ("W", 2), ("U", 2))
    size = sizes[0]

    def step(x_t, h, c, W, U):
        gates = T.dot(x_t, W) + T.dot(h, U)
        i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    (rows, _), _ = scanviz.scan(step, x, [h, c], [W, U])
    return _call([x, h, c, W, U], rows, to_device(given))


def newton(sizes, given):
    a, x = _inputs(("a", 1), ("x", 1))

    def step(x, a):
        x = x - SHARE * (x - a / x)
        return x, scanviz.until(T.max(abs(x * x - a)) < CLOSE)

    rows, _ = scanviz.scan(step, outputs_info=x, non_sequences=a, n_steps=sizes[-1])
    return _call([a, x], rows[-1], to_device(given))
