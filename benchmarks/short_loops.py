"""Costs of the default mode beside the NumPy tier for short loops, from the first call on.

    python benchmarks/short_loops.py [--quick] [--only WORD] [--rounds N] [--json FILE]

The default mode counts and at some call compiles.  A row has the whole processor time of the first 1, 10, 100, 1000 … calls in the
default mode, and how many times that of the NumPy tier it is: importing LLVM and compiling are part of it, for each function is
called in a process of its own, forked from one that has called a function on NumPy alone, with no cache on disk.  Building is over
before, also what of it would wait for the first call: it is the same in both modes.  The two modes
take turns, and the shortest times are compared: what other work on the machine adds is never less than nothing.  Memory lies
elsewhere in each round: where it lies may make a call a microsecond longer or ten, in either mode, and always the same in a process
that is forked from the same state.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from time import process_time_ns
from typing import Any

import numpy as np
from common import as_installed, write_json

import scanviz
from scanviz import tensor as T
from scanviz.engine.config import config

MODES = ("auto", "numpy")
CALLS = (1, 10, 100, 1_000, 10_000)
STEPS = (1, 5, 20, 100)
LONGEST_NS = 2e9  # of one function's calls in one mode: with no more than that
GOAL = 1.1
WORTH_NS = 2e5  # what the first call takes more in the default mode is no matter below this: a process takes 100 times as much

Arguments = Callable[[int], tuple[Any, ...]]  # of a call by its number
Case = Callable[[str, int], tuple[Any, Arguments]]  # by the mode and the steps: a function, and its arguments


def scalars(mode: str, steps: int) -> tuple[Any, Arguments]:
    """Numbers from step to step."""
    h, n = T.scalar("h"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda h: h * 0.9 + 0.1, outputs_info=h, n_steps=n)
    return scanviz.function([h, n], rows[-1], mode=mode), lambda k: (0.5, steps)


def rnn(mode: str, steps: int) -> tuple[Any, Arguments]:
    """An RNN of 8 units."""
    x, w = T.matrix("x"), T.matrix("w")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, T.zeros((8,)), w)
    given = np.ones((steps, 8)), np.eye(8)
    return scanviz.function([x, w], rows, mode=mode), lambda k: given


def gradient(mode: str, steps: int) -> tuple[Any, Arguments]:
    """The value and the gradient of a fit, as an optimizer asks for it."""
    w, x = T.vector("w"), T.vector("x")
    model, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w[0] * h + w[1] * x_t), x, 0.0, w)
    loss = ((model - 0.5) ** 2).sum()
    given = np.array([0.5, 0.5]), np.ones(steps)
    return scanviz.function([w, x], [loss, scanviz.grad(loss, w)], mode=mode), lambda k: given


def until(mode: str, steps: int) -> tuple[Any, Arguments]:
    """A stop condition that holds at the last step."""
    x, bound = T.vector("x"), T.scalar("bound")

    def step(h: Any, bound: Any) -> Any:
        following = h * 0.5 + 1.0
        return following, scanviz.until(following.sum() > bound)

    rows, _ = scanviz.scan(step, outputs_info=x, non_sequences=bound, n_steps=10_000)
    following, bounds = np.zeros(4), 0.0
    for _ in range(steps):
        following = following * 0.5 + 1.0
        bounds = following.sum()
    given = np.zeros(4), np.array(bounds - 1e-12)
    return scanviz.function([x, bound], rows, mode=mode), lambda k: given


def three_loops(mode: str, steps: int) -> tuple[Any, Arguments]:
    """Three loops of one function, one after another."""
    x = T.matrix("x")
    rows = x
    for k in range(3):
        rows, _ = scanviz.scan(lambda x_t, h, k=k: T.tanh(x_t * (k + 0.5) - h), rows, T.zeros((4,)))
    given = (np.ones((steps, 4)),)
    return scanviz.function([x], rows, mode=mode), lambda k: given


def two_shapes(mode: str, steps: int) -> tuple[Any, Arguments]:
    """Two widths in turn."""
    function, _ = batches(mode, steps)
    given = [(np.ones((steps, width)),) for width in (4, 6)]
    return function, lambda k: given[k % 2]


def batches(mode: str, steps: int) -> tuple[Any, Arguments]:
    """Another width in each call, of 500."""
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t * 0.5 - h), x, T.zeros_like(x[0]))
    given = [(np.ones((steps, 1 + k * 7 % 500)),) for k in range(500)]
    return scanviz.function([x], rows, mode=mode), lambda k: given[k % 500]


def lengths(mode: str, steps: int) -> tuple[Any, Arguments]:
    """Another number of steps in each call, of 500."""
    function, _ = rnn(mode, steps)
    given = [(np.ones((1 + (steps * 2 - 1) * k // 500, 8)), np.eye(8)) for k in range(500)]
    return function, lambda k: given[k * 7 % 500]


def gradient_lengths(mode: str, steps: int) -> tuple[Any, Arguments]:
    """A gradient, with another number of steps in each call, of 500."""
    function, _ = gradient(mode, steps)
    place = np.array([0.5, 0.5])
    given = [(place, np.ones(1 + (steps * 2 - 1) * k // 500)) for k in range(500)]
    return function, lambda k: given[k * 7 % 500]


CASES: dict[str, Case] = {
    "numbers": scalars,
    "RNN of 8": rnn,
    "value and gradient": gradient,
    "until": until,
    "three loops": three_loops,
    "two widths in turn": two_shapes,
    "another width each time": batches,
    "another length each time": lengths,
    "gradient, another length each time": gradient_lengths,
}


def measured(case: Case, mode: str, steps: int, most: int, number: int = 0) -> list[int]:
    """Return the nanoseconds of the first calls, as many as in each of ``CALLS``; in a numbered process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            held = [bytes(size) for size in range(0, 701 * number, 7)]  # moves what comes after it
            os.write(writing, pickle.dumps(list(_times(case, mode, steps, most))))
            del held
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as text:
        found: list[int] = pickle.loads(text.read())
    os.waitpid(child, 0)
    return found


