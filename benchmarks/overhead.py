"""Costs of profiling: the same code plain and profiled in turns, beside the profile's own statement.

    python benchmarks/overhead.py [--quick] [--json FILE]

Rows are of the NumPy tier unless they are marked native.  Steps of 1, 5 and 20 µs are that long on this machine: the width of
their vectors is found at the start, by the CPU time of plain calls.  Times are of the thread's CPU clock, so that what else
runs on the machine does not count.  *Stated* is the slowdown in the profile: of the loop, or of the whole run where calls or
nested loops are measured, for that is what takes longer; it is of the wall clock and wants a quiet machine.  A row is marked
*untrue* where it is off by more than a third of what is added.  For the first call *stated* is what the profile shows of it, as
a multiple of the first call of the same function without a profile.  Start-up is a process that does next to nothing, under
python, cProfile and scanviz.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time_ns
from typing import Any, NamedTuple

import numpy as np
from common import as_installed, print_goals, write_json

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability

TINY = "import numpy, scanviz\n"
STARTUP_MS = 20  # beyond cProfile's
TOLERANCE, LITTLE = 1 / 3, 0.05  # of what a profile adds, as it is stated: of it, and of the plain time
FIRST_CALL = (
    1.1  # what is shown of a first call beside one without a profile: no code of the profiler's is in it
)
NARROW, WIDE = 16, 2048  # elements that steps are measured with, to find how many take so long
FIRST = "first call, as it is shown"
LENGTHS = {1: 1, 5: 2, 20: 4}  # microseconds of a step, and how many tanh it has


class Case(NamedTuple):
    """A function that is run plain and profiled.

    Attributes
    ----------
    name : str
        Its description.
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


def scalar_steps(tier: str = "numpy") -> tuple[Any, Any]:
    """Return a function of a start and a number of steps whose steps are as short as steps are, and the start."""
    return _function(lambda h: h * 0.9 + 0.1, T.scalar("h"), tier), 1.0


def vector_steps(count: int, width: int, tier: str = "numpy") -> tuple[Any, Any]:
    """Return the same of steps of so many tanh of a vector."""

    def step(h: Any) -> Any:
        for _ in range(count):
            h = T.tanh(h + 0.1)  # goes to a number that is no small one: denormal ones are slow
        return h

    return _function(step, T.vector("h"), tier), np.ones(width)


def _function(step: Callable[[Any], Any], start: Any, tier: str) -> Any:
    n = T.lscalar("n")
    rows, _ = scanviz.scan(step, outputs_info=start, n_steps=n, name="loop")
    return scanviz.function([start, n], rows[-1], name="f", mode=tier)


def step_us(f: Any, start: Any, steps: int = 2000) -> float:
    """Return the microseconds of CPU that a step takes without a profile: what more steps take more, least times of nine."""
    f(start, 2 * steps)
    found = [(cpu_ns(lambda: f(start, 2 * steps)), cpu_ns(lambda: f(start, steps))) for _ in range(9)]
    return (min(more for more, _ in found) - min(less for _, less in found)) / steps / 1e3


def steps_of(microseconds: float, tier: str = "numpy") -> tuple[Any, Any, float]:
    """Return a function whose steps take so long, its start, and how long they were found to take."""
    count = LENGTHS[microseconds] if tier == "numpy" else 1
    f, narrow = vector_steps(count, NARROW, tier)
    less, more = step_us(f, narrow), step_us(f, np.ones(WIDE), 500)
    width = max(1, round(NARROW + (WIDE - NARROW) * (microseconds - less) / (more - less)))
    found = step_us(f, np.ones(width), 1000)
    print(
        f"{tier} steps of {microseconds} µs: {count} tanh of {width} elements, {found:.2f} µs of CPU without a profile"
    )
    return f, np.ones(width), found


