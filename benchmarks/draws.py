"""What a draw costs: a call in a step on NumPy, one number of a large draw, and one number that machine code draws in its step.

    python benchmarks/draws.py [--rounds 5] [--json results/draws.json] [--write]

Times are seconds of the processor, and of the rounds the least.  From loops the same loop without a draw is taken off.  ``--write``
puts the table into docs/random.md, below the comment ``<!-- measured: draws -->``: all figures of the page are there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from common import write_json

import scanviz
from scanviz import Mode
from scanviz import tensor as T

PAGE = Path(__file__).resolve().parent.parent / "docs" / "random.md"
FEW, MANY, SIZE = 1000, 2000, 64  # steps on NumPy, steps in machine code, numbers a step there
Draw = Callable[[T.random.RandomStreams, Any], Any]
DRAWS: dict[str, Draw] = {
    "uniform": lambda stream, size: stream.uniform(size=size),
    "normal": lambda stream, size: stream.normal(size=size),
    "exponential": lambda stream, size: stream.exponential(size=size),
    "gamma": lambda stream, size: stream.gamma(2.0, size=size),
    "bernoulli": lambda stream, size: stream.bernoulli(0.3, size=size),
    "binomial": lambda stream, size: stream.binomial(10, 0.3, size=size),
    "poisson": lambda stream, size: stream.poisson(3.0, size=size),
    "integers": lambda stream, size: stream.integers(0, 10, size=size),
}


def loop(draw: Draw | None, steps: int, size: int, mode: Mode) -> scanviz.Function:
    """Return a function that runs a loop which adds a draw to its state in each step, or nothing drawn."""
    stream = T.random.RandomStreams(seed=1)

    def step(h: scanviz.Variable) -> scanviz.Variable:
        return 0.5 * h + (1.0 if draw is None else draw(stream, (size,)))

    h, updates = scanviz.scan(step, outputs_info=T.zeros(size), n_steps=steps)
    return scanviz.function([], h[-1], updates=updates, mode=mode)


def large(draw: Draw) -> scanviz.Function:
    """Return a function that makes as many numbers as the loop in machine code, at once."""
    return scanviz.function([], draw(T.random.RandomStreams(seed=1), (MANY * SIZE,)).sum(), mode="numpy")


def least(functions: dict[str, scanviz.Function], rounds: int) -> dict[str, float]:
    """Return the least seconds of the processor that a call took, the functions called in turn."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for counted in range(rounds + 1):
        for name, function in functions.items():
            begun = process_time()
            function()
            if counted:  # the first call compiles
                found[name].append(process_time() - begun)
    return {name: min(times) for name, times in found.items()}


def measured(rounds: int) -> list[dict[str, Any]]:
    """Return a row for each distribution: a call in microseconds, numbers in nanoseconds."""
    stepwise, native = Mode("numpy").excluding("batch_draws"), Mode("native")
    batched = native.including("batch_draws")
    rows = []
    empty = least({"step": loop(None, FEW, 1, stepwise), "native": loop(None, MANY, SIZE, native)}, rounds)
    for name, draw in DRAWS.items():
        functions = {
            "step": loop(draw, FEW, 1, stepwise),
            "large": large(draw),
            "native": loop(draw, MANY, SIZE, native),
            "batched": loop(draw, MANY, SIZE, batched),
        }
        np.testing.assert_allclose(functions["native"](), functions["batched"](), rtol=1e-12)
        times = least(functions, rounds)
        rows.append(
            {
                "draw": name,
                "call_us": (times["step"] - empty["step"]) / FEW * 1e6,
                "number_ns": times["large"] / (MANY * SIZE) * 1e9,
                "native_ns": (times["native"] - empty["native"]) / (MANY * SIZE) * 1e9,
                "native_faster": times["batched"] / times["native"],
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as the page's table."""
    lines = [
        "| draw | a call on NumPy, µs | a number of a large draw on NumPy, ns | a number in machine code, ns "
        "| machine code is faster |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        cells = " | ".join(f"{row[key]:.0f}" for key in ("call_us", "number_ns", "native_ns"))
        lines.append(f"| `{row['draw']}` | {cells} | {row['native_faster']:.1f} times |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--write", action="store_true", help="put what was measured into the page")
    options = parser.parse_args()
    rows = measured(options.rounds)
    print(table(rows))
    write_json(options.json, rows, "draws")
    if options.write:
        page = PAGE.read_text("utf-8")
        found, count = re.subn(
            r"(<!-- measured: draws -->\n\n)(?:\|[^\n]*\n)*", lambda match: match[1] + table(rows), page
        )
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} places for the table")
        PAGE.write_text(found, "utf-8")


if __name__ == "__main__":
    main()
