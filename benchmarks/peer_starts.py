"""From the start of a process to the end of its first calls, and its memory: scanviz beside JAX and PyTensor.

    peers/bin/python benchmarks/peer_starts.py [--only WORD …] [--calls N …] [--tools TOOL …] [--rounds N] [--clock …] [--json FILE]

Each cell is a process of its own (``peer_programs/first.py``), whose caches are in a folder: empty, and again with what the first
process left there.  It makes as many calls as are asked for, by default 100, and notes when the 1st, 10th and 100th ended.
Drawing the inputs is left out: of long loops it takes longer than all else.  Packages have their bytecode, as installed ones do.
All takes an hour, a few rounds of scanviz and JAX ten minutes.  PyTensor compiles for up to a minute: it takes part in some of
the workloads.

Two columns are no tool: a process that imports NumPy and does nothing, and one that loads LLVM's library as well.  No code
of ours is sooner than the first, nor than the second where machine code must be made.

*Held* is the most memory that the process had beyond that with its inputs alone, after all calls: packages, code and arrays,
but not the pages of libraries' files.
Goal: the forecast of a call, results included, and 64 MB.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import HERE, REPOSITORY, TOOLS, WORKLOADS, missing_peers, sized, table

STARTED = ["scanviz", "scanviz native", "JAX", "PyTensor Numba", "PyTensor C"]
BARE = {  # what every tool of ours begins with, alone
    "NumPy alone": "import numpy",
    "NumPy, LLVM": "import numpy, ctypes, llvmlite; ctypes.CDLL(f'{llvmlite.__path__[0]}/binding/libllvmlite.so')",
}
SLOW = ("PyTensor Numba", "PyTensor C")  # to compile: of these workloads alone, and once
WITH_SLOW = (
    "power, size 10, 1k", "cumulative sum, 1M scalars", "leaky tanh, width 64, 10k", "rnn H 64, 1k", "lstm H 64, 1k",
    "rnn gradient H 64, 1k", "linear recurrence 64, 100k", "kalman filter, 2k",
)  # fmt: skip
CALLS = (1, 10, 100)
ROUNDS = 7  # of those that are not slow, in turns
CACHES = ("empty", "warm")
CLOCKS = {"wall": "process_s", "processor": "processor_s"}
# Times as long as scanviz in its default mode, geometric means by what caches hold and the number of the call.  JAX's first calls
# take 0.5 s.  NumPy, LLVM's library and scanviz's import take 0.08 of them: no work at all would be 6 times.
GOALS = {
    "JAX": {("empty", 1): 2.5, ("empty", 10): 2.5, ("empty", 100): 3.0, ("warm", 1): 3.0, ("warm", 10): 3.0, ("warm", 100): 3.3},
    "faster PyTensor": {("empty", 1): 15.0, ("warm", 1): 15.0},
}  # fmt: skip
MOST_MB = 64  # beyond the forecast of a call


def started(tool: str, workload: str, folder: str, calls: Sequence[int]) -> dict[str, Any]:
    """Return by call the seconds from the start of a new process to its end, and what else it printed."""
    family, sizes = sized(workload, False)
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "SCANVIZ_NATIVE_CACHE": f"{folder}/scanviz",
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    found = TOOLS[tool]
    script = str(HERE.parent / "peer_programs" / "first.py")
    command = [sys.executable, script, found.module, found.mode or "", found.ending, family]
    command += [",".join(map(str, sizes)), ",".join(map(str, calls))]
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{tool}, {workload}:\n{done.stderr}")
    printed = json.loads(done.stdout)
    return {
        # one clock for all processes
        "process_s": {call: end - begun - printed["drawing"][0] for call, end in printed["ended"].items()},
        "processor_s": {call: used - printed["drawing"][1] for call, used in printed["processor"].items()},
        "first_s": printed["first_s"],
        "first_mb": printed["first_bytes"] / 1e6,
        "mb": printed["bytes"] / 1e6,
        "forecast_mb": printed["forecast_bytes"] / 1e6,
        "compiled": printed["compiled"],
    }


def bare(imports: str) -> float:
    """Return the seconds of a new process until it has imported something."""
    script = f"import time; {imports}; print(time.perf_counter())"
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout) - begun


def start_one(workload: str, tools: Sequence[str], calls: Sequence[int], rounds: int) -> dict[str, Any]:
    """Return by tool the time of a process to the end of calls, with empty and with warm caches; the shortest of some."""
    taking_part = [tool for tool in tools if tool not in SLOW or workload in WITH_SLOW]
    found: dict[str, dict[str, list[dict[str, Any]]]] = {
        tool: {caches: [] for caches in CACHES} for tool in taking_part
    }
    alone: dict[str, list[float]] = {name: [] for name in BARE}
    for repetition in range(rounds):  # tools in turns: a busy minute of the machine is every tool's
        for name, imports in BARE.items():
            alone[name].append(bare(imports))
        for tool in taking_part:
            if tool in SLOW and repetition:
                continue
            with tempfile.TemporaryDirectory() as folder:
                for caches in CACHES:
                    found[tool][caches].append(started(tool, workload, folder, calls))
    return {
        "start": {
            tool: {caches: shortest(runs) for caches, runs in cells.items()} for tool, cells in found.items()
        },
        "bare_s": {name: min(runs) for name, runs in alone.items()},
    }


def shortest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run that was first to its first result, with the shortest time of any to each later one."""
    first = min(runs, key=lambda run: run["process_s"]["1"])
    ends = {
        clock: {call: min(run[clock][call] for run in runs) for call in first[clock]}
        for clock in CLOCKS.values()
    }
    return {**first, **ends}