def nested(rows: int, columns: int) -> Callable[[], object]:
    x, n = T.matrix("x"), T.lscalar("n")
    totals, _ = scanviz.scan(
        lambda r: scanviz.scan(lambda s: T.tanh(s * 0.9), None, r, n_steps=n, name="inner")[0][-1],
        x,
        name="outer",
    )
    f, values = scanviz.function([x, n], totals, mode="numpy"), np.ones((rows, 8))
    return lambda: f(values, columns)


def minimised(calls: int, tier: str = "numpy") -> Callable[[], object]:
    """Return what calls a function with value and gradient as ``scipy.optimize.minimize(jac=True)`` does."""
    w, x = T.vector("w"), T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w[0] * h + w[1] * x_t), x, 0.0, w, name="model")
    loss = ((rows - 0.5) ** 2).sum()
    f = scanviz.function([w, x], [loss, scanviz.grad(loss, w)], name="loss", mode=tier)
    values = np.linspace(0, 1, 20)

    def work() -> None:
        place = np.array([0.5, 0.5])
        for _ in range(calls):
            f(place, values)

    return work


def cases(quick: bool) -> list[Case]:
    """Return the measurements; fewer with ``quick``."""
    scale, found = 20 if quick else 1, []
    f, start = scalar_steps()
    count = 200_000 // scale
    found.append(
        Case("steps as short as they are", None, lambda f=f, s=start, n=count: f(s, n), count, "loop")
    )
    for length, goal, steps in ((1, 1.15, 40_000), (5, 1.03, 10_000), (20, 1.03, 3_000)):
        f, start, _ = steps_of(length)
        count = steps // scale
        found.append(
            Case(f"steps of {length} µs", goal, lambda f=f, s=start, n=count: f(s, n), count, "loop")
        )
    runs = 100_000 // (1 if not quick else 200)
    found.append(Case("calls of one step", 1.5, calls_of_one_step(runs // 10, "numpy"), runs // 10, None))
    found.append(Case("loops of one step, nested", 1.5, nested(runs, 1), runs, None))
    found.append(Case("loops of ten steps, nested", 1.5, nested(runs // 10, 10), runs // 10, None))
    calls = 10_000 // (10 * scale)
    found.append(Case("value and gradient, many calls", 1.3, minimised(calls), calls, None))
    return [*found, *(native_cases(scale) if availability("native").works else [])]


def native_cases(scale: int) -> list[Case]:
    """Return the measurements of machine code."""
    f, start = scalar_steps("native")
    count, calls = 20_000_000 // scale, 10_000 // (2 * scale)
    found = [Case("native, as short as they are", None, lambda f=f, s=start, n=count: f(s, n), count, "loop")]
    for length, goal, steps in ((0.05, None, 1_000_000), (0.5, 1.03, 100_000), (5, 1.03, 10_000)):
        f, start, _ = steps_of(length, "native")
        count = steps // min(scale, 4)
        what = f"native, steps of {length} µs"
        found.append(Case(what, goal, lambda f=f, s=start, n=count: f(s, n), count, "loop"))
    found.append(Case("native, calls of one step", None, calls_of_one_step(calls, "native"), calls, None))
    found.append(Case("native, value and gradient", None, minimised(calls, "native"), calls, None))
    return found


def calls_of_one_step(calls: int, tier: str) -> Callable[[], object]:
    """Return what calls a function whose loop takes one step."""
    f, start = vector_steps(1, 64, tier)

    def work() -> None:
        for _ in range(calls):
            f(start, 1)

    return work


def stated(record: Any, loop: str | None) -> float:
    """Return the slowdown stated by a profile."""
    if loop is not None:
        (found,) = (each for each in record.loops if each.name == loop)
        return float(found.slowdown)
    shown = sum(
        each.total_ns + each.call_parts.checks_ns + each.call_parts.copies_ns for each in record.functions
    )
    in_steps = sum(each.cost_ns for each in record.loops)
    return float((shown - in_steps + record.cost.total_ns) / (shown - in_steps))


def is_true(reported: float, slowdown: float) -> bool:
    """Return whether a profile's statement of its cost is near enough to the measurement."""
    return abs(reported - slowdown) <= max(LITTLE, TOLERANCE * (slowdown - 1))


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
    slowdown = statistics.median(after / before for before, after in pairs)
    text = stated(session.record, case.loop)
    return {
        "what": case.name,
        "plain_us": plain / case.per / 1e3,
        "slowdown": slowdown,
        "stated": text,
        "stated_is_true": is_true(text, slowdown),
        "goal": case.goal,
        "met": None if case.goal is None else slowdown <= case.goal,
    }


def first_calls(rounds: int) -> dict[str, Any]:
    """Return the row of first calls: as a profile shows them, and as they are without one."""
    plain, shown, whole = [], [], []
    for _ in range(rounds):
        f, start = vector_steps(1, 64)
        plain.append(cpu_ns(lambda f=f, s=start: f(s, 100)))
        f, start = vector_steps(1, 64)
        with scanviz.profile() as session:
            whole.append(cpu_ns(lambda f=f, s=start: f(s, 100)))
        shown.append(session.record.functions[0].first_ns)
    usual = statistics.median(plain)
    return {
        "what": FIRST,
        "plain_us": usual / 1e3,
        "slowdown": statistics.median(whole) / usual,
        "stated": statistics.median(shown) / usual,
        "goal": FIRST_CALL,
        "met": statistics.median(shown) / usual <= FIRST_CALL,
    }


def startup(rounds: int) -> dict[str, float]:
    """Return the milliseconds of CPU that cProfile and scanviz add to a process that does next to nothing (byte code is there)."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "tiny.py"
        script.write_text(TINY)
        ways = {
            "python": [str(script)],
            "cProfile": ["-m", "cProfile", "-o", f"{folder}/tiny.prof", str(script)],
            "scanviz": ["-m", "scanviz", "profile", "-o", f"{folder}/tiny.scanviz", str(script)],
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + 1):
            for name, arguments in ways.items():
                taken = _process_ms([sys.executable, *arguments], folder)
                if turn:  # the first fills the folder of byte code
                    times[name].append(taken)
    usual = statistics.median(times["python"])
    return {name: statistics.median(found) - usual for name, found in times.items() if name != "python"}


def _process_ms(command: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = as_installed(f"{folder}/byte-code")
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def startup_row(rounds: int) -> dict[str, Any]:
    """Return the row of start-up."""
    added = startup(rounds)
    over = added["scanviz"] - added["cProfile"]
    return {"what": "start-up", **added, "beyond": over, "goal": STARTUP_MS, "met": over <= STARTUP_MS}


def line(row: dict[str, Any]) -> str:
    """Return a row as text: the goal is of the slowdown; of first calls, of the statement."""
    verdict = {True: "met", False: "missed", None: ""}[row["met"]]
    if "beyond" in row:
        return (
            f"start-up beyond python: cProfile {row['cProfile']:.0f} ms of CPU, scanviz {row['scanviz']:.0f} ms"
            f" (goal: at most {row['goal']} ms more) {verdict}"
        )
    goal = f"{'':7}" if row["goal"] is None else f"{row['goal']:>7.2f}"
    untrue = "" if row.get("stated_is_true", True) else " (stated: untrue)"
    return f"{row['what']:<32}{row['plain_us']:>10.4g} µs{row['slowdown']:>10.2f}{row['stated']:>9.2f}{goal} {verdict}{untrue}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs, fewer of them")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    scanviz.config.native.threads = 1  # whose CPU clock is read
    rounds, few = (5, 3) if options.quick else (21, 9)
    measuring: list[Callable[[], dict[str, Any]]] = [
        *(lambda case=case: measured(case, rounds) for case in cases(options.quick)),
        lambda: first_calls(rounds),
        lambda: startup_row(few),
    ]
    print(f"{'':<32}{'plain':>13}{'slowdown':>10}{'stated':>9}{'goal':>7}")
    rows = []
    for measure in measuring:
        rows.append(measure())
        print(line(rows[-1]), flush=True)
    print_goals(rows)
    write_json(options.json, rows, "overhead")


if __name__ == "__main__":
    main()
