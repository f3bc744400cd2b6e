"""What profiling costs: the same code plain and profiled in turns, beside what the profile itself states.

    python benchmarks/overhead.py [--quick] [--json FILE]

Times are of the thread's CPU clock, so that what else runs on the machine does not count.  *Stated* is the slowdown that the
profile tells: of the loop, or of the whole run where calls are measured; it is of the wall clock and wants a quiet machine.  For
the first call *stated* is what the profile shows of it, as a multiple of the first call of the same function without a profile.
Start-up is a process that does next to nothing, under python, cProfile and scanviz.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time_ns
from typing import Any, NamedTuple

import numpy as np
from common import write_json

import scanviz
from scanviz import tensor as T

TINY = "import numpy, scanviz\n"
STARTUP_MS = 20  # beyond cProfile's


class Case(NamedTuple):
    """What is run plain and profiled.

    Attributes
    ----------
    name : str
        What it is.
    goal : float or None
        The largest slowdown aimed at.
    work : callable
        Does it once.
    per : int
        Steps, runs or calls in it: times are shown for one.
    loop : str or None
        The loop whose slowdown is stated; None for the whole run.
    """

    name: str
    goal: float | None
    work: Callable[[], object]
    per: int
    loop: str | None


def cpu_ns(work: Callable[[], object]) -> int:
    begun = thread_time_ns()
    work()
    return thread_time_ns() - begun


def steps_of(kind: str) -> tuple[Any, Any]:
    """Return a function of a start and a number of steps whose steps take about 0.1, 1, 5 or 20 µs, and the start."""
    width, times = {"0.1": (None, 1), "1": (4, 2), "5": (64, 1), "20": (64, 4)}[kind]
    start = T.scalar("h") if width is None else T.vector("h")
    n = T.lscalar("n")

    def step(h: Any) -> Any:
        for _ in range(times):
            h = h * 0.9 + 0.1 if width in (None, 4) else T.tanh(h * 0.9)
        return h

    rows, _ = scanviz.scan(step, outputs_info=start, n_steps=n, name="loop")
    return scanviz.function([start, n], rows[-1], name="f"), 1.0 if width is None else np.ones(width)


def nested(rows: int, columns: int) -> Callable[[], object]:
    x, n = T.matrix("x"), T.lscalar("n")
    totals, _ = scanviz.scan(
        lambda r: scanviz.scan(lambda s: T.tanh(s * 0.9), None, r, n_steps=n, name="inner")[0][-1],
        x,
        name="outer",
    )
    f, values = scanviz.function([x, n], totals), np.ones((rows, 8))
    return lambda: f(values, columns)


def minimised(calls: int) -> Callable[[], object]:
    """Return what calls a function with value and gradient as ``scipy.optimize.minimize(jac=True)`` does."""
    w, x = T.vector("w"), T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w[0] * h + w[1] * x_t), x, 0.0, w, name="model")
    loss = ((rows - 0.5) ** 2).sum()
    f = scanviz.function([w, x], [loss, scanviz.grad(loss, w)], name="loss")
    values = np.linspace(0, 1, 20)

    def work() -> None:
        place = np.array([0.5, 0.5])
        for _ in range(calls):
            f(place, values)

    return work


def cases(quick: bool) -> list[Case]:
    """Return what is measured; less of it with ``quick``."""
    scale, found = 20 if quick else 1, []
    for kind, goal, steps in (
        ("0.1", None, 200_000),
        ("1", 1.15, 40_000),
        ("5", 1.03, 10_000),
        ("20", 1.03, 3_000),
    ):
        (f, start), count = steps_of(kind), steps // scale
        found.append(Case(f"steps of {kind} µs", goal, lambda f=f, s=start, n=count: f(s, n), count, "loop"))
    runs = 100_000 // (10 * scale)
    f, start = steps_of("5")

    def one_step() -> None:
        for _ in range(runs):
            f(start, 1)

    found.append(Case("calls of one step", None, one_step, runs, None))
    found.append(Case("loops of one step, nested", 1.5, nested(runs, 1), runs, "inner"))
    found.append(Case("loops of ten steps, nested", 1.5, nested(runs // 4, 10), runs // 4, "inner"))
    calls = 10_000 // (10 * scale)
    found.append(Case("value and gradient, many calls", 1.3, minimised(calls), calls, None))
    return found


def stated(record: Any, loop: str | None) -> float:
    """Return the slowdown that a profile tells."""
    if loop is not None:
        (found,) = (each for each in record.loops if each.name == loop)
        return float(found.slowdown)
    shown = sum(
        each.total_ns + each.call_parts.checks_ns + each.call_parts.copies_ns for each in record.functions
    )
    in_steps = sum(each.cost_ns for each in record.loops)
    return float((shown - in_steps + record.cost.total_ns) / (shown - in_steps))


def measured(case: Case, rounds: int) -> dict[str, Any]:
    """Return one row of the table: medians of runs in turns, all profiled ones in one profile."""
    session = scanviz.profile()

    def profiled() -> None:
        with session:
            case.work()

    case.work()
    profiled()
    session = scanviz.profile()
    pairs = [(cpu_ns(case.work), cpu_ns(profiled)) for _ in range(rounds)]
    plain = statistics.median(before for before, _ in pairs)
    return {
        "what": case.name,
        "plain_us": plain / case.per / 1e3,
        "slowdown": statistics.median(after / before for before, after in pairs),
        "stated": stated(session.record, case.loop),
        "goal": case.goal,
    }


def first_calls(rounds: int) -> dict[str, Any]:
    """Return the row of first calls: as a profile shows them, and as they are without one."""
    plain, shown, whole = [], [], []
    for _ in range(rounds):
        f, start = steps_of("5")
        plain.append(cpu_ns(lambda f=f, s=start: f(s, 100)))
        f, start = steps_of("5")
        with scanviz.profile() as session:
            whole.append(cpu_ns(lambda f=f, s=start: f(s, 100)))
        shown.append(session.record.functions[0].first_ns)
    usual = statistics.median(plain)
    return {
        "what": "first call, as it is shown",
        "plain_us": usual / 1e3,
        "slowdown": statistics.median(whole) / usual,
        "stated": statistics.median(shown) / usual,
        "goal": None,
    }


def startup(rounds: int) -> dict[str, float]:
    """Return the milliseconds of CPU that cProfile and scanviz add to a process that does next to nothing."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "tiny.py"
        script.write_text(TINY)
        ways = {
            "python": [str(script)],
            "cProfile": ["-m", "cProfile", "-o", f"{folder}/tiny.prof", str(script)],
            "scanviz": ["-m", "scanviz", "profile", "-o", f"{folder}/tiny.scanviz", str(script)],
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, arguments in ways.items():
                times[name].append(_process_ms([sys.executable, *arguments], folder))
    usual = statistics.median(times["python"])
    return {name: statistics.median(found) - usual for name, found in times.items() if name != "python"}


def _process_ms(command: list[str], folder: str) -> float:
    before = os.times()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = os.times()
    return 1e3 * (after.children_user + after.children_system - before.children_user - before.children_system)


def _line(row: dict[str, Any]) -> str:
    missed = (
        ""
        if row["goal"] is None
        else f"{row['goal']:>7.2f}" + (" missed" if row["slowdown"] > row["goal"] else "")
    )
    return (
        f"{row['what']:<32}{row['plain_us']:>10.2f} µs{row['slowdown']:>10.2f}{row['stated']:>9.2f}{missed}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs, fewer of them")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    rounds = 5 if options.quick else 21
    print(f"{'':<32}{'plain':>13}{'slowdown':>10}{'stated':>9}{'goal':>7}")
    rows = []
    for case in cases(options.quick):
        rows.append(measured(case, rounds))
        print(_line(rows[-1]), flush=True)
    rows.append(first_calls(rounds))
    print(_line(rows[-1]), flush=True)
    added = startup(3 if options.quick else 9)
    over = added["scanviz"] - added["cProfile"]
    print(
        f"start-up: cProfile {added['cProfile']:.0f} ms, scanviz {added['scanviz']:.0f} ms of CPU"
        f" (goal: at most {STARTUP_MS} ms more{' missed' if over > STARTUP_MS else ''})"
    )
    write_json(options.json, [*rows, {"what": "start-up", **added}], "overhead")


if __name__ == "__main__":
    main()
