"""A softmax of weights that no step changes, in a step that runs on a tier of its own: `non_sequences`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import scanviz
from scanviz import tensor as T


def build(followed: bool) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    x, h0, W = T.matrix("x"), T.vector("h0"), T.matrix("W")
    mixing = T.exp(W) / T.sum(T.exp(W), axis=0) if followed else W

    def step(x_t, h, M):
        if not followed:
            M = T.exp(M) / T.sum(T.exp(M), axis=0)
        return T.tanh(x_t + T.dot(h, M))

    h, _ = scanviz.scan(step, x, h0, mixing, name="rnn", mode="numpy")
    f = scanviz.function([x, h0, W], h[-1], name="forward")
    inputs = rng.normal(size=(500, 64)), np.zeros(64), rng.normal(size=(64, 64))
    return lambda: [f(*inputs) for _ in range(4)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
