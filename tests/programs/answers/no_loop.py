"""A script without loops: the eigenvalues are most of it."""

import numpy as np

import scanviz
from scanviz import tensor as T

A = T.matrix("A")
symmetric = (A + A.T) / 2
values, _ = T.linalg.eigh(symmetric)  # slow
f = scanviz.function([A], T.log1p(values**2).sum(), name="spectrum")
for _ in range(20):
    f(np.random.default_rng(0).normal(size=(120, 120)))
