"""Noise that is drawn step by step though nothing in the step decides about it: `draws`."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import scanviz
from scanviz import tensor as T

STEPS = 5000


def build(followed: bool) -> Callable[[], object]:
    stream = T.random.RandomStreams(seed=1)
    h0, n = (
        T.vector("h0"),
        T.lscalar("n"),
    )  # for a number of steps that only a call knows, the rewrite leaves draws where they are
    noise = stream.normal(size=(n, 16)) if followed else None

    def step(*given):
        e, h = given if followed else (stream.normal(size=(16,)), *given)
        return 0.9 * h + 0.1 * e

    h, _ = scanviz.scan(step, noise, h0, n_steps=n, name="langevin")
    f = scanviz.function([h0, n], h[-1], name="simulate")
    start = np.zeros(16)
    return lambda: [f(start, STEPS) for _ in range(4)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
