"""Gibbs sampling: draws from a correlated normal distribution by its two conditionals, inside the loop.

Random states are carried from step to step; each call goes on where the last one stopped. Checked against the known mean,
variance and correlation. Source: S. Geman, D. Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian
restoration of images", 1984.
"""

import numpy as np

import scanviz
from scanviz import tensor as T

CORRELATION, CHAINS, STEPS = 0.8, 64, 2000


def build():
    stream = T.random.RandomStreams(seed=1984)
    spread = np.sqrt(1 - CORRELATION**2)
    steps = T.lscalar("steps")

    def sweep(x_tm1, y_tm1):
        x_t = CORRELATION * y_tm1 + spread * stream.normal(size=CHAINS)
        y_t = CORRELATION * x_t + spread * stream.normal(size=CHAINS)
        return x_t, y_t

    (x, y), updates = scanviz.scan(
        sweep, outputs_info=[T.zeros(CHAINS), T.zeros(CHAINS)], n_steps=steps, name="gibbs"
    )
    return scanviz.function([steps], [x, y], updates=updates, name="sample")


if __name__ == "__main__":
    sample = build()
    x, y = sample(STEPS)
    kept = slice(100, None)
    a, b = x[kept].ravel(), y[kept].ravel()
    print(
        f"means {a.mean():+.3f} {b.mean():+.3f} (expected 0), variances {a.var():.3f} {b.var():.3f} (expected 1)"
    )
    print(f"correlation {np.corrcoef(a, b)[0, 1]:.3f} (expected {CORRELATION})")
    again, _ = sample(10)
    print("the next call goes on with other numbers:", not np.array_equal(again, x[:10]))
