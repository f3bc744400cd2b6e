"""What rewrites cost and what they buy, on the NumPy tier: the same functions with all rewrites and with none.

    python benchmarks/rewrites.py [--quick] [--json FILE]

*Gain* rows compare times with rewrites and without (the outputs first), each loop in the same process, in turn.  The
``weight gradient`` row has what W_grad alone needs and nothing else: in the step and added up, or as one product after
the loop.  *Cost* rows are the time that all rules take: an LSTM with its gradient, and loops of ever more operations.
NumPy's matrix products use as many threads as they are given: OPENBLAS_NUM_THREADS=1 takes the gain of that away.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import tracemalloc

import numpy as np
from common import interleaved, ratio, seconds, write_json

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection

ALL, NONE = Selection("all"), Selection("none")
LSTM_GOAL_MS, WIDE_GOAL_S = 60.0, 2.0


def rnn(batch, width, units):
    """Return an RNN with its input product in the step, and its inputs."""
    x, W, U = T.tensor3("x"), T.matrix("W"), T.matrix("U")
    h, _ = scanviz.scan(
        lambda x_t, h, W, U: T.tanh(x_t @ W + h @ U), x, T.zeros((batch, units)), [W, U], name="rnn"
    )
    return [x, W, U], h


def rnn_values(steps, batch, width, units):
    rng = np.random.default_rng(0)
    scale = np.sqrt(units)
    return [
        rng.normal(size=(steps, batch, width)),
        rng.normal(size=(width, units)) / np.sqrt(width),
        0.5 * rng.normal(size=(units, units)) / scale,
    ]


def forward(steps, batch, width, units):
    inputs, h = rnn(batch, width, units)
    return inputs, [h], rnn_values(steps, batch, width, units)


def weight_gradient(steps, batch, width, units):
    """Return the sum over the steps of x_tᵀ g_t for given g: the cost of a weight gradient alone."""
    x, g = T.tensor3("x"), T.tensor3("g")
    total, _ = scanviz.scan(
        lambda x_t, g_t, s: s + T.dot(x_t.T, g_t), [x, g], T.zeros((width, units)), name="weight_gradient"
    )
    rng = np.random.default_rng(0)
    return [x, g], [total[-1]], [rng.normal(size=(steps, batch, k)) for k in (width, units)]


def training(steps, batch, width, units):
    inputs, h = rnn(batch, width, units)
    cost = T.sum(h[-1] ** 2)
    wanted = [cost, *scanviz.grad(cost, inputs[1:])]
    return inputs, wanted, rnn_values(steps, batch, width, units)


def sharing(steps, batch, width, units):
    """Return two loops that share half a step."""
    x, W, U = T.tensor3("x"), T.matrix("W"), T.matrix("U")
    start = T.zeros((batch, units))

    def step(last):
        def one(x_t, h, k, W, U):
            shared = T.tanh(x_t @ W + h @ U)
            return shared, last(k @ U + shared)

        return one

    (_, a), _ = scanviz.scan(step(T.tanh), x, [start, start], [W, U], name="one")
    (_, b), _ = scanviz.scan(step(T.sin), x, [start, start], [W, U], name="other")
    return [x, W, U], [a[-1], b[-1]], rnn_values(steps, batch, width, units)


GAINS = [
    ("RNN H 256 batch 32, x_t @ W in the step", forward, (200, 32, 256, 256), 1.2, "all"),
    ("the same with inputs of width 4 H", forward, (200, 32, 1024, 256), 2.0, "all"),
    ("its weight gradient, x_tᵀ g_t added up", weight_gradient, (200, 32, 256, 256), 2.0, "all"),
    ("cost and both weight gradients of it", training, (200, 32, 256, 256), None, "all"),
    ("two loops that share half their step", sharing, (200, 32, 64, 64), 1.2, "merging"),
]


def gain(name, make, sizes, goal, what, rounds, quick):
    steps, *rest = sizes
    inputs, wanted, values = make(min(steps, 20) if quick else steps, *rest)
    base = Mode("numpy", "none") if what == "all" else Mode("numpy").excluding("ScanMerge")
    plain = scanviz.function(inputs, wanted, mode=base)
    mine = scanviz.function(inputs, wanted, mode=Mode("numpy", "all"))
    for a, b in zip(mine(*values), plain(*values), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)
    without, rewritten = interleaved([lambda: plain(*values), lambda: mine(*values)], rounds)
    return {
        "what": name,
        "without_ms": 1e3 * statistics.median(without),
        "with_ms": 1e3 * statistics.median(rewritten),
        "gain": ratio(without, rewritten),
        "goal": goal,
        "against": "no rewrites" if what == "all" else "all but ScanMerge",
    }


def rows_kept(quick):
    """Return the bytes that a power of many steps holds, in rows."""
    steps, width = (10_000, 10_000) if quick else (1_000_000, 10_000)
    a = T.vector("a")
    power, _ = scanviz.scan(
        lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=steps, name="power"
    )
    f = scanviz.function([a], power[-1])
    values = np.full(width, 1.0 + 1e-9)
    f(values)  # compilation takes memory too
    gc.collect()
    tracemalloc.start()
    found = f(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found, values**steps, rtol=1e-6)
    return {"what": f"A**k, {steps} steps of width {width}, result[-1]", "rows": peak / values.nbytes}


def lstm():
    """Return the graph of an LSTM, gate by gate, with the gradient of all its weights."""
    x, h0, c0 = T.tensor3("x"), T.matrix("h0"), T.matrix("c0")
    weights = [T.matrix(name) for name in ("Wi", "Ui", "Wf", "Uf", "Wo", "Uo", "Wc", "Uc")]
    biases = [T.vector(name) for name in ("bi", "bf", "bo", "bc")]

    def step(x_t, h, c, Wi, Ui, Wf, Uf, Wo, Uo, Wc, Uc, bi, bf, bo, bc):
        i = T.sigmoid(x_t @ Wi + h @ Ui + bi)
        f = T.sigmoid(x_t @ Wf + h @ Uf + bf)
        o = T.sigmoid(x_t @ Wo + h @ Uo + bo)
        c = f * c + i * T.tanh(x_t @ Wc + h @ Uc + bc)
        return o * T.tanh(c), c

    (h, _), _ = scanviz.scan(step, x, [h0, c0], [*weights, *biases], name="lstm")
    cost = T.sum(h[-1] ** 2)
    return [cost, *scanviz.grad(cost, [*weights, *biases])]


def wide(outputs, nodes):
    """Return a loop of many outputs and about so many operations in its step, with the gradient of its inputs."""
    x, first = T.matrix("x"), [T.vector(f"h{k}") for k in range(outputs)]

    def step(x_t, *states):
        results = []
        for k, h in enumerate(states):
            value = h
            for j in range(nodes // outputs):
                other = states[(k + j) % outputs]
                value = value * other if j % 3 else T.tanh(value + (x_t if j == 0 else other))
            results.append(value)
        return results

    rows, _ = scanviz.scan(step, x, first, name="wide")
    cost = sum((T.sum(row[-1]) for row in rows), T.constant(0.0))
    return [cost, *scanviz.grad(cost, [x, *first])]


def rewriting(name, make, rounds, goal_ms):
    outputs = make()
    RewriteHistory(outputs, ALL)  # the rules are read when first used
    gc.collect()
    times = [seconds(lambda: RewriteHistory(outputs, ALL)) for _ in range(rounds)]
    return {"what": name, "ms": 1e3 * statistics.median(times), "goal_ms": goal_ms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    rounds = 3 if options.quick else 9
    print(f"{'gain':<48}{'without':>12}{'with':>12}{'gain':>8}{'goal':>7}")
    rows = []
    for name, make, sizes, goal, what in GAINS:
        row = gain(name, make, sizes, goal, what, rounds, options.quick)
        missed = " missed" if goal is not None and row["gain"] < goal else ""
        print(
            f"{name:<48}{row['without_ms']:>9.2f} ms{row['with_ms']:>9.2f} ms{row['gain']:>8.2f}{goal or '':>7}{missed}"
        )
        rows.append(row)
    kept = rows_kept(options.quick)
    print(f"{kept['what']:<48}{kept['rows']:>9.2f} rows of memory at most")
    rows.append(kept)
    print(f"\n{'cost of rewriting':<48}{'time':>12}{'goal':>12}")
    sizes = (200,) if options.quick else (200, 500, 1000, 2000)
    for name, make, count, goal in [
        ("LSTM with its gradient", lstm, rounds, LSTM_GOAL_MS),
        *(
            (f"40 outputs, {n} operations, gradient", lambda n=n: wide(40, n), 3, WIDE_GOAL_S * 1e3 * n / 200)
            for n in sizes
        ),
    ]:
        row = rewriting(name, make, count, goal)
        missed = " missed" if row["ms"] > goal else ""
        print(f"{name:<48}{row['ms']:>9.1f} ms{goal:>9.0f} ms{missed}")
        rows.append(row)
    rows.append(
        {"what": "threads of OpenBLAS", "asked": os.environ.get("OPENBLAS_NUM_THREADS", "its own choice")}
    )
    write_json(options.json, rows, "rewrites")


if __name__ == "__main__":
    main()
