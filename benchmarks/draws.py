"""Costs of a draw: a call on NumPy, outside loops and in a step, a number of a large draw, and one in machine code.

    python benchmarks/draws.py [--rounds 5] [--json results/draws.json] [--write]

Times are seconds of the processor, and of the rounds the least.  From loops the same loop without a draw is taken off, from calls
one of a function that draws nothing.  Large draws are compared with those of ``numpy.random.default_rng()``: goals, for uniforms
and normals, are at most 3 times as long, and 10 µs a call outside of loops.  ``--write``
puts the table into docs/reference/times.md, below the comment ``<!-- measured: draws -->``: all figures of the page are there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from common import write_json

import scanviz
from scanviz import Mode
from scanviz import tensor as T

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "times.md"
FEW, MANY, SIZE = 1000, 2000, 64  # steps on NumPy, steps in machine code, numbers a step there
CALLS = 500  # of a function that draws one number
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


BY_NUMPY: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "uniform": lambda random, size: random.uniform(size=size),
    "normal": lambda random, size: random.normal(size=size),
    "exponential": lambda random, size: random.exponential(size=size),
    "gamma": lambda random, size: random.gamma(2.0, size=size),
    "bernoulli": lambda random, size: random.random(size=size) < 0.3,
    "binomial": lambda random, size: random.binomial(10, 0.3, size=size),
    "poisson": lambda random, size: random.poisson(3.0, size=size),
    "integers": lambda random, size: random.integers(0, 10, size=size),
}


def called(function: Callable[[], Any]) -> Callable[[], None]:
    """Return what calls a function often."""

    def calls() -> None:
        for _ in range(CALLS):
            function()

    return calls


def loop(draw: Draw | None, steps: int, size: int, mode: Mode) -> scanviz.Function:
    """Return a function that runs a loop which adds a draw to its state in each step, or nothing drawn."""
    stream = T.random.RandomStreams(seed=1)

    def step(h: scanviz.Variable) -> scanviz.Variable:
        return 0.5 * h + (1.0 if draw is None else draw(stream, (size,)))

    h, updates = scanviz.scan(step, outputs_info=T.zeros(size), n_steps=steps)
    return scanviz.function([], h[-1], updates=updates, mode=mode)


def drawn_before(draw: Draw, steps: int, size: int, mode: Mode) -> scanviz.Function:
    """Return a function that runs the same loop over numbers that are all drawn before it."""
    rows = draw(T.random.RandomStreams(seed=1), (steps, size))
    h, _ = scanviz.scan(lambda row, h: 0.5 * h + row, rows, T.zeros(size))
    return scanviz.function([], h[-1], mode=mode)


def large(draw: Draw) -> scanviz.Function:
    """Return a function that makes as many numbers as the loop in machine code, at once."""
    return scanviz.function([], draw(T.random.RandomStreams(seed=1), (MANY * SIZE,)), mode="numpy")


def least(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
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
    rows = []
    nothing = scanviz.function([], T.constant(1.0) + 0.0, mode="numpy")
    without: dict[str, Callable[[], Any]] = {
        "call": called(nothing),
        "step": loop(None, FEW, 1, stepwise),
        "native": loop(None, MANY, SIZE, native),
    }
    empty = least(without, rounds)
    generator = np.random.default_rng(1)
    for name, draw in DRAWS.items():
        one = scanviz.function([], draw(T.random.RandomStreams(seed=1), ()), mode="numpy")
        functions: dict[str, Callable[[], Any]] = {
            "call": called(one),
            "numpy.random": partial(BY_NUMPY[name], generator, MANY * SIZE),
            "step": loop(draw, FEW, 1, stepwise),
            "large": large(draw),
            "native": loop(draw, MANY, SIZE, native),
            "batched": drawn_before(draw, MANY, SIZE, native),
        }
        np.testing.assert_allclose(functions["native"](), functions["batched"](), rtol=1e-12)
        times = least(functions, rounds)
        rows.append(
            {
                "draw": name,
                "outside_us": (times["call"] - empty["call"]) / CALLS * 1e6,
                "call_us": (times["step"] - empty["step"]) / FEW * 1e6,
                "number_ns": times["large"] / (MANY * SIZE) * 1e9,
                "numpy_random": times["large"] / times["numpy.random"],
                "native_ns": (times["native"] - empty["native"]) / (MANY * SIZE) * 1e9,
                "native_faster": times["batched"] / times["native"],
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as the page's table."""
    lines = [
        "| draw | a call on NumPy, µs | the same in a step | a number of a large draw on NumPy, ns | times `numpy.random` "
        "| a number in machine code, ns | machine code is faster |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        calls = " | ".join(f"{row[key]:.0f}" for key in ("outside_us", "call_us", "number_ns"))
        lines.append(
            f"| `{row['draw']}` | {calls} | {row['numpy_random']:.1f} | {row['native_ns']:.0f} | {row['native_faster']:.1f} times |"
        )
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
