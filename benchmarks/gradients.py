"""Gradients of loops against back-propagation through time written by hand in NumPy: values first, then ratios.

    python benchmarks/gradients.py [--quick] [--json FILE]

The loop is an RNN with 64 units over 500 steps and a squared error at every step.  By hand means both passes with
preallocated arrays, ``out=`` everywhere and weight gradients added up step by step, as the loop does.  ``build`` is the time
to write the graph and take its gradient, without compiling it; ``compile`` that of ``scanviz.function``.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from common import interleaved, ratio, seconds, write_json

import scanviz
from scanviz import tensor as T

UNITS = 64
GOAL, BUILD_GOAL_MS = 1.2, 30.0


def by_hand(x, y, h0, W, U, b):
    """Return the squared error and its gradients with respect to W, U, b and h0."""
    steps, batch, _ = x.shape
    h = np.empty((steps + 1, batch, UNITS))
    h[0] = h0
    one, two = np.empty((batch, UNITS)), np.empty((batch, UNITS))
    dot, add, multiply, subtract, tanh = np.dot, np.add, np.multiply, np.subtract, np.tanh
    before = h[0]
    for x_t, row in zip(x, h[1:], strict=True):
        dot(x_t, W, one)
        dot(before, U, two)
        add(one, two, one)
        add(one, b, one)
        before = tanh(one, row)
    error = h[1:] - y
    loss = 0.5 * np.sum(error * error)
    grad_W, grad_U, grad_b = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
    weights, bias = np.empty_like(W), np.empty_like(b)
    arriving, unit = np.zeros((batch, UNITS)), np.array(1.0)
    U_turned = U.T
    for x_t, g_t, h_t, earlier in zip(x[::-1], error[::-1], h[:0:-1], h[-2::-1], strict=True):
        add(arriving, g_t, arriving)
        multiply(h_t, h_t, one)
        subtract(unit, one, one)
        multiply(arriving, one, one)
        add(grad_W, dot(x_t.T, one, weights), grad_W)
        add(grad_U, dot(earlier.T, one, weights), grad_U)
        add(grad_b, add.reduce(one, 0, None, bias), grad_b)
        dot(one, U_turned, arriving)
    return loss, grad_W, grad_U, grad_b, arriving


def symbolic():
    """Return the inputs and the squared error with its gradients as graphs."""
    x, y = T.tensor3("x"), T.tensor3("y")
    h0, W, U, b = T.matrix("h0"), T.matrix("W"), T.matrix("U"), T.vector("b")
    h, _ = scanviz.scan(
        lambda x_t, h, W, U, b: T.tanh(T.dot(x_t, W) + T.dot(h, U) + b),
        sequences=x,
        outputs_info=h0,
        non_sequences=[W, U, b],
        name="rnn",
    )
    error = h - y
    loss = 0.5 * T.sum(error * error)
    return [x, y, h0, W, U, b], [loss, *scanviz.grad(loss, [W, U, b, h0])]


def measured(batch: int, steps: int, rounds: int) -> dict[str, object]:
    """Return one row: times of both and their ratio."""
    rng = np.random.default_rng(0)
    shape = (steps, batch, UNITS)
    values = [rng.normal(size=shape), rng.normal(size=shape) / 4, rng.normal(size=(batch, UNITS)) / 4]
    values += [
        rng.normal(size=(UNITS, UNITS)) / 12,
        rng.normal(size=(UNITS, UNITS)) / 8,
        rng.normal(size=UNITS) / 4,
    ]
    symbolic()  # the tables of derivatives are read when first used
    build = min(seconds(symbolic) for _ in range(rounds))
    inputs, outputs = symbolic()
    compiled = seconds(lambda: scanviz.function(inputs, outputs))
    f = scanviz.function(inputs, outputs)
    for mine, theirs in zip(f(*values), by_hand(*values), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)
    hand, numpy_tier = interleaved([lambda: by_hand(*values), lambda: f(*values)], rounds)
    return {
        "loop": f"gradient of an RNN, {UNITS} units, batch {batch}",
        "steps": steps,
        "by_hand_ms": 1e3 * statistics.median(hand),
        "numpy_ms": 1e3 * statistics.median(numpy_tier),
        "ratio": ratio(numpy_tier, hand),
        "goal": GOAL,
        "build_ms": 1e3 * build,
        "build_goal_ms": BUILD_GOAL_MS,
        "compile_ms": 1e3 * compiled,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    steps, rounds = (50, 3) if options.quick else (500, 15)
    print(f"{'loop':<44}{'by hand':>12}{'numpy':>12}{'ratio':>8}{'goal':>6}{'build':>11}{'compile':>11}")
    rows = [measured(batch, steps, rounds) for batch in (1, 32)]
    for row in rows:
        missed = " missed" if row["ratio"] > GOAL or row["build_ms"] > BUILD_GOAL_MS else ""
        print(
            f"{row['loop']:<44}{row['by_hand_ms']:>9.2f} ms{row['numpy_ms']:>9.2f} ms{row['ratio']:>8.2f}{GOAL:>6}"
            f"{row['build_ms']:>8.1f} ms{row['compile_ms']:>8.1f} ms{missed}"
        )
    write_json(options.json, rows, "gradients")


if __name__ == "__main__":
    main()
