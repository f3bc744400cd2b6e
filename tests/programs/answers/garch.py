"""An exponential GARCH fitted by SciPy with the gradient of the loop."""

import numpy as np
from scipy.optimize import minimize

import scanviz
from scanviz import tensor as T

free, returns = T.vector("free"), T.vector("returns")


def step(r_before, log_h, free):
    z = r_before * T.exp(-0.5 * log_h)
    news = T.tanh(free[1]) * (T.sqrt(z**2 + 0.01) - 0.8) + 0.1 * T.sin(z)  # slow
    return free[0] + news + T.tanh(free[2]) * log_h


log_h, _ = scanviz.scan(step, returns[:-1], 0.0, free, name="garch")
cost = T.mean(log_h + returns[1:] ** 2 * T.exp(-log_h))
compiled = scanviz.function([free, returns], [cost, scanviz.grad(cost, free)], name="likelihood")
data = np.random.default_rng(1).normal(size=20_000)
fitted = minimize(lambda p: compiled(p, data), [-0.1, 0.1, 0.5], jac=True, options={"maxiter": 25})
print(fitted.nit)
