"""How often `scanviz compare --run` is wrong about a program and itself, and how often it finds a change that was planted.

The program is a loop; the change is more work in one operation of its step, on a line edited for it, so that the whole step becomes
slower by so much. How many elements that takes is found by the CPU time of plain calls, without a profile, and so is how much
slower the step then is. Meanwhile other processes load the machine in bursts.

    python benchmarks/comparing.py                       # 100 comparisons with itself, 10 of each change: about two hours
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

from common import write_json

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


def with_itself(folder: Path, count: int, rounds: int) -> dict[str, Any]:
    """Count the comparisons of the program with itself that found something."""
    program, wrong, silent = written(folder, "program", USUAL), 0, 0
    for number in range(count):
        rows = compared(program, program, rounds)
        changed = [row for row in rows if row["verdict"] in ("slower", "faster", "new", "gone")]
        wrong += bool(changed)
        silent += any(row["verdict"] == "no verdict" for row in rows if row["kind"] != "operation")
        for row in changed:
            print(f"  {number}: {row['verdict']} {row['kind']} {row['name']} ×{row['ratio']:.3f}", flush=True)
    allowed = max(1, round(WRONG * count))
    print(
        f"with itself: {wrong} of {count} found a difference (at most {allowed}); {silent} without a verdict"
    )
    return {"what": "itself", "count": count, "wrong": wrong, "no_verdict": silent, "met": wrong <= allowed}


def with_change(folder: Path, ratio: float, count: int, rounds: int) -> dict[str, Any]:
    """Count the comparisons that find a planted change: by the loop, and by the line."""
    elements = elements_for(ratio)
    usual, changed = cpu_times([USUAL, elements], 40)
    before, after = written(folder, "program", USUAL), written(folder, "edited", elements)
    loops = lines = false = 0
    ratios = []
    for _ in range(count):
        rows = compared(before, after, rounds)
        [loop] = [row for row in rows if row["kind"] == "loop"]
        slower = [row for row in rows if row["kind"] == "operation" and row["verdict"] == "slower"]
        edited = [row for row in slower if "bent = " in row["source"]["text"]]
        loops += loop["verdict"] == "slower"
        lines += bool(edited)
        false += len(slower) > len(edited)
        ratios.append(loop["ratio"])
    share_of_loops, share_of_lines = GOALS[ratio]
    met = loops >= share_of_loops * count and (share_of_lines is None or lines >= share_of_lines * count)
    told = f"planted ×{ratio} (CPU time ×{changed / usual:.3f}, told ×{statistics.median(ratios):.3f})"
    print(f"{told}: loop found {loops}, line {lines} of {count}; another line {false}", flush=True)
    return {
        "what": f"planted {ratio}", "count": count, "loop": loops, "line": lines, "another_line": false,
        "cpu_ratio": changed / usual, "ratio": statistics.median(ratios), "met": met,
    }  # fmt: skip


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
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, load(given.load):
        folder = Path(name)
        rows = [
            with_change(folder, ratio, given.planted, given.rounds)
            for ratio in given.changes
            if given.planted
        ]
        rows += [with_itself(folder, given.itself, given.rounds)] if given.itself else []
    write_json(given.json, rows, "comparing")
    missed = [row["what"] for row in rows if not row["met"]]
    print(f"missed: {', '.join(missed)}" if missed else "all goals met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
