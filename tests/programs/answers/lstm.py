"""An LSTM's training: the product with the recurrent weights is most of it."""

import numpy as np

import scanviz
from scanviz import tensor as T

HIDDEN = 96
rng = np.random.default_rng(0)
x, target = T.tensor3("x"), T.matrix("target")
W = scanviz.shared(rng.normal(size=(8, 4 * HIDDEN)) / 4, "W")
U = scanviz.shared(rng.normal(size=(HIDDEN, 4 * HIDDEN)) / 12, "U")


def step(x_t, h, c):
    given = T.dot(x_t, W)
    gates = given + T.dot(h, U)  # slow
    i, f, o = (T.sigmoid(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
    c_t = f * c + i * T.tanh(gates[:, 3 * HIDDEN :])
    return o * T.tanh(c_t), c_t


start = T.zeros((x.shape[1], HIDDEN))
(h, _), _ = scanviz.scan(step, sequences=x, outputs_info=[start, start], name="lstm")
cost = T.mean((h[-1] - target) ** 2)
updates = [(p, p - 0.1 * g) for p, g in zip([W, U], scanviz.grad(cost, [W, U]), strict=True)]
train = scanviz.function([x, target], cost, updates=updates, name="train")
for _ in range(12):
    train(rng.normal(size=(40, 16, 8)), rng.normal(size=(16, HIDDEN)))
