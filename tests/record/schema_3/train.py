"""A loop with a gradient, one of which some steps do more, and a further run: what the profile beside this file is of."""

import numpy as np

import scanviz
from scanviz import tensor as T

x, w = T.matrix("x"), T.vector("w")


def step(row, h, w):
    return T.tanh(row * w + h)


def seldom(row, total):
    return scanviz.ifelse(T.sum(row) > 2.0, T.tanh(total) / T.sum(T.exp(total)), total + row)


h, _ = scanviz.scan(step, x, T.zeros(3), w, name="rnn")
totals, _ = scanviz.scan(seldom, x, T.zeros(3), name="totals")
cost = (h[-1] ** 2).sum()
cost.name = "cost"
train = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name="train")
add_up = scanviz.function([x], totals[-1], name="add_up")
for _ in range(12):
    train(np.linspace(-1.0, 1.0, 60).reshape(20, 3), np.ones(3))
    add_up(np.linspace(-1.0, 1.0, 60).reshape(20, 3))
