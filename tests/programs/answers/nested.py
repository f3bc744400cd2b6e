"""A loop in a loop with one slow line in the inner step."""

import numpy as np

import scanviz
from scanviz import tensor as T

a, x = T.matrix("a"), T.matrix("x")


def newton(y, row):
    return y - 0.1 * T.tanh(y - row)


def outer(row, total):
    def inner(y):
        smooth = T.exp(T.sin(T.log(1 + y**2)))  # slow
        return 0.5 * y + 0.1 * smooth + 0.01 * row

    y, _ = scanviz.scan(inner, None, row, n_steps=20, name="inner")
    return total + y[-1].sum()


totals, _ = scanviz.scan(outer, x, 0.0, name="outer")
f = scanviz.function([x], totals[-1], name="relax")
for _ in range(10):
    f(np.random.default_rng(0).normal(size=(50, 400)))
