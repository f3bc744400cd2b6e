"""A Kalman filter whose variance of the noise is once negative."""

import numpy as np

import scanviz
from scanviz import tensor as T

x, r = T.vector("x"), T.vector("r")


def step(x_t, r_t, m, p):
    p_next = p + 0.1
    gain = p_next / (p_next + T.sqrt(r_t))  # slow
    return m + gain * (x_t - m), (1 - gain) * p_next


(m, p), _ = scanviz.scan(step, [x, r], [0.0, 1.0], name="kalman")
estimate = scanviz.function([x, r], [m, p], name="filter")
rng = np.random.default_rng(0)
noise = rng.uniform(0.1, 1, 2000)
noise[173] = -5
for _ in range(5):
    estimate(rng.normal(size=2000), noise)
