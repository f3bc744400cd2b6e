"""scanviz beside hand-written NumPy, Numba and C, beside JAX and PyTensor: the same loops, outputs compared first.

Run time is measured in turns in one process a workload: the median, and the median of the ratios round by round.  Peers are
pinned in ``peers.txt``; one that is missing is a failure.  ``peer_starts.py`` measures from the start of a process to the
first result.

    python -m venv peers && peers/bin/pip install -r benchmarks/peers.txt -e .
    peers/bin/python benchmarks/peers.py                                  # all, some twenty minutes
    peers/bin/python benchmarks/peers.py --quick                          # shorter loops
    peers/bin/python benchmarks/peers.py --only rnn lstm                  # workloads whose name has one of the words
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peer_programs import inputs

HERE = Path(__file__).resolve()
REPOSITORY = HERE.parent.parent


class Tool(NamedTuple):
    """A column of the table.

    Attributes
    ----------
    module : str
        Its file in ``peer_programs``.
    mode : str or None
        What its ``MODE`` is set to.
    ending : str
        Of its functions' names.
    """

    module: str
    mode: str | None = None
    ending: str = ""


TOOLS = {
    "scanviz": Tool("scanviz_loops", "auto"),
    "scanviz numpy": Tool("scanviz_loops", "numpy"),
    "scanviz native": Tool("scanviz_loops", "native"),
    "NumPy by hand": Tool("numpy_hand"),
    "Numba by hand": Tool("numba_hand"),
    "C by hand": Tool("c_hand"),
    "JAX": Tool("jax_loops"),
    "JAX tuned": Tool("jax_loops", ending="_tuned"),
    "PyTensor Numba": Tool("pytensor_loops", "NUMBA"),
    "PyTensor C": Tool("pytensor_loops", "CVM"),
}
Sizes = tuple[int, ...]
WORKLOADS: dict[str, tuple[str, Sizes]] = {  # its function and sizes, the last of them steps
    "power, size 10, 1k": ("power", (10, 1000)),
    "power, size 100k, 1k": ("power", (100_000, 1000)),
    "cumulative sum, 1M scalars": ("cumulative_sum", (1_000_000,)),
    "two taps, 1M scalars": ("two_taps", (1_000_000,)),
    "leaky tanh, width 64, 10k": ("leaky_tanh", (64, 10_000)),
    "leaky tanh, width 1024, 10k": ("leaky_tanh", (1024, 10_000)),
    "leaky tanh gradient, width 64, 10k": ("leaky_tanh_gradient", (64, 10_000)),
    "rnn H 16, 1k": ("rnn", (16, 1, 1000)),
    "rnn H 64, 1k": ("rnn", (64, 1, 1000)),
    "rnn H 256, 1k": ("rnn", (256, 1, 1000)),
    "rnn H 64 batch 32, 1k": ("rnn", (64, 32, 1000)),
    "several-tap rnn H 16, 1k": ("taps_rnn", (16, 1000)),
    "several-tap rnn H 256, 1k": ("taps_rnn", (256, 1000)),
    "lstm H 64, 1k": ("lstm", (64, 1, 1000)),
    "lstm H 64 batch 32, 1k": ("lstm", (64, 32, 1000)),
    "rnn gradient H 64, 1k": ("rnn_gradient", (64, 1, 1000)),
    "rnn gradient H 64 batch 32, 1k": ("rnn_gradient", (64, 32, 1000)),
    "rnn gradient H 256, 1k": ("rnn_gradient", (256, 1, 1000)),
    "lstm gradient H 64, 1k": ("lstm_gradient", (64, 1, 1000)),
    "lstm gradient H 64 batch 32, 1k": ("lstm_gradient", (64, 32, 1000)),
    "linear recurrence 64, 100k": ("linear", (64, 100_000)),
    "linear recurrence gradient 64, 100k": ("linear_gradient", (64, 100_000)),
    "kalman filter, 2k": ("kalman", (2000,)),
    "gibbs sampling, 10k": ("gibbs", (10_000,)),
}
SECONDS, QUICK_SECONDS = 10.0, 1.5  # of the rounds of one workload, about
MOST_ROUNDS, FEWEST_ROUNDS = 25, 9
MOST_CALLS = 3_000
LONG = 5e-4  # seconds: whole calls are compiled of short ones alone
SHORT = 5e-4  # a call that is shorter is repeated


def sized(workload: str, quick: bool) -> tuple[str, Sizes]:
    """Return the function and the sizes of a workload; a tenth of the steps where it is to be quick."""
    family, (*sizes, steps) = WORKLOADS[workload]
    return family, (*sizes, steps // 10 if quick else steps)


def made(tool: str, family: str, sizes: Sizes) -> Callable[..., list[Any]] | None:
    """Return a tool's loop, None where it has none."""
    found = TOOLS[tool]
    module = importlib.import_module(f"peer_programs.{found.module}")
    if found.mode is not None:
        module.MODE = found.mode
    make = getattr(module, family + found.ending, None)
    return None if make is None else make(*sizes)


