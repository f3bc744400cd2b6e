"""Work of shared variables alone, outside of loops, at every call: `same_at_every_call`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import scanviz
from scanviz import tensor as T


def build(followed: bool) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    x, h0 = T.matrix("x"), T.vector("h0")
    A = rng.normal(size=(64, 64))
    W = scanviz.shared(np.linalg.inv(A @ A.T + 64 * np.eye(64)) if followed else A, "W")

    def mixing():
        return W if followed else T.linalg.inv(T.dot(W, W.T) + 64 * np.eye(64))

    h, _ = scanviz.scan(lambda x_t, h, M: T.tanh(x_t + T.dot(h, M)), x, h0, mixing(), name="rnn")
    f = scanviz.function([x, h0], h[-1], name="forward")
    inputs = rng.normal(size=(50, 64)), np.zeros(64)
    return lambda: [f(*inputs) for _ in range(500)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
