"""The loops whose profiles are compared with independent instruments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import scanviz
from scanviz import tensor as T

RNG = np.random.default_rng(2026)


class Case(NamedTuple):
    """A function with the loop that is looked at.

    Attributes
    ----------
    name : str
        Its description.
    build : callable
        Gives the compiled function.
    inputs : callable
        ``inputs(n)`` gives arguments for about ``n`` steps of the loop in a call.
    steps : int
        Steps a call that take some milliseconds.
    loop : str
        Name of the loop.
    calls : int
        How often the function is called where a call has few steps.
    others : tuple of str
        Loops that take as many steps beside it, whose time is in that of the function's steps.
    """

    name: str
    build: Callable[[], Any]
    inputs: Callable[[int], tuple[Any, ...]]
    steps: int
    loop: str
    calls: int = 1
    others: tuple[str, ...] = ()


def scalar() -> Any:
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, s: s * 0.5 + x_t, x, 0.0, name="scalar")
    return scanviz.function([x], rows)


def leaky() -> Any:
    x, h = T.matrix("x"), T.vector("h")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(0.9 * h + 0.1 * x_t), x, h, name="leaky")
    return scanviz.function([x, h], rows)


def rnn() -> Any:
    x, h, W, U = T.matrix("x"), T.vector("h"), T.matrix("W"), T.matrix("U")
    rows, _ = scanviz.scan(lambda x_t, h, U: T.tanh(x_t + T.dot(h, U)), T.dot(x, W), h, U, name="rnn")
    return scanviz.function([x, h, W, U], rows)


def lstm() -> Any:
    x, h, c, U, b = T.matrix("x"), T.vector("h"), T.vector("c"), T.matrix("U"), T.vector("b")

    def step(x_t, h, c, U, b):
        gates = x_t + T.dot(h, U) + b
        i, f, o = (T.sigmoid(gates[k * 64 : (k + 1) * 64]) for k in range(3))
        c = f * c + i * T.tanh(gates[192:])
        return o * T.tanh(c), c

    (rows, _), _ = scanviz.scan(step, x, [h, c], [U, b], name="lstm")
    return scanviz.function([x, h, c, U, b], rows)


def nested() -> Any:
    x = T.matrix("x")
    totals, _ = scanviz.scan(
        lambda r, t: T.tanh(t + scanviz.scan(lambda v, s: T.sin(s + v), r, 0.0, name="inner")[0][-1]),
        x,
        0.0,
        name="outer",
    )
    return scanviz.function([x], totals)


def gradient() -> Any:
    x, h = T.matrix("x"), T.vector("h")
    # its derivative stays near 1 in all steps: where it becomes ever smaller, processors take ten times as long with it in the end
    rows, _ = scanviz.scan(lambda x_t, h: h + 0.01 * T.tanh(x_t - h), x, h, name="forward")
    return scanviz.function([x, h], scanviz.grad((rows[-1] ** 2).sum(), h))


def draws() -> Any:
    n, h = T.lscalar("n"), T.vector("h")
    random = T.random.RandomStreams(7)
    rows, updates = scanviz.scan(
        lambda h: 0.9 * h + random.normal(size=(64,)) * T.exp(-h * h), outputs_info=h, n_steps=n, name="draws"
    )
    return scanviz.function([n, h], rows[-1], updates=updates)


def until() -> Any:
    n, h = T.vector("limit"), T.vector("h")
    rows, _ = scanviz.scan(
        lambda h, limit: (T.sqrt(h + 1.0) + h, scanviz.until(h.sum() > limit[0])),
        outputs_info=h,
        non_sequences=n,
        n_steps=10**6,
        name="until",
    )
    return scanviz.function([n, h], rows[-1])


def one_step() -> Any:
    h, n = T.vector("h"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda h: T.tanh(h * 0.9 + 0.1), outputs_info=h, n_steps=n, name="one")
    return scanviz.function([h, n], rows[-1])


def strips(name: str) -> Callable[[], Any]:
    """Return what builds a loop that mixes no elements and keeps its last row alone."""

    def build() -> Any:
        h, n = T.vector("h"), T.lscalar("n")
        rows, _ = scanviz.scan(lambda h: 3.7 * h * (1.0 - h), outputs_info=h, n_steps=n, name=name)
        return scanviz.function([h, n], rows[-1])

    return build


def matrix() -> Any:
    h, U, n = T.matrix("h"), T.matrix("U"), T.lscalar("n")
    rows, _ = scanviz.scan(
        lambda h, U: T.tanh(T.dot(h, U)), outputs_info=h, non_sequences=U, n_steps=n, name="matrix"
    )
    return scanviz.function([h, U, n], rows[-1])


def _normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


def _limit(steps: int) -> tuple[Any, ...]:
    h = total = np.full(64, 1.0)
    for _ in range(steps - 1):
        h = np.sqrt(h + 1.0) + h
    return np.array([h.sum() - 1e-6]), total


WIDE = _normal(64, 64) / 16
CASES = [
    Case("scalar recurrence", scalar, lambda n: (_normal(n),), 30_000, "scalar"),
    Case("width 64", leaky, lambda n: (_normal(n, 64), np.zeros(64)), 6000, "leaky"),
    Case("RNN, H 64", rnn, lambda n: (_normal(n, 64), np.zeros(64), WIDE, WIDE), 4000, "rnn"),
    Case(
        "LSTM, H 64",
        lstm,
        lambda n: (_normal(n, 256), np.zeros(64), np.zeros(64), _normal(64, 256) / 16, np.zeros(256)),
        1500,
        "lstm",
    ),
    Case("nested loop", nested, lambda n: (_normal(n, 40),), 600, "outer"),
    Case("nested loop of one step", nested, lambda n: (_normal(n, 1),), 5000, "outer"),
    Case(
        "gradient loop",
        gradient,
        lambda n: (_normal(n, 64), np.zeros(64)),
        1000,
        "grad_of_forward",
        others=("forward",),
    ),
    Case("random draws", draws, lambda n: (n, np.zeros(64)), 1500, "draws"),
    Case("until loop", until, _limit, 4000, "until"),
    Case("one step, run often", one_step, lambda n: (np.ones(64), n), 1, "one", calls=3000),
    Case("strips, width 64", strips("narrow"), lambda n: (np.linspace(0.1, 0.9, 64), n), 6000, "narrow"),
    Case("strips, width 8192", strips("wide"), lambda n: (np.linspace(0.1, 0.9, 8192), n), 1500, "wide"),
    Case("large matrix", matrix, lambda n: (_normal(256, 256) / 16, _normal(256, 256) / 16, n), 40, "matrix"),
]
