"""How often `scanviz compare --run` is wrong about a program and itself, and how often it finds a change that was planted.

The program is a loop; the change is more work in one operation of its step, on a line edited for it, so that the whole step becomes
slower by so much. How many elements that takes is found by the CPU time of plain calls, without a profile, and so is how much
slower the step then is. Meanwhile other processes load the machine in bursts.

    python benchmarks/comparing.py                       # 100 comparisons with itself, 10 of each change: about two hours
    python benchmarks/comparing.py --minutes 30          # as many of them as there is time for, kinds in turn
    python benchmarks/comparing.py --itself 4 --planted 2 --rounds 8
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import print_goals, write_json

ROOT = Path(__file__).resolve().parent.parent
USUAL = 150  # elements of the operation
GOALS = {1.1: (0.9, None), 1.2: (0.9, 0.9), 2.0: (1.0, None)}  # shares in which loop and line are found
WRONG = 0.05  # the share of comparisons with itself that may find something
SCRIPT = """
import numpy as np
import scanviz
from scanviz import tensor as T

x, h0 = T.matrix("x"), T.vector("h0")

def step(x_t, h):
    bent = T.sin(h[:{elements}])
    return 0.5 * h + x_t + 1e-9 * T.sum(bent)

hs, _ = scanviz.scan(step, x, h0, name="bend")
run = scanviz.function([x, h0], hs[-1], name="run", mode="numpy")
values = np.random.default_rng(0).normal(size=(1000, 1024)), np.zeros(1024)
"""
CALLS = """
for _ in range(30):
    run(*values)
"""
BURSTS = """
import random, sys, time
random = random.Random(int(sys.argv[1]))
while True:
    until = time.monotonic() + random.uniform(0.1, 3.0)
    while time.monotonic() < until:
        sum(range(1000))
    time.sleep(random.uniform(0.1, 2.0))
