"""Newton's method with until: square roots of many numbers, stopped when the largest relative error is small enough."""

import numpy as np

import scanviz
from scanviz import tensor as T


def build():
    a, tolerance = T.vector("a"), T.scalar("tolerance")

    def step(x_tm1, a, tolerance):
        x_t = 0.5 * (x_tm1 + a / x_tm1)
        change = T.max(T.absolute(x_t - x_tm1) / x_t)
        return x_t, scanviz.until(change < tolerance)

    roots, _ = scanviz.scan(
        step, outputs_info=T.ones_like(a), non_sequences=[a, tolerance], n_steps=200, name="newton"
    )
    return scanviz.function([a, tolerance], [roots[-1], roots.shape[0]], name="square roots")


if __name__ == "__main__":
    f = build()
    numbers = np.logspace(-6, 6, 100_000)
    roots, steps = f(numbers, 1e-14)
    print("stopped after", int(steps), "of at most 200 steps")
    print("largest relative error:", float(np.max(np.abs(roots / np.sqrt(numbers) - 1))))
