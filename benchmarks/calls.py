"""Costs of a short call, plain and profiled, beside another checkout of scanviz.

    python benchmarks/calls.py [--quick] [--before FOLDER] [--rounds N] [--json FILE]

Each checkout runs in a process of its own; batches of calls take turns, and the clock is the thread's own, so that other work on
the machine counts little.  ``git worktree add FOLDER COMMIT`` makes the folder.

What a call costs beside its steps is its shortest time with 50 steps, less 50 times what it takes longer a step with 550.  That of
a function of value and gradient holds what it computes outside of its two loops.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE, CALLS = Path(__file__).resolve().parent.parent, 100
FEW, MANY = 50, 550  # steps
BESIDE_US = 15  # the goal
SETTLED, QUICKLY = (
    8000,
    100,
)  # calls after which nothing of a short function is compiled any more; too few for that


def loop_of(start: Any, steps: Any, name: str, step: Callable[[Any], Any]) -> Any:
    import scanviz

    rows, _ = scanviz.scan(step, outputs_info=start, n_steps=steps, name=name)
    return rows[-1]


def functions() -> dict[str, tuple[Any, int]]:
    """Return by name a function of a vector and a number of steps, and that number."""
    import numpy as np

    import scanviz
    from scanviz import tensor as T

    x, n = T.vector("x"), T.lscalar("n")

    def inner(h):
        return T.tanh(h * 0.9)

    last = loop_of(x, n, "loop", inner)
    nested = loop_of(x, n, "outer", lambda h: loop_of(h, n, "inner", inner) + 1)
    chain = x
    for k in range(12):
        chain = loop_of(chain, n, f"loop {k}", inner) * 2
    weight = scanviz.shared(np.ones(3), name="weight")
    plain = scanviz.function([x, n], last, mode="numpy")
    update = scanviz.function([x, n], last, updates=[(weight, weight * 0.5 + last.sum())], mode="numpy")
    return {
        "1 step": (plain, 1),
        "20 steps": (plain, 20),
        "20 steps, an update": (update, 20),
        "6 loops in a loop": (scanviz.function([x, n], nested, mode="numpy"), 6),
        "12 loops": (scanviz.function([x, n], chain, mode="numpy"), 3),
    }


def work() -> None:
    """Time a batch of calls for each line read: the function's name and whether a session watches, parted by a tab."""
    import numpy as np

    import scanviz

    made, start, session = functions(), np.linspace(-1, 1, 8), scanviz.profile()

    def batch(name: str) -> float:
        f, steps = made[name]
        f(start, steps)
        begun = time.thread_time_ns()
        for _ in range(CALLS):
            f(start, steps)
        return (time.thread_time_ns() - begun) / CALLS / 1000

    for name in made:
        batch(name)
    print("\t".join(made), flush=True)
    for line in sys.stdin:
        name, watched = line.rstrip("\n").split("\t")
        if watched == "profiled":
            with session:
                print(batch(name), flush=True)
        else:
            print(batch(name), flush=True)


class Worker:
    """A process that measures one checkout."""

    def __init__(self, checkout: Path) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--work"]
        paths = {**os.environ, "PYTHONPATH": str(checkout)}
        self.process = subprocess.Popen(
            command, env=paths, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.names = self._line().split("\t")

    def _line(self) -> str:
        line = self.process.stdout.readline() if self.process.stdout is not None else ""
        if not line:
            raise SystemExit("a process that measures ended early")
        return line.rstrip("\n")

    def ask(self, name: str, how: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\t{how}\n")
        self.process.stdin.flush()
        return float(self._line())


def measured(workers: list[Worker], name: str, how: str, rounds: int) -> dict[str, Any]:
    """Return one row of the table."""
    found: list[list[float]] = [[] for _ in workers]
    for _ in range(rounds):
        for times, worker in zip(found, workers, strict=True):
            times.append(worker.ask(name, how))
    row: dict[str, Any] = {"call": name, "how": how, "us": statistics.median(found[0])}
    if len(workers) == 2:
        row["before_us"] = statistics.median(found[1])
        row["ratio"] = statistics.median(a / b for a, b in zip(*found, strict=True))
    return row


def beside(rounds: int, warmup: int) -> list[dict[str, Any]]:
    """Return the cost of a call without its steps, on each available tier."""
    import numpy as np

    import scanviz
    from scanviz import tensor as T

    h, n, w, x = T.scalar("h"), T.lscalar("n"), T.vector("w"), T.vector("x")
    last = loop_of(h, n, "loop", lambda h: h * 0.9 + 0.1)
    model, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w[0] * h + w[1] * x_t), x, 0.0, w, name="model")
    loss = ((model - 0.5) ** 2).sum()
    both, place, rows = [loss, scanviz.grad(loss, w)], np.array([0.5, 0.5]), []
    arrays = {steps: np.ones(steps) for steps in (FEW, MANY)}
    for tier in ("numpy", "native", "auto") if find_spec("llvmlite") else ("numpy",):
        scalar = scanviz.function([h, n], last, mode=tier)
        slope = scanviz.function([w, x], both, mode=tier)
        for name, call, goal in (
            ("one number", lambda steps, f=scalar: f(1.0, steps), BESIDE_US),
            ("value and gradient", lambda steps, f=slope: f(place, arrays[steps]), BESIDE_US),
        ):
            warm_up(call, warmup)
            few, many = (min(times) for times in in_turns(call, (FEW, MANY), rounds))
            cost = few - FEW * max(0.0, many - few) / (MANY - FEW)
            rows.append({"call": f"{name}, {tier}", "how": "beside its steps", "us": cost, "goal": goal})
    return rows


def warm_up(call: Callable[[int], object], calls: int) -> None:
    """Call a function often enough for its compilation, which depends on counts."""
    for steps in (FEW, MANY):
        for _ in range(calls):
            call(steps)


def in_turns(call: Callable[[int], object], steps: tuple[int, ...], rounds: int) -> list[list[float]]:
    """Return the microseconds of a call with each number of steps, batch by batch."""
    found: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds + 1):  # the first batch warms up
        for times, count in zip(found, steps, strict=True):
            begun = time.thread_time_ns()
            for _ in range(CALLS):
                call(count)
            times.append((time.thread_time_ns() - begun) / CALLS / 1000)
    return [times[1:] for times in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    parser.add_argument("--quick", action="store_true", help="time functions before they are compiled")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    from common import write_json  # puts this checkout in front

    workers = [Worker(each) for each in (HERE, options.before) if each is not None]
    rows = []
    print(f"{'a call':<22}{'':>10}{'now':>12}{'before':>12}{'ratio':>8}")
    for name in workers[0].names:
        for how in ("plain", "profiled"):
            row = measured(workers, name, how, options.rounds)
            rows.append(row)
            before = f"{row['before_us']:>9.1f} µs{row['ratio']:>8.3f}" if "ratio" in row else ""
            print(f"{name:<22}{how:>10}{row['us']:>9.1f} µs{before}", flush=True)
    for row in beside(options.rounds, QUICKLY if options.quick else SETTLED):
        rows.append(row)
        missed = " missed" if row["goal"] is not None and row["us"] > row["goal"] else ""
        goal = "" if row["goal"] is None else f"   goal {row['goal']} µs{missed}"
        print(f"{row['call']:<28} beside its steps{row['us']:>9.1f} µs{goal}", flush=True)
    for worker in workers:
        worker.process.stdin.close()
        worker.process.wait()
    write_json(options.json, rows, "calls")


if __name__ == "__main__":
    main()
