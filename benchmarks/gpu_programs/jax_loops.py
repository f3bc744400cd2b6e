"""In JAX: ``jit`` of ``lax.scan``, as one would write it first; a name that ends in ``_tuned`` is for speed.

Products are exact float32 as everywhere here: JAX's default on a GPU may be TF32.
"""

from __future__ import annotations

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # other tools need memory in the same process

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gpu_programs.reference import CLOSE, RATE, SHARE

jax.config.update("jax_default_matmul_precision", "highest")
UNROLL = 16


def to_host(array):
    return np.asarray(array)


def _call(function, given):
    compiled, arrays = jax.jit(function), [jnp.asarray(each) for each in given]
    return lambda: compiled(*arrays).block_until_ready()


def _both(name, make):
    """Define a loop and its unrolled twin."""
    globals()[name] = lambda sizes, given: make(sizes, given, 1)
    globals()[f"{name}_tuned"] = lambda sizes, given: make(sizes, given, UNROLL)


def _rows(step, unroll):
    """Return a scan that keeps its states as rows."""

    def kept(h, x):
        h = step(h, x)
        return h, h

    return lambda h, x: lax.scan(kept, h, x, unroll=unroll)[1]


def _leaky_tanh(sizes, given, unroll):
    return _call(lambda x, h: _rows(lambda h, x_t: jnp.tanh(x_t + 0.9 * h), unroll)(h, x), given)


def _logistic(sizes, given, unroll):
    def run(s):
        return lax.fori_loop(0, sizes[-1], lambda _, s: RATE * s * (1 - s), s, unroll=unroll)

    return _call(run, given)


def linear(sizes, given):
    return _call(lambda a, b, h: _rows(lambda h, ab: ab[0] * h + ab[1], 1)(h, (a, b)), given)


def linear_tuned(sizes, given):
    def joined(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    return _call(lambda a, b, h: lax.associative_scan(joined, (a, b))[1], given)  # h is 0


def _rnn(sizes, given, unroll):
    def run(x, h, W, U):
        inputs = x @ W  # one product, as scanviz makes of it
        return _rows(lambda h, x_t: jnp.tanh(x_t + h @ U), unroll)(h, inputs)

    return _call(run, given)


def _lstm(sizes, given, unroll):
    def run(x, h, c, W, U):
        def step(state, x_t):
            h, c = state
            i, f, g, o = jnp.split(x_t + h @ U, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(step, (h, c), x @ W, unroll=unroll)[1]

    return _call(run, given)


def newton(sizes, given):
    def run(a, x):
        def going_on(state):
            step, x = state
            return (step < sizes[-1]) & (jnp.max(jnp.abs(x * x - a)) >= CLOSE)

        def step(state):
            number, x = state
            return number + 1, x - SHARE * (x - a / x)

        return lax.while_loop(going_on, step, (0, x))[1]

    return _call(run, given)


for _name, _make in {"leaky_tanh": _leaky_tanh, "logistic": _logistic, "rnn": _rnn, "lstm": _lstm}.items():
    _both(_name, _make)