def _times(case: Case, mode: str, steps: int, most: int) -> Iterator[int]:
    function, arguments = case(mode, steps)
    assert function.program  # it is built whole: what of that waits for the first call is none of a call
    done, begun = count(), process_time_ns()
    for calls in CALLS:
        if calls > most:
            return
        while (k := next(done)) < calls - 1:
            function(*arguments(k))
        function(*arguments(k))
        elapsed = process_time_ns() - begun
        yield elapsed
        if elapsed > LONGEST_NS:
            return


def rows_of(name: str, steps: int, rounds: int, most: int) -> list[dict[str, Any]]:
    """Return the rows of one case."""
    found: dict[str, list[list[int]]] = {mode: [] for mode in MODES}
    for number in range(rounds):
        for mode in MODES if number % 2 else MODES[::-1]:
            found[mode].append(measured(CASES[name], mode, steps, most, number))
    rows = []
    for k in range(min(len(times) for kind in found.values() for times in kind)):
        ours, theirs = ([times[k] for times in found[mode]] for mode in MODES)
        ratio, more = min(ours) / min(theirs), min(ours) - min(theirs)
        rows.append(
            {
                "what": f"{name}, {steps} steps, {CALLS[k]} calls",
                "calls": CALLS[k],
                "numpy_ms": min(theirs) / 1e6,
                "auto_ms": min(ours) / 1e6,
                "ratio": ratio,
                "goal": GOAL,
                "met": bool(ratio <= GOAL or more <= WORTH_NS),
            }
        )
    return rows


def main() -> None:
    """Print a line for each case and number of steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 1000 calls, in 3 rounds")
    parser.add_argument("--only", default="", help="of cases with this in their name")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):  # importing LLVM would take as long as compiling scanviz
        with tempfile.TemporaryDirectory() as byte_code:
            raise SystemExit(subprocess.call([sys.executable, *sys.argv], env=as_installed(byte_code)))
    config.native.cache = "off"
    rounds, most = (min(3, options.rounds), 1000) if options.quick else (options.rounds, CALLS[-1])
    function, arguments = gradient("numpy", 5)
    for k in range(40):
        function(*arguments(k))
    for mode in MODES:  # writes byte code
        measured(scalars, mode, 1000, 1000)
    rows: list[dict[str, Any]] = []
    print(f"{'the default mode beside NumPy, calls:':<40}" + "".join(f"{calls:>9,}" for calls in CALLS))
    for name in CASES:
        if options.only not in name:
            continue
        for steps in STEPS:
            of_case = rows_of(name, steps, rounds, most)
            rows += of_case
            line = "".join(f"{row['ratio']:>8.2f}{' ' if row['met'] else '!'}" for row in of_case)
            print(f"{name + f', {steps} steps':<40}{line}", flush=True)
    print(
        f"{sum(row['met'] for row in rows)} of {len(rows)} at most {GOAL} times NumPy, or {WORTH_NS / 1e6} ms more"
    )
    write_json(options.json, rows, "short_loops")


if __name__ == "__main__":
    sys.exit(main())
