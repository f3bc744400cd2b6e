"""Fit a dynamical system to measurements by gradient descent: hares and lynxes of the Hudson Bay, 1900 to 1920.

Model: A. Lotka (1925) and V. Volterra (1926); hares multiply, lynxes eat them. The equations are integrated by the classical
Runge-Kutta method in a scan, and the gradient of the squared error of logarithms goes back through all of its steps.
Data: thousands of pelts that the Hudson's Bay Company bought (see data/README.md).
"""

from pathlib import Path

import numpy as np

import scanviz
from scanviz import tensor as T

DATA = Path(__file__).parent / "data" / "hudson_bay_pelts.csv"
A_YEAR, ROUNDS, RATE = 8, 300, 0.03  # steps of the integration, of the descent, and its size


def rates(z, theta):
    """Return the change of (hares, lynxes) a year."""
    node_id, eaten, death, fed = (theta[k] for k in range(4))
    hares, lynxes = z[0], z[1]
    return T.stack([(node_id - eaten * lynxes) * hares, (fed * hares - death) * lynxes])


def runge_kutta(z, theta):
    size = 1.0 / A_YEAR
    k1 = rates(z, theta)
    k2 = rates(z + size / 2 * k1, theta)
    k3 = rates(z + size / 2 * k2, theta)
    k4 = rates(z + size * k3, theta)
    return z + size / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


if __name__ == "__main__":
    years, *pelts = np.loadtxt(DATA, delimiter=",", skiprows=1).T
    measured = np.log(np.stack(pelts, axis=1))
    # logarithms of the four rates and of both numbers in the first year, from a rough guess
    start = np.log([0.5, 0.02, 0.9, 0.03, 30.0, 4.0])
    logs = scanviz.shared(start, "logs")
    theta, first = T.exp(logs[:4]), T.exp(logs[4:])
    z, _ = scanviz.scan(
        runge_kutta, outputs_info=first, non_sequences=theta, n_steps=A_YEAR * (len(years) - 1), name="ode"
    )
    modelled = T.log(T.concatenate([first[None], z[A_YEAR - 1 :: A_YEAR]]))
    error = ((modelled - measured) ** 2).mean()
    m, v, count = (scanviz.shared(each) for each in (np.zeros(6), np.zeros(6), 0.0))
    g = scanviz.grad(error, logs)
    m_new, v_new = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    move = RATE * m_new / (1 - 0.9 ** (count + 1)) / (T.sqrt(v_new / (1 - 0.99 ** (count + 1))) + 1e-8)
    updates = {logs: logs - move, m: m_new, v: v_new, count: count + 1}
    descend = scanviz.function([], error, updates=updates, name="descend")
    for k in range(ROUNDS):
        now = float(descend())
        if k in (0, 30, 100, ROUNDS - 1):
            print(f"after {k:>3} steps: mean squared error of logarithms {now:.4f}")
    node_id, eaten, death, fed = np.exp(logs.get_value()[:4])
    print(f"hares: born {node_id:.3f} a year each, eaten {eaten:.4f} a lynx")
    print(f"lynxes: die {death:.3f} a year each, born {fed:.4f} a hare")
