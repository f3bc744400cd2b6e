"""A product of each row of a sequence, in a loop that may end early: `sequence_product`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import scanviz
from scanviz import tensor as T


def build(followed: bool) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    x, h0, W, U = T.matrix("x"), T.vector("h0"), T.matrix("W"), T.matrix("U")

    def step(x_t, h, W, U):
        h_t = T.tanh((x_t if followed else T.dot(x_t, W)) + T.dot(h, U))
        return h_t, scanviz.until(T.max(T.abs(h_t)) > 2.0)

    h, _ = scanviz.scan(step, T.dot(x, W) if followed else x, h0, [W, U], name="rnn")
    f = scanviz.function([x, h0, W, U], h[-1], name="forward")
    weights = [rng.normal(size=(64, 64)) / 8 for _ in range(2)]
    inputs = rng.normal(size=(5000, 64)), np.zeros(64), *weights
    return lambda: [f(*inputs) for _ in range(10)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
