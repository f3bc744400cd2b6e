"""In JAX: ``jit`` of ``lax.scan``, as one would write it first.

A name that ends in ``_tuned`` is a version tuned for speed.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_ENABLE_X64"] = "1"

import jax
import jax.numpy as jnp
from jax import lax

RHO = 0.8
UNROLL = 8


def _compiled(function, static=()):
    made = jax.jit(function, static_argnums=static)

    def run(*given):
        return [each.block_until_ready() for each in made(*given)]

    return run


def power(size, steps):
    def run(a, k):
        return [lax.scan(lambda p, _: (p * a, None), jnp.ones_like(a), None, length=k)[0]]

    return _compiled(run, (1,))


def power_tuned(size, steps):
    def run(a, k):
        return [lax.fori_loop(0, k, lambda _, p: p * a, jnp.ones_like(a))]

    return _compiled(run)


def _cumulative_sum(unroll):
    def step(s, x):
        s = s + x
        return s, s

    return _compiled(lambda x: [lax.scan(step, 0.0, x, unroll=unroll)[1]])


def cumulative_sum(steps):
    return _cumulative_sum(1)


def cumulative_sum_tuned(steps):
    return _cumulative_sum(UNROLL)


def _two_taps(unroll):
    def step(rows, x):
        older, newer = rows
        row = 0.5 * newer - 0.3 * older + x
        return (newer, row), row

    return _compiled(lambda x: [lax.scan(step, (0.0, 0.0), x, unroll=unroll)[1]])


def two_taps(steps):
    return _two_taps(1)


def two_taps_tuned(steps):
    return _two_taps(UNROLL)


def _leaky_rows(x, h):
    def step(h, x_t):
        h = jnp.tanh(0.9 * h + 0.1 * x_t)
        return h, h

    return lax.scan(step, h, x)[1]


def leaky_tanh(width, steps):
    return _compiled(lambda x, h: [_leaky_rows(x, h)])


def _gradient(rows, positions):
    """Return a function that gives the mean square of rows and its gradient."""
    both = jax.value_and_grad(lambda *given: jnp.mean(rows(*given) ** 2), positions)

    def run(*given):
        cost, grads = both(*given)
        return [cost, *grads]

    return _compiled(run)


def leaky_tanh_gradient(width, steps):
    return _gradient(_leaky_rows, (0, 1))


def _rnn_rows(x, h, W, U):
    def step(h, x_t):
        h = jnp.tanh(x_t @ W + h @ U)
        return h, h

    return lax.scan(step, h, x)[1]


def _rnn_rows_tuned(x, h, W, U):
    def step(h, z_t):
        h = jnp.tanh(z_t + h @ U)
        return h, h

    return lax.scan(step, h, x @ W)[1]


def rnn(size, batch, steps):
    return _compiled(lambda *given: [_rnn_rows(*given)])


def rnn_tuned(size, batch, steps):
    return _compiled(lambda *given: [_rnn_rows_tuned(*given)])


def rnn_gradient(size, batch, steps):
    return _gradient(_rnn_rows, (2, 3))


def rnn_gradient_tuned(size, batch, steps):
    def run(x, h0, W, U):
        h = _rnn_rows_tuned(x, h0, W, U)

        def step(g, given):
            h_t, carried = given
            dz = (carried + g) * (1 - h_t * h_t)
            return dz @ U.T, dz

        dz = lax.scan(step, jnp.zeros_like(h0), (h, 2 * h / h.size), reverse=True)[1]
        before, flat = jnp.concatenate([h0[None], h[:-1]]).reshape(-1, size), dz.reshape(-1, size)
        return [jnp.mean(h * h), x.reshape(-1, size).T @ flat, before.T @ flat]

    return _compiled(run)


def taps_rnn(size, steps):
    def run(x, start, W, U, V):
        def step(rows, x_t):
            older, newer = rows
            row = jnp.tanh(x_t @ W + newer @ U + older @ V)
            return (newer, row), row

        return [lax.scan(step, (start[0], start[1]), x)[1]]

    return _compiled(run)


def _lstm_rows(x, h, c, W, U, b):
    def step(rows, x_t):
        h, c = rows
        i, f, o, g = jnp.split(x_t @ W + h @ U + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (h, c), x)[1]


def _lstm_rows_tuned(x, h, c, W, U, b):
    def step(rows, z_t):
        h, c = rows
        z = z_t + h @ U
        size = h.shape[-1]
        i, f, o = jnp.split(jax.nn.sigmoid(z[..., : 3 * size]), 3, axis=-1)
        c = f * c + i * jnp.tanh(z[..., 3 * size :])
        h = o * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (h, c), x @ W + b)[1]


def lstm(size, batch, steps):
    return _compiled(lambda *given: [_lstm_rows(*given)])


def lstm_tuned(size, batch, steps):
    return _compiled(lambda *given: [_lstm_rows_tuned(*given)])


def lstm_gradient(size, batch, steps):
    return _gradient(_lstm_rows, (3, 4, 5))


def lstm_gradient_tuned(size, batch, steps):
    return _gradient(_lstm_rows_tuned, (3, 4, 5))


def _linear_rows(a, b, h):
    def step(h, given):
        h = given[0] * h + given[1]
        return h, h

    return lax.scan(step, h, (a, b))[1]


def linear(width, steps):
    return _compiled(lambda *given: [_linear_rows(*given)])


def linear_gradient(width, steps):
    return _gradient(_linear_rows, (0, 1))


def kalman(steps):
    def run(z, x, P, F, H, Q, R):
        def step(state, z_t):
            x, P = state
            x, P = F @ x, F @ P @ F.T + Q
            K = jnp.linalg.solve(H @ P @ H.T + R, H @ P).T
            x, P = x + K @ (z_t - H @ x), (jnp.eye(4) - K @ H) @ P
            return (x, P), x

        return [lax.scan(step, (x, P), z)[1]]

    return _compiled(run)


def gibbs(steps):
    spread = (1 - RHO * RHO) ** 0.5

    def run(key, n):
        def step(state, key):
            _, y = state
            first, second = jax.random.split(key)
            x = RHO * y + spread * jax.random.normal(first, dtype=jnp.float64)
            y = RHO * x + spread * jax.random.normal(second, dtype=jnp.float64)
            return (x, y), jnp.stack([x, y])

        return [lax.scan(step, (0.0, 0.0), jax.random.split(key, n))[1]]

    made, keys = jax.jit(run, static_argnums=1), [jax.random.key(1)]

    def call(n):
        keys[0], now = jax.random.split(keys[0])
        return [made(now, n)[0].block_until_ready()]

    return call
