"""A SIR epidemic in many towns, simulated day by day: the binomial draws are most of it."""

import numpy as np

import scanviz
from scanviz import tensor as T

random = T.random.RandomStreams(seed=1)
s0, i0 = T.lvector("s0"), T.lvector("i0")


def day(s, i, population):
    risk = 1 - T.exp(-0.3 * i / population)
    infected = random.binomial(s, risk)  # slow
    recovered = i // 10
    return s - infected, i + infected - recovered


(s, i), updates = scanviz.scan(day, None, [s0, i0], s0 + i0, n_steps=400, name="sir")
simulate = scanviz.function([s0, i0], [s[-1], i[-1]], updates=updates, name="simulate")
for _ in range(5):
    simulate(np.full(200, 990), np.full(200, 10))
