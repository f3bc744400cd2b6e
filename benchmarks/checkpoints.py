"""What checkpoints save and cost: the gradient of the last state over many steps, with and without.

    python benchmarks/checkpoints.py [--quick] [--json FILE]

The loops have 64 units and 100 000 steps: one with an elementwise step, one with a matrix product in it.  Memory is the peak of
a call beyond what was held before it, as tracemalloc sees it (NumPy reports every array to it), less the results that the call
returns; inputs are held before it.  Values are compared first; times are medians of rounds taken in turn.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tracemalloc

import numpy as np
from common import interleaved, ratio, write_json

import scanviz
from scanviz import tensor as T

UNITS = 64
SMALLER, SLOWER = 50, 1.6  # goals: memory at most 1/50, time at most 1.6 times


def elementwise(h, w, b):
    return T.tanh(h * w + b)


def recurrent(h, U, b):
    return T.tanh(T.dot(h, U) + b)


def make(step, rank: int, checkpoints: bool):
    """Return the function of the last state's sum of squares and its gradient with respect to the weights and h0."""
    h0, b, n = T.vector("h0"), T.vector("b"), T.lscalar("n")
    w = T.vector("w") if rank == 1 else T.matrix("w")
    options = dict(outputs_info=h0, non_sequences=[w, b], n_steps=n, name=step.__name__)
    loop, extra = (scanviz.scan_checkpoints, {"save_every_N": "auto"}) if checkpoints else (scanviz.scan, {})
    h, _ = loop(step, **options, **extra)
    cost = T.sum(h[-1] ** 2)
    return scanviz.function([h0, w, b, n], [cost, *scanviz.grad(cost, [w, b, h0])])


def peak(f, values) -> int:
    """Return the peak bytes of a call beyond those held before and its results."""
    f(*values)
    gc.collect()
    tracemalloc.start()
    results = f(*values)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held - sum(result.nbytes for result in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    steps, rounds = (2_000, 2) if options.quick else (100_000, 5)
    rng = np.random.default_rng(0)
    print(
        f"{'loop':<14}{'all rows':>12}{'checkpoints':>13}{'smaller':>9}{'time':>12}{'time':>12}{'ratio':>8}"
    )
    rows = []
    for step, weights in (
        (elementwise, rng.normal(size=UNITS)),
        (recurrent, rng.normal(size=(UNITS, UNITS)) / 8),
    ):
        values = [rng.normal(size=UNITS), weights, rng.normal(size=UNITS), steps]
        plain, saving = (make(step, weights.ndim, checkpoints) for checkpoints in (False, True))
        for mine, theirs in zip(saving(*values), plain(*values), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-10)
        memory = [peak(f, values) for f in (plain, saving)]
        times = interleaved([lambda f=f, v=values: f(*v) for f in (plain, saving)], rounds)
        row = {
            "loop": step.__name__,
            "steps": steps,
            "bytes": memory[0],
            "bytes_with_checkpoints": memory[1],
            "smaller": memory[0] / memory[1],
            "goal_smaller": SMALLER,
            "seconds": statistics.median(times[0]),
            "seconds_with_checkpoints": statistics.median(times[1]),
            "ratio": ratio(times[1], times[0]),
            "goal_ratio": SLOWER,
        }
        rows.append(row)
        missed = " missed" if row["smaller"] < SMALLER or row["ratio"] > SLOWER else ""
        print(
            f"{row['loop']:<14}{memory[0] / 1e6:>9.2f} MB{memory[1] / 1e6:>10.3f} MB{row['smaller']:>8.0f}x"
            f"{row['seconds']:>10.2f} s{row['seconds_with_checkpoints']:>10.2f} s{row['ratio']:>8.2f}{missed}"
        )
    write_json(options.json, rows, "checkpoints")


if __name__ == "__main__":
    main()
