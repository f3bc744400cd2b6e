"""The guide's first examples: A**k, a polynomial, triangular numbers, and values placed in arrays.

Run:  scanviz profile examples/power.py
"""

import numpy as np

import scanviz
from scanviz import tensor as T


def power() -> None:
    """A**k by k multiplications; only the last value is asked for."""
    k, a = T.iscalar("k"), T.vector("A")
    powers, updates = scanviz.scan(
        lambda prior_result, A: prior_result * A,
        outputs_info=T.ones_like(a),
        non_sequences=a,
        n_steps=k,
        name="power",
    )
    f = scanviz.function([a, k], powers[-1], updates=updates, name="power")
    print("A**2 =", f(np.arange(10.0), 2))
    print("A**4 =", f(np.arange(10.0), 4))
    big = f(np.full(1000, 1.0001), 10_000)
    print("1.0001**10000 =", round(float(big[0]), 6), "expected", round(1.0001**10_000, 6))


def polynomial() -> None:
    """A polynomial from its coefficients: a map over coefficients and their powers, then a sum."""
    coefficients, x = T.vector("coefficients"), T.scalar("x")
    components, _ = scanviz.scan(
        lambda coefficient, power, free_variable: coefficient * free_variable**power,
        sequences=[coefficients, T.arange(10_000)],
        outputs_info=None,
        non_sequences=x,
        name="components",
    )
    f = scanviz.function([coefficients, x], components.sum(), name="polynomial")
    print("1 + 0·3 + 2·3² =", f(np.array([1.0, 0.0, 2.0]), 3.0), "expected 19")


def triangular() -> None:
    """Running sums of 0, 1, 2, …"""
    up_to = T.iscalar("up_to")
    sums, _ = scanviz.scan(
        lambda value, sum_to_date: sum_to_date + value,
        sequences=T.arange(up_to),
        outputs_info=0,
        name="triangular",
    )
    f = scanviz.function([up_to], sums, name="triangular")
    found = f(15)
    assert found.tolist() == [n * (n + 1) // 2 for n in range(15)]
    print("triangular numbers:", found)


def placement() -> None:
    """Arrays of zeros with one value set, one array a step."""
    location, values, model = T.imatrix("location"), T.vector("values"), T.matrix("output_model")

    def set_value_at_position(a_location, a_value, output_model):
        zeros = T.zeros_like(output_model)
        return T.set_subtensor(zeros[a_location[0], a_location[1]], a_value)

    placed, _ = scanviz.scan(
        set_value_at_position,
        sequences=[location, values],
        outputs_info=None,
        non_sequences=model,
        name="placement",
    )
    f = scanviz.function([location, values, model], placed, name="placement")
    result = f(np.array([[1, 1], [2, 3]], np.int32), np.array([42.0, 50.0]), np.zeros((5, 5)))
    print("placed:", result[0, 1, 1], result[1, 2, 3], "sum", result.sum())


if __name__ == "__main__":
    power()
    polynomial()
    triangular()
    placement()
