"""Two loops, one in the other, with a gradient: what the profiles beside this file are of."""

import numpy as np

import scanviz
from scanviz import tensor as T

x, w = T.matrix("x"), T.vector("w")


def step(row, h, w):
    inner, _ = scanviz.scan(lambda v, total: T.tanh(v + total), row, 0.0, name="inner")
    return T.tanh(row * w + h) + inner[-1]


h, _ = scanviz.scan(step, x, T.zeros(3), w, name="outer")
cost = (h[-1] ** 2).sum()
cost.name = "cost"
train = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name="train")
for _ in range(3):
    train(np.ones((5, 3)), np.ones(3))
