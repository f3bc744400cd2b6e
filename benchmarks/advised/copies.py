"""All rows of a part of a state, where only the mean is needed: `copies`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import scanviz
from scanviz import tensor as T


def build(followed: bool) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    x, h0 = T.matrix("x"), T.vector("h0")

    def step(x_t, h):
        h_t = 0.9 * h + 0.1 * x_t
        seen = h_t[::2]
        return h_t, T.mean(seen) if followed else seen

    (_, seen), _ = scanviz.scan(step, x, [h0, None], name="leaky")
    f = scanviz.function([x, h0], seen, name="forward")
    inputs = rng.normal(size=(500, 8192)), np.zeros(8192)
    return lambda: [f(*inputs) if followed else f(*inputs).mean(axis=1) for _ in range(20)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