def with_faster(cells: dict[str, float]) -> dict[str, float]:
    """Return cells with the better of PyTensor's two."""
    slow = [cells[tool] for tool in SLOW if tool in cells]
    return {**cells, "faster PyTensor": min(slow)} if slow else cells


def ratios(
    rows: list[dict[str, Any]], caches: str, call: str, than: str, clock: str
) -> dict[str, dict[str, float]]:
    """Return by tool and workload how many times as long as one it takes to the end of a call."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        cells = with_faster({tool: each[caches][clock][call] for tool, each in row["start"].items()})
        for tool, seconds in cells.items():
            if tool != than:
                found.setdefault(tool, {})[row["workload"]] = seconds / cells[than]
    return found


def break_even(rows: list[dict[str, Any]], calls: Sequence[int], than: str, clock: str) -> list[str]:
    """Return what of the goals was met, in sentences."""
    found = []
    for caches in CACHES:
        for call in map(str, calls):
            for tool, each in ratios(rows, caches, call, than, clock).items():
                least = min(each, key=lambda name: each[name])
                mean = statistics.geometric_mean(each.values())
                goal = GOALS.get(tool, {}).get((caches, int(call)))
                found.append(
                    f"caches {caches}, call {call}: {tool} takes {mean:.2f} times as long as {than} (geometric mean"
                    f"{'' if goal is None else f'; goal {goal:g}'}), at least {each[least]:.2f} ({least})"
                )
    over = [
        f"{row['workload']}, {tool}: {cell['mb']:.0f} MB, {cell['forecast_mb']:.0f} forecast"
        for row in rows
        for tool in row["start"]
        if tool.startswith("scanviz")
        for cell in [row["start"][tool]["empty"]]
        if cell["mb"] > cell["forecast_mb"] + MOST_MB
    ]
    return [*found, f"memory beyond the forecast and {MOST_MB} MB: {'; '.join(over) or 'nowhere'}"]


def print_tables(rows: list[dict[str, Any]], tools: Sequence[str], calls: Sequence[int], clock: str) -> None:
    """Print a table of each figure."""
    figures: list[tuple[str, Callable[[dict[str, Any]], float]]] = [
        (f"new process to the end of call {call}, s", lambda cell, call=call: cell[clock][str(call)]) for call in calls
    ]  # fmt: skip
    figures += [
        ("of that building and the first call, ms", lambda cell: 1e3 * cell["first_s"]),
        ("held, MB", lambda cell: cell["mb"]),
    ]
    for caches in CACHES:
        for title, figure in figures:
            cells = [
                (row["workload"], {tool: figure(each[caches]) for tool, each in row["start"].items()})
                for row in rows
            ]
            table(f"{title}, caches {caches}", cells, list(tools))
    table("libraries alone, s", [(row["workload"], row["bare_s"]) for row in rows], list(BARE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="WORD", help="workloads whose name has one of these"
    )
    parser.add_argument("--calls", nargs="*", type=int, default=CALLS, metavar="N", help="when these ended")
    parser.add_argument("--tools", nargs="*", default=STARTED, metavar="TOOL", help="columns")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="processes of each tool that is not slow")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="processor time says more on a machine that others use",
    )
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    calls, clock = sorted({1, *options.calls}), CLOCKS[options.clock]
    lacking = missing_peers() if any(not tool.startswith("scanviz") for tool in options.tools) else []
    if lacking:
        raise SystemExit(f"missing: {', '.join(lacking)}; pip install -r benchmarks/peers.txt")
    from common import write_json

    compileall.compile_dir(REPOSITORY / "scanviz", quiet=2)
    rows = []
    for name in WORKLOADS:
        if any(word in name for word in options.only):
            rows.append({"workload": name, **start_one(name, options.tools, calls, options.rounds)})
            seconds = {
                tool: ", ".join(f"{end:.2f}" for end in each["empty"][clock].values())
                for tool, each in rows[-1]["start"].items()
            }
            print(f"{name}: {'; '.join(f'{tool} {ends} s' for tool, ends in seconds.items())}", flush=True)
    print_tables(rows, options.tools, calls, clock)
    print("\n" + "\n".join(break_even(rows, calls, "scanviz", clock)))
    if "scanviz native" in options.tools:
        print("\n".join(break_even(rows, calls, "scanviz native", clock)[:-1]))
    write_json(options.json, rows, "peer_starts")


if __name__ == "__main__":
    main()
