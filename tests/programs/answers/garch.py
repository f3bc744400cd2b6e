"""GARCH(1, 1) fitted by SciPy with the gradient of the loop."""

import numpy as np
from scipy.optimize import minimize

import scanviz
from scanviz import tensor as T

free, returns = T.vector("free"), T.vector("returns")
omega, alpha, beta = T.exp(free[0]), T.sigmoid(free[1]), T.sigmoid(free[2])


def step(r_before, h_before, omega, alpha, beta):
    return omega + alpha * r_before**2 + beta * h_before  # slow


h, _ = scanviz.scan(step, returns[:-1], T.var(returns), [omega, alpha, beta], name="garch")
cost = T.mean(T.log(h) + returns[1:] ** 2 / h)
compiled = scanviz.function([free, returns], [cost, scanviz.grad(cost, free)], name="likelihood")
data = np.random.default_rng(1).normal(size=20_000)
fitted = minimize(lambda p: compiled(p, data), [-1.0, -2.0, 0.0], jac=True, options={"maxiter": 25})
print(fitted.nit)
