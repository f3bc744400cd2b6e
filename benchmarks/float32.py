"""How much faster are native loops in float32, and with all processors?

    python benchmarks/float32.py [--quick] [--only WORD …] [--seconds N] [--json FILE]      # three minutes

The workloads of ``peers.py`` whose rows are 64 wide or more, each function built twice, for float64 and for float32, and called
in turns: with one thread and with as many as there are processors.  Before anything is timed, float32 is compared with float64,
and what several threads compute with what one does: there each bit has to be the same.

Goal: float32 at least 1.5 times as fast, in the geometric mean.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["SCANVIZ_NATIVE_CACHE"] = "off"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of NumPy, where a product is called out

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from common import interleaved, machine, ratio, seconds, write_json
from peer_programs import inputs, scanviz_loops
from peers import WORKLOADS, sized

import scanviz

WIDTH = 64  # elements of a row, at least
NARROW = ("cumulative_sum", "two_taps", "kalman", "gibbs")  # their rows are numbers, or four of them
GOAL = 1.5
CLOSE = {"rtol": 2e-3, "atol": 2e-4}  # float32 after a thousand steps
FEWEST, MOST = 5, 200  # rounds
DTYPES = ("float64", "float32")
THREADS = (1, 0)  # one, and as many as there are processors
Cell = tuple[str, int]


def wide() -> list[str]:
    """Return the workloads whose rows are wide."""
    return [name for name, (family, sizes) in WORKLOADS.items() if family not in NARROW and sizes[0] >= WIDTH]


def cast(values: tuple[Any, ...], dtype: str) -> list[Any]:
    """Return arrays of floats in a dtype, all else as it is."""
    return [value.astype(dtype) if isinstance(value, np.ndarray) else value for value in values]


def called(function: Callable[..., list[Any]], arrays: list[Any], threads: int) -> list[Any]:
    """Call a function with so many threads at most, 0 for as many as there are processors."""
    scanviz.config.native.threads = threads
    return function(*arrays)


def calls_of(workload: str, quick: bool) -> dict[Cell, Callable[[], list[Any]]]:
    """Return what calls a workload, by dtype and threads; each is compiled."""
    family, sizes = sized(workload, quick)
    given = getattr(inputs, family)(*sizes)
    scanviz_loops.MODE = "native"
    found: dict[Cell, Callable[[], list[Any]]] = {}
    for dtype in DTYPES:
        scanviz.config.floatX = dtype
        try:
            function = getattr(scanviz_loops, family)(*sizes)
        finally:
            scanviz.config.floatX = "float64"
        arrays = cast(given, dtype)
        for threads in THREADS:
            found[dtype, threads] = partial(called, function, arrays, threads)
    return found


def compare(workload: str, calls: dict[Cell, Callable[[], list[Any]]]) -> None:
    """Compare dtypes and numbers of threads."""
    for dtype in DTYPES:
        for alone, together in zip(calls[dtype, 1](), calls[dtype, 0](), strict=True):
            same = np.asarray(alone).tobytes() == np.asarray(together).tobytes()
            assert same and alone.dtype == dtype, f"{workload}, {dtype}: threads change the result"
    for double, single in zip(calls["float64", 1](), calls["float32", 1](), strict=True):
        np.testing.assert_allclose(single, double, err_msg=workload, **CLOSE)


def run_one(workload: str, budget: float, quick: bool) -> dict[str, Any]:
    """Return the milliseconds of a workload by dtype and threads, and the ratios, round by round."""
    calls = calls_of(workload, quick)
    compare(workload, calls)
    rounds = min(MOST, max(FEWEST, round(budget / sum(seconds(call) for call in calls.values()))))
    times = dict(zip(calls, interleaved(list(calls.values()), rounds), strict=True))
    return {
        "workload": workload,
        "ms": {
            f"{dtype}, {threads or 'all'}": 1e3 * statistics.median(times[dtype, threads])
            for dtype, threads in times
        },
        "float32 is faster": {
            str(threads or "all"): ratio(times["float64", threads], times["float32", threads])
            for threads in THREADS
        },
        "threads are faster": {dtype: ratio(times[dtype, 1], times[dtype, 0]) for dtype in DTYPES},
    }


def shown(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    cells = [f"{value:>9.3g}" for value in row["ms"].values()]
    cells += [
        f"{value:>7.2f}"
        for value in (*row["float32 is faster"].values(), *row["threads are faster"].values())
    ]
    return f"{row['workload']:<38}" + " ".join(cells)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """Return what of the goals was met, in sentences."""
    found = []
    for threads in rows[0]["float32 is faster"]:
        ratios = {row["workload"]: row["float32 is faster"][threads] for row in rows}
        least = min(ratios, key=lambda name: ratios[name])
        mean = statistics.geometric_mean(ratios.values())
        found.append(
            f"float32 with {threads} thread{'s' * (threads != '1')}: {mean:.2f} times as fast (geometric mean; goal {GOAL:g}), "
            f"least {ratios[least]:.2f} ({least})"
        )
    for dtype in DTYPES:
        ratios = {row["workload"]: row["threads are faster"][dtype] for row in rows}
        mean = statistics.geometric_mean(ratios.values())
        least = min(ratios, key=lambda name: ratios[name])
        found.append(
            f"{dtype} with all processors: {mean:.2f} times as fast as with one, least {ratios[least]:.2f} ({least}); bits the same"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="WORD", help="workloads whose name has one of these"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    parser.add_argument("--seconds", type=float, default=8.0, help="of the rounds of one workload, about")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    text = machine()
    print(f"{text['processor']}, {text['processors']} processors; ms, and times as fast")
    print(
        f"{'':<38}{'f64, 1':>9} {'f64, all':>9} {'f32, 1':>9} {'f32, all':>9} {'f32, 1':>7} {'f32':>7} {'thr 64':>7} {'thr 32':>7}"
    )
    rows = []
    for name in wide():
        if any(word in name for word in options.only):
            rows.append(run_one(name, options.seconds, options.quick))
            print(shown(rows[-1]), flush=True)
    print("\n" + "\n".join(summary(rows)))
    write_json(options.json, rows, "float32")


if __name__ == "__main__":
    main()
