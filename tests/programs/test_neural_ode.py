"""A neural differential equation: a Runge–Kutta step in an inner loop between observations, trained through both loops.

The cost and its gradient are compared with the adjoint of the discretised equation, by hand in NumPy.

Source: R. Chen, Y. Rubanova, J. Bettencourt, D. Duvenaud, "Neural ordinary differential equations", NeurIPS 2018; the
adjoint is that of the steps themselves ("discretise, then differentiate").
"""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T

TIERS = [Mode(backend, rewrites) for backend in ("numpy", "reference") for rewrites in ("all", "none")]
CUPY = pytest.param(Mode("cupy"), marks=pytest.mark.gpu, id="cupy")
WIDTH, OBSERVED, SUBSTEPS, DT = 6, 5, 3, 0.1
SHARES, PARTS = (
    (0.0, 0.5, 0.5, 1.0),
    (1, 2, 2, 1),
)  # of the slope before in a stage's point, of a stage in the step


def problem(seed):
    """Return starting weights, where the spiral begins, and where it is when it is looked at."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(WIDTH, 2)), rng.normal(size=WIDTH) * 0.1, rng.normal(size=(2, WIDTH)) * 0.4]
    start, at = np.array([2.0, 0.0]), SUBSTEPS * DT * np.arange(1, OBSERVED + 1)
    turned = np.stack([np.cos(2 * at), np.sin(2 * at)], axis=1)
    return weights, start, 2.0 * np.exp(-0.3 * at)[:, None] * turned


def cost_of(start, seen, w, b, v):
    """Return half the mean squared distance to the observations, and the path."""

    def slope(y):
        return T.dot(v, T.tanh(T.dot(w, y) + b))

    def runge_kutta(y):
        one = slope(y)
        two = slope(y + DT / 2 * one)
        three = slope(y + DT / 2 * two)
        return y + DT / 6 * (one + 2 * two + 2 * three + slope(y + DT * three))

    def to_next(y):
        between, _ = scanviz.scan(runge_kutta, outputs_info=y, n_steps=SUBSTEPS, name="runge_kutta")
        return between[-1]

    path, _ = scanviz.scan(to_next, outputs_info=start, n_steps=OBSERVED, name="path")
    return 0.5 * T.mean((path - seen) ** 2), path


def by_hand(start, seen, w, b, v):
    """Return the cost, the path, and the gradients with respect to start, w, b and v."""
    y, path, kept = start, [], []
    for _ in range(OBSERVED):
        for _ in range(SUBSTEPS):
            stages, k = [], np.zeros(2)
            for share in SHARES:
                at = y + DT * share * k
                hidden = np.tanh(w @ at + b)
                k = v @ hidden
                stages.append((at, hidden, k))
            kept.append(stages)
            y = y + DT / 6 * sum(part * stage[2] for part, stage in zip(PARTS, stages, strict=True))
        path.append(y)
    error = (np.array(path) - seen) / seen.size
    grads = [np.zeros_like(each) for each in (w, b, v)]
    adjoint = np.zeros(2)
    for number in reversed(range(OBSERVED * SUBSTEPS)):
        if (number + 1) % SUBSTEPS == 0:
            adjoint = adjoint + error[number // SUBSTEPS]
        total, later = adjoint, np.zeros(2)  # later: the cotangent of this slope from the next stage
        for k in (3, 2, 1, 0):
            at, hidden, _ = kept[number][k]
            of_slope = DT * PARTS[k] / 6 * adjoint + later
            inside = (v.T @ of_slope) * (1 - hidden**2)
            grads[2] += np.outer(of_slope, hidden)
            grads[1] += inside
            grads[0] += np.outer(inside, at)
            of_point = w.T @ inside
            total = total + of_point
            later = DT * SHARES[k] * of_point
        adjoint = total
    cost = 0.5 * np.mean((np.array(path) - seen) ** 2)
    return cost, np.array(path), adjoint, *grads


def symbolic():
    variables = [T.vector("start"), T.matrix("seen"), T.matrix("w"), T.vector("b"), T.matrix("v")]
    cost, path = cost_of(*variables)
    return variables, cost, path


@pytest.mark.parametrize("mode", [*TIERS, CUPY], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_cost_path_and_gradients_are_those_of_the_adjoint_by_hand(mode, seed):
    variables, cost, path = symbolic()
    start, _, *weights = variables
    f = scanviz.function(variables, [cost, path, *scanviz.grad(cost, [start, *weights])], mode=mode)
    values, begin, seen = problem(seed)
    for mine, theirs in zip(f(begin, seen, *values), by_hand(begin, seen, *values), strict=True):
        np.testing.assert_allclose(np.asarray(mine), theirs, rtol=1e-9, atol=1e-12)
