"""Functions of any number of loops, for tests and benchmarks of how building them grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct, field

import scanviz
from scanviz import tensor as T


class ManyLoops(Struct, frozen=True):
    """What to build a function of, and values to call it with."""

    inputs: list[Any]
    outputs: list[Any]
    values: list[Any]
    updates: dict[Any, Any] = field(default_factory=dict)

    def build(self, **options: Any) -> Any:
        """Return the compiled function."""
        return scanviz.function(self.inputs, self.outputs, updates=self.updates, **options)

    def build_and_call(self, **options: Any) -> Any:
        """Return the function after its first call."""
        function = self.build(**options)
        function(*self.values)
        return function


def _running(sequence: Any, factor: float, name: str) -> Any:
    result, _ = scanviz.scan(lambda x_t, h: T.tanh(h * factor + x_t), sequence, 0.0, name=name)
    return result


def chain(count: int) -> ManyLoops:
    """Loops that each read all rows of the one before."""
    x = rows = T.vector("x")
    for k in range(count):
        rows = _running(rows, 0.5, f"loop{k}")
    return ManyLoops([x], [rows[-1]], [np.linspace(0, 1, 8)])


def apart(count: int) -> ManyLoops:
    """Loops that have nothing in common."""
    inputs = [T.vector(f"x{k}") for k in range(count)]
    outputs = [_running(x, 0.5, f"loop{k}")[-1] for k, x in enumerate(inputs)]
    return ManyLoops(inputs, outputs, [np.linspace(0, 1, 8)] * count)


def together(count: int) -> ManyLoops:
    """Loops over one sequence, which become one."""
    x = T.vector("x")
    return ManyLoops(
        [x], [_running(x, 0.5 + k, f"loop{k}")[-1] for k in range(count)], [np.linspace(0, 1, 8)]
    )


def stacked(count: int) -> ManyLoops:
    """Recurrent layers on top of one another, with the gradient for all weights."""
    x = rows = T.matrix("x")
    weights: list[Any] = []
    for k in range(count):
        W, U = T.matrix(f"W{k}"), T.matrix(f"U{k}")
        weights += [W, U]
        rows, _ = scanviz.scan(
            lambda x_t, h, W, U: T.tanh(x_t @ W + h @ U), rows, T.zeros(4), [W, U], name=f"layer{k}"
        )
    loss = (rows**2).sum()
    values = [np.ones((6, 4)), *[np.eye(4) * 0.3] * len(weights)]
    return ManyLoops([x, *weights], [loss, *scanviz.grad(loss, weights)], values)


def within(count: int) -> ManyLoops:
    """Loops in the step of one loop, each with weights of its own, with the gradient for all of these."""
    x, weights = T.matrix("x"), [T.matrix(f"W{k}") for k in range(count)]

    def step(x_t: Any, h: Any, *weights: Any) -> Any:
        total = h
        for k, W in enumerate(weights):
            rows, _ = scanviz.scan(
                lambda g, W, k=k: T.tanh(g @ W + (k + 1)), None, h + k, [W], n_steps=3, name=f"inner{k}"
            )
            total = total + rows[-1]
        return T.tanh(total) + x_t

    rows, _ = scanviz.scan(step, x, T.zeros(4), weights, name="outer")
    loss = rows[-1].sum()
    values = [np.ones((3, 4)), *[np.eye(4) * 0.3] * count]
    return ManyLoops([x, *weights], [loss, *scanviz.grad(loss, weights)], values)


def updated(count: int) -> ManyLoops:
    """Shared variables that each call updates."""
    x = T.scalar("x")
    state = [scanviz.shared(np.zeros(3), f"s{k}") for k in range(count)]
    return ManyLoops([x], [x * 2], [1.0], {shared_variable: shared_variable + x for shared_variable in state})


def deep(count: int) -> ManyLoops:
    """Operations that each need the one before, without a loop."""
    x = y = T.vector("x")
    for k in range(count):
        y = T.tanh(y * 0.9 + 0.1 * k)
    return ManyLoops([x], [y], [np.ones(3)])


def states(count: int) -> ManyLoops:
    """Numbers that one loop carries, each made of itself and the next, with the gradient of the last ones."""
    a, n = T.vector("a"), T.lscalar("n")

    def step(*s: Any) -> list[Any]:
        return [T.tanh(s[k] * a[k] + s[(k + 1) % count]) for k in range(count)]

    rows, _ = scanviz.scan(step, None, [0.1 * k for k in range(count)], n_steps=n, return_list=True)
    loss = T.stack([row[-1] for row in rows]).sum()
    return ManyLoops([a, n], [scanviz.grad(loss, a)], [np.full(count, 0.1), 5])


def long_step(count: int) -> ManyLoops:
    """Operations that each need the one before in one step, with the gradient."""
    x = T.vector("x")

    def step(x_t: Any, h: Any) -> Any:
        for k in range(count):
            h = T.tanh(h * 0.9 + x_t * k)
        return h

    rows, _ = scanviz.scan(step, x, 0.0)
    return ManyLoops([x], [scanviz.grad(rows[-1], x)], [np.ones(4)])


SHAPES: dict[str, Callable[[int], ManyLoops]] = {
    build.__name__: build
    for build in (chain, apart, together, stacked, within, updated, deep, states, long_step)
}
