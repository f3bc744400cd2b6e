"""The loops that are measured: each in scanviz, by hand, and the inputs of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import by_hand
import numpy as np

import scanviz
from scanviz import tensor as T


class Workload(NamedTuple):
    """A loop to measure.

    Attributes
    ----------
    name : str
        Its description.
    goal : float or None
        The largest ratio to the loop by hand that is aimed at.
    build : callable
        ``build(mode)`` gives the compiled function.
    by_hand : callable
        The same by hand.
    inputs : tuple
        Of both.
    """

    name: str
    goal: float | None
    build: Callable[[str], Any]
    by_hand: Callable[..., Any]
    inputs: tuple[Any, ...]


RNG = np.random.default_rng(2026)


def power(size: int, steps: int) -> Workload:
    def build(mode):
        a, k = T.vector("a"), T.lscalar("k")
        rows, _ = scanviz.scan(
            lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k, name="power"
        )
        return scanviz.function([a, k], rows[-1], mode=mode)

    return Workload(f"power, size {size}", 1.2, build, by_hand.power, (RNG.uniform(0.99, 1.01, size), steps))


def leaky_tanh(width: int, steps: int) -> Workload:
    def build(mode):
        x, h = T.matrix("x"), T.vector("h")
        rows, _ = scanviz.scan(lambda x_t, h_tm1: T.tanh(0.9 * h_tm1 + 0.1 * x_t), x, h, name="leaky")
        return scanviz.function([x, h], rows, mode=mode)

    return Workload(
        f"leaky tanh, width {width}",
        1.2,
        build,
        by_hand.leaky_tanh,
        (RNG.normal(size=(steps, width)), np.zeros(width)),
    )


def cumulative_sum(steps: int) -> Workload:
    def build(mode):
        x = T.vector("x")
        rows, _ = scanviz.scan(lambda x_t, s: s + x_t, x, 0.0, name="sum")
        return scanviz.function([x], rows, mode=mode)

    return Workload(
        f"cumulative sum, {steps} scalars", 1.2, build, by_hand.cumulative_sum, (RNG.normal(size=steps),)
    )


def two_taps(steps: int) -> Workload:
    def build(mode):
        x, a, b = T.vector("x"), T.scalar("a"), T.scalar("b")
        rows, _ = scanviz.scan(
            lambda x_t, s_tm2, s_tm1: s_tm2 * 0.5 + s_tm1 * 0.3 + x_t,
            x,
            dict(initial=T.stack([a, b]), taps=[-2, -1]),
            name="taps",
        )
        return scanviz.function([x, a, b], rows, mode=mode)

    return Workload(
        f"two taps, {steps} scalars", 1.2, build, by_hand.two_taps, (RNG.normal(size=steps), 0.1, 0.2)
    )


def rnn(size: int, steps: int) -> Workload:
    def build(mode):
        x, h, W, U = T.matrix("x"), T.vector("h"), T.matrix("W"), T.matrix("U")
        rows, _ = scanviz.scan(
            lambda x_t, h, W, U: T.tanh(T.dot(x_t, W) + T.dot(h, U)), x, h, [W, U], name="rnn"
        )
        return scanviz.function([x, h, W, U], rows, mode=mode)

    weights = [RNG.normal(size=(size, size)) / size for _ in range(2)]
    return Workload(
        f"RNN, H {size}", 1.1, build, by_hand.rnn, (RNG.normal(size=(steps, size)), np.zeros(size), *weights)
    )


def lstm(size: int, batch: int | None, steps: int, joined: bool = False) -> Workload:
    row = (size,) if batch is None else (batch, size)

    def build(mode):
        x = T.tensor("float64", (None,) * (1 + len(row)), "x")
        h, c = (T.tensor("float64", (None,) * len(row), name) for name in "hc")
        W, U, b = T.matrix("W"), T.matrix("U"), T.vector("b")

        def step(x_t, h_tm1, c_tm1, W, U, b):
            gates = T.dot(x_t, W) + T.dot(h_tm1, U) + b
            if joined:
                opened = T.sigmoid(gates[..., : 3 * size])
                i, f, o = (opened[..., k * size : (k + 1) * size] for k in range(3))
            else:
                i, f, o = (T.sigmoid(gates[..., k * size : (k + 1) * size]) for k in range(3))
            c_t = f * c_tm1 + i * T.tanh(gates[..., 3 * size :])
            return o * T.tanh(c_t), c_t

        (rows, _), _ = scanviz.scan(step, x, [h, c], [W, U, b], name="lstm")
        return scanviz.function([x, h, c, W, U, b], rows, mode=mode)

    weights = [RNG.normal(size=(size, 4 * size)) / 8 for _ in range(2)]
    inputs = (RNG.normal(size=(steps, *row)), np.zeros(row), np.zeros(row), *weights, np.zeros(4 * size))
    name = f"LSTM, H {size}, batch {batch or 1}{', gates joined' if joined else ''}"
    return Workload(name, 1.1, build, by_hand.lstm_joined if joined else by_hand.lstm, inputs)


def kalman(steps: int) -> Workload:
    F, H = np.eye(4) + 0.01 * np.eye(4, k=2), np.eye(2, 4)
    Q, R = 1e-3 * np.eye(4), np.eye(2)

    def build(mode):
        z, x, P = T.matrix("z"), T.vector("x"), T.matrix("P")

        def step(z_t, x, P):
            x = T.dot(F, x)
            P = T.dot(T.dot(F, P), F.T) + Q
            S = T.dot(T.dot(H, P), H.T) + R
            K = T.linalg.solve(S, T.dot(H, P)).T
            return x + T.dot(K, z_t - T.dot(H, x)), T.dot(np.eye(4) - T.dot(K, H), P)

        (rows, _), _ = scanviz.scan(step, z, [x, P], name="kalman")
        return scanviz.function([z, x, P], rows, mode=mode)

    return Workload(
        "Kalman filter, 4 states",
        None,
        build,
        lambda z, x, P: by_hand.kalman(z, x, P, F, H, Q, R),
        (RNG.normal(size=(steps, 2)), np.zeros(4), np.eye(4)),
    )


def nested(rows: int, columns: int) -> Workload:
    def build(mode):
        x = T.matrix("x")
        totals, _ = scanviz.scan(
            lambda r: scanviz.scan(lambda v, s: s + v * 2.0, r, 0.0, name="inner")[0][-1], x, name="outer"
        )
        return scanviz.function([x], totals, mode=mode)

    return Workload(
        f"nested loops, {rows} × {columns} scalars",
        None,
        build,
        by_hand.nested,
        (RNG.normal(size=(rows, columns)),),
    )


def workloads(quick: bool) -> list[Workload]:
    """Return all loops; shorter ones with ``quick``."""
    scale = 10 if quick else 1
    return [
        power(10, 2000 // scale),
        power(1000, 2000 // scale),
        leaky_tanh(64, 2000 // scale),
        leaky_tanh(1024, 2000 // scale),
        cumulative_sum(100_000 // scale),
        two_taps(100_000 // scale),
        rnn(16, 1000 // scale),
        rnn(64, 1000 // scale),
        rnn(256, 1000 // scale),
        lstm(64, None, 500 // scale),
        lstm(64, 32, 200 // scale),
        lstm(64, None, 500 // scale, joined=True),
        lstm(64, 32, 200 // scale, joined=True),
        kalman(500 // scale),
        nested(200 // scale, 50),
    ]
