"""Two steps of a relaxation inside of each step: `short_inner_loops`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import scanviz
from scanviz import tensor as T


def build(followed: bool) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    x, h0 = T.matrix("x"), T.vector("h0")

    def relaxed(h, x_t):
        return 0.5 * h + 0.5 * T.tanh(h + x_t)

    def step(x_t, h):
        if followed:
            for _ in range(3):
                h = relaxed(h, x_t)
            return h
        inner, _ = scanviz.scan(relaxed, outputs_info=h, non_sequences=x_t, n_steps=3, name="relax")
        return inner[-1]

    h, _ = scanviz.scan(step, x, h0, name="outer")
    f = scanviz.function([x, h0], h[-1], name="forward")
    inputs = rng.normal(size=(5000, 64)), np.zeros(64)
    return lambda: [f(*inputs) for _ in range(4)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