def missing_peers() -> list[str]:
    """Return what of ``peers.txt`` is not here in the version given there, and a compiler of C."""
    found = []
    for line in (HERE.parent / "peers.txt").read_text().splitlines():
        name, _, wanted = line.partition("==")
        if not wanted:
            continue
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "none"
        if version != wanted:
            found.append(f"{name} {wanted} (found {version})")
    from peer_programs.c_hand import compiler

    return found if compiler() else [*found, "a compiler of C"]


# run time


def check(family: str, name: str, found: list[Any], expected: list[Any]) -> None:
    """Check outputs against those of another tool; draws by their moments."""
    assert len(found) == len(expected), f"{name} gives {len(found)} outputs, not {len(expected)}"
    for mine, theirs in zip(found, expected, strict=True):
        a, b = np.asarray(mine), np.asarray(theirs)
        if family == "gibbs":
            assert a.shape == b.shape
            np.testing.assert_allclose(np.cov(a.T), [[1, 0.8], [0.8, 1]], atol=0.3, err_msg=name)
            continue
        np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=1e-6, atol=1e-9, err_msg=name)


def warmed_up(loop: Any, call: Callable[[], Any]) -> int:
    """Call a function of scanviz until its loops are machine code, and short calls as a whole; return the number of calls."""
    executable, elapsed = loop.executable, LONG
    for count in range(MOST_CALLS):
        made = [each for run in executable.flat.runners.values() for each in run.all_made()]
        loops = made and all(each.tier.name == "native" for each in made)
        if executable.runs_whole or (loops and elapsed >= LONG):
            return count
        begun = time.perf_counter()
        call()
        elapsed = time.perf_counter() - begun
    return MOST_CALLS


def run_one(workload: str, quick: bool) -> dict[str, Any]:
    """Return the times of a workload by tool, in milliseconds."""
    family, sizes = sized(workload, quick)
    given = getattr(inputs, family)(*sizes)
    calls: dict[str, Callable[[], Any]] = {}
    first: dict[str, float] = {}
    expected, settled_after = None, 0
    for tool in sorted(
        TOOLS, key=lambda name: "hand" not in name
    ):  # what others are compared with comes first
        begun = time.perf_counter()
        loop = made(tool, family, sizes)
        if loop is None:
            continue
        outputs = loop(*given)
        first[tool] = 1e3 * (time.perf_counter() - begun)
        expected = outputs if expected is None else expected
        check(family, f"{tool}: {workload}", outputs, expected)
        calls[tool] = lambda loop=loop: loop(*given)
        if tool in ("scanviz", "scanviz native"):
            taken = warmed_up(loop, calls[tool])
            settled_after = taken if tool == "scanviz" else settled_after
    check(family, f"scanviz, later: {workload}", calls["scanviz"](), expected or [])
    times = in_turns(calls, QUICK_SECONDS if quick else SECONDS)
    return {
        "workload": workload,
        "ms": {tool: 1e3 * statistics.median(each) for tool, each in times.items()},
        "ratio": {
            tool: statistics.median(a / b for a, b in zip(each, times["scanviz"], strict=True))
            for tool, each in times.items()
        },
        "rounds": len(times["scanviz"]),
        "calls_until_compiled": settled_after,
        "first_ms": {tool: first[tool] for tool in times},
    }


