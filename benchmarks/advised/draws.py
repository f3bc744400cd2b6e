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
    h0 = T.vector("h0")
    noise = stream.normal(size=(STEPS, 16)) if followed else None

    def step(*given):
        e, h = given if followed else (stream.normal(size=(16,)), *given)
        return 0.9 * h + 0.1 * e

    h, _ = scanviz.scan(step, noise, h0, n_steps=STEPS, name="langevin")
    f = scanviz.function([h0], h, name="simulate")
    start = np.zeros(16)
    return lambda: [f(start) for _ in range(4)]


if __name__ == "__main__":
    build("followed" in sys.argv)()