"""


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Load the machine with processes that work in bursts."""
    started = [subprocess.Popen([sys.executable, "-c", BURSTS, str(k)]) for k in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def made(elements: int) -> Any:
    """Return what makes a plain call of the program once."""
    namespace: dict[str, Any] = {}
    exec(SCRIPT.format(elements=elements), namespace)
    return lambda: namespace["run"](*namespace["values"])


def cpu_times(sizes: list[int], rounds: int) -> list[float]:
    """Return the CPU time of a plain call with so many elements, the sizes taken in turns: the median."""
    calls = [made(size) for size in sizes]
    found: list[list[float]] = [[] for _ in sizes]
    for number in range(rounds + 1):
        for times, call in zip(found, calls, strict=True):
            begun = time.thread_time()
            call()
            if number:  # the first makes its code
                times.append(time.thread_time() - begun)
    return [statistics.median(times) for times in found]


def elements_for(ratio: float, rounds: int = 40) -> int:
    """Return how many elements make the step slower by so much."""
    few, many = cpu_times([USUAL, 5 * USUAL], rounds)
    return USUAL + round((ratio - 1) * few / ((many - few) / (4 * USUAL)))


def compared(a: Path, b: Path, rounds: int) -> list[dict[str, Any]]:
    """Return the rows of a comparison."""
    command = [sys.executable, "-m", "scanviz", "compare", "--run", "--json", "--rounds", str(rounds)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(a), str(b)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return rows


def written(folder: Path, name: str, elements: int) -> Path:
    path = folder / f"{name}.py"
    path.write_text(SCRIPT.format(elements=elements) + CALLS)
    return path


class WithItself:
    """Counts the comparisons of the program with itself that found something.

    Attributes
    ----------
    wanted, count : int
        How many comparisons, and how many there were.
    """

    def __init__(self, folder: Path, wanted: int, rounds: int) -> None:
        self.program, self.rounds = written(folder, "program", USUAL), rounds
        self.wanted, self.count, self.wrong, self.silent = wanted, 0, 0, 0

    def compare(self) -> None:
        """Do one comparison."""
        rows = compared(self.program, self.program, self.rounds)
        changed = [row for row in rows if row["verdict"] in ("slower", "faster", "new", "gone")]
        self.wrong += bool(changed)
        self.silent += any(row["verdict"] == "no verdict" for row in rows if row["kind"] != "operation")
        for row in changed:
            found = f"{row['verdict']} {row['kind']} {row['name']} ×{row['ratio']:.3f}"
            print(f"  {self.count}: {found}", flush=True)
        self.count += 1

    def row(self) -> dict[str, Any]:
        """Return the row of the table."""
        return {
            "what": "itself", "count": self.count, "wanted": self.wanted, "wrong": self.wrong,
            "no_verdict": self.silent, "met": self.wrong <= WRONG * self.count if self.count else None,
        }  # fmt: skip


class WithChange:
    """Counts the comparisons that find a planted change: by the loop, and by the line.

    Attributes
    ----------
    wanted, count : int
        How many comparisons, and how many there were.
    """

    def __init__(self, folder: Path, ratio: float, wanted: int, rounds: int) -> None:
        self.ratio, self.rounds, self.wanted, self.count = ratio, rounds, wanted, 0
        elements = elements_for(ratio)
        usual, changed = cpu_times([USUAL, elements], 40)
        self.cpu_ratio = changed / usual
        self.before = written(folder, "program", USUAL)
        self.after = written(folder, f"edited_{ratio}", elements)
        self.loops = self.lines = self.false = 0
        self.ratios: list[float] = []

    def compare(self) -> None:
        """Do one comparison."""
        rows = compared(self.before, self.after, self.rounds)
        [loop] = [row for row in rows if row["kind"] == "loop"]
        slower = [row for row in rows if row["kind"] == "operation" and row["verdict"] == "slower"]
        edited = [row for row in slower if "bent = " in row["source"]["text"]]
        self.loops += loop["verdict"] == "slower"
        self.lines += bool(edited)
        self.false += len(slower) > len(edited)
        self.ratios.append(loop["ratio"])
        self.count += 1

    def row(self) -> dict[str, Any]:
        """Return the row of the table."""
        of_loops, of_lines = GOALS[self.ratio]
        met = self.loops >= of_loops * self.count and (
            of_lines is None or self.lines >= of_lines * self.count
        )
        return {
            "what": f"planted {self.ratio}", "count": self.count, "wanted": self.wanted, "loop": self.loops,
            "line": self.lines, "another_line": self.false, "cpu_ratio": self.cpu_ratio,
            "ratio": statistics.median(self.ratios) if self.ratios else None, "met": met if self.count else None,
        }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """Return a row in words."""
    verdict = {True: "met", False: "missed", None: "not done"}[row["met"]]
    some = f"{row['count']} of {row['wanted']} comparisons"
    if row["what"] == "itself":
        return (
            f"with itself, {some}: {row['wrong']} found a difference (goal: {WRONG:.0%}),"
            f" {row['no_verdict']} without a verdict: {verdict}"
        )
    text = "" if row["ratio"] is None else f", reported ×{row['ratio']:.3f}"
    return (
        f"{row['what']} (CPU time ×{row['cpu_ratio']:.3f}{text}), {some}: loop found {row['loop']}, line {row['line']};"
        f" another line {row['another_line']}: {verdict}"
    )


def done(tallies: list[WithItself | WithChange], minutes: float | None) -> list[dict[str, Any]]:
    """Do the comparisons, the kinds in turn, until all are done or there is no time for another one; return the rows so far."""
    begun, longest = time.monotonic(), 0.0
    try:
        while left := [tally for tally in tallies if tally.count < tally.wanted]:
            started = time.monotonic()
            if minutes is not None and started - begun + longest > 60 * minutes:
                break
            min(left, key=lambda tally: (tally.count + 1) / (tally.wanted + 1)).compare()
            longest = max(longest, time.monotonic() - started)
    except KeyboardInterrupt:
        print("interrupted: what was done so far is counted")
    return [tally.row() for tally in tallies]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--itself", type=int, default=100, help="comparisons with itself")
    parser.add_argument("--planted", type=int, default=10, help="comparisons for each change")
    parser.add_argument(
        "--changes", type=float, nargs="+", choices=list(GOALS), default=list(GOALS), help="which"
    )
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each comparison")
    parser.add_argument(
        "--load", type=int, default=os.cpu_count() or 1, help="processes that load the machine"
    )
    parser.add_argument("--json", help="where the table goes too")
    parser.add_argument("--minutes", type=float, help="stop when there is no time for another comparison")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, load(given.load):
        folder = Path(name)
        tallies: list[WithItself | WithChange] = [
            WithChange(folder, ratio, given.planted, given.rounds) for ratio in given.changes if given.planted
        ]
        tallies += [WithItself(folder, given.itself, given.rounds)] if given.itself else []
        rows = done(tallies, given.minutes)
    for row in rows:
        print(line(row))
    print_goals(rows)
    write_json(given.json, rows, "comparing")
    return int(any(row["met"] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