def in_turns(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Return the seconds of a call of each, round by round in another order; short ones are repeated.

    A tool that runs after one with threads of NumPy's BLAS finds them awake, which saves milliseconds.
    """
    repeated: dict[str, int] = {}
    whole = 0.0
    for name, call in calls.items():
        call()
        begun = time.perf_counter()
        call()
        one = time.perf_counter() - begun
        repeated[name] = max(1, round(SHORT / one))
        whole += max(one, SHORT)
    rounds = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(seconds / whole)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        for name, call in random.Random(number).sample(list(calls.items()), len(calls)):
            begun = time.perf_counter()
            for _ in range(repeated[name]):
                call()
            found[name].append((time.perf_counter() - begun) / repeated[name])
    return found


# tables


def table(title: str, rows: list[tuple[str, dict[str, float | None]]], columns: list[str]) -> None:
    print(f"\n{title}\n{'':<38}" + "".join(f"{column:>16}" for column in columns))
    for name, cells in rows:
        shown = (cells.get(column) for column in columns)
        print(
            f"{name:<38}" + "".join(f"{'–' if each is None else f'{each:.4g}':>16}" for each in shown),
            flush=True,
        )


def summary(rows: list[dict[str, Any]], than: str = "scanviz") -> dict[str, float]:
    """Return the geometric means of how many times longer others take; with the faster of PyTensor's two on each workload."""
    found = {}
    for tool in TOOLS:
        ratios = [row["ms"][tool] / row["ms"][than] for row in rows if tool in row["ms"]]
        if ratios:
            found[tool] = statistics.geometric_mean(ratios)
    both = [
        min(row["ms"][tool] for tool in ("PyTensor Numba", "PyTensor C")) / row["ms"][than]
        for row in rows
        if "PyTensor C" in row["ms"]
    ]
    if both:
        found["faster PyTensor"] = statistics.geometric_mean(both)
    return found


def in_process(workload: str, quick: bool) -> dict[str, Any]:
    """Return the row of a workload, measured in a process of its own."""
    command = [sys.executable, str(HERE), "--one", workload, *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{workload}:\n{done.stderr}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps, fewer rounds")
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="WORD", help="workloads whose name has one of these"
    )
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        os.environ["SCANVIZ_NATIVE_CACHE"] = "off"
        print(json.dumps(run_one(options.one, options.quick)))
        return
    lacking = missing_peers()
    if lacking:
        raise SystemExit(f"missing: {', '.join(lacking)}; pip install -r benchmarks/peers.txt")
    from common import write_json

    chosen = [name for name in WORKLOADS if any(word in name for word in options.only)]
    rows = []
    for name in chosen:
        row = in_process(name, options.quick)
        rows.append(row)
        table("run time, ms", [(name, row["ms"])], list(TOOLS)) if row is rows[0] else table_row(
            name, row["ms"]
        )
    table("times as long as scanviz", [(row["workload"], row["ratio"]) for row in rows], list(TOOLS))
    means = {than: summary(rows, than) for than in ("scanviz", "scanviz native")}
    table("geometric means, times as long as", list(means.items()), [*TOOLS, "faster PyTensor"])
    for than, found in means.items():
        slower = [row["workload"] for row in rows if row["ms"]["JAX"] < row["ms"][than]]
        print(
            f"{than}: JAX {found['JAX']:.2f} times as long; slower than JAX in {len(slower)}: {', '.join(slower) or 'none'}"
        )
    write_json(
        options.json,
        [
            *rows,
            {"workload": "geometric means", "ratio": means["scanviz"], "native": means["scanviz native"]},
        ],
        "peers",
    )


def table_row(name: str, cells: dict[str, float]) -> None:
    shown = (cells.get(column) for column in TOOLS)
    print(
        f"{name:<38}" + "".join(f"{'–' if each is None else f'{each:.4g}':>16}" for each in shown), flush=True
    )


if __name__ == "__main__":
    main()
