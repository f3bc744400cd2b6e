"""From the start of a process to the first result, and what the process holds: scanviz beside JAX and PyTensor.

    peers/bin/python benchmarks/peer_starts.py [--only WORD …] [--json FILE]      # some ten minutes

Each cell is a process of its own (``peer_programs/first.py``), whose caches are in a folder: empty, and again with what the first
process left there.  Drawing the inputs is left out: of long loops it takes longer than all else.  Packages have their bytecode,
as installed ones do.  PyTensor compiles for up to a minute: it takes part in some of the workloads.

Two columns are no tool: a process that imports NumPy and does nothing, and one that loads LLVM's library as well.  No code
of ours is sooner than the first, nor than the second where machine code must be made.

*Held* is the most memory that the process had beyond that with its inputs alone, after three calls: packages, code and arrays,
but not the pages of libraries' files.
Goal: what the forecast says that a call takes, results included, and 64 MB.
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
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
REPEATED = 7  # of those that are not slow, in turns
GOALS = {"JAX": 4.0, "faster PyTensor": 15.0}  # times as long as scanviz, on every workload
MOST_MB = 64  # beyond what a call is forecast to take


def started(tool: str, workload: str, folder: str) -> dict[str, float]:
    """Return the seconds of a new process to its first result, and what else it printed, whose caches are in a folder."""
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
    command.append(",".join(map(str, sizes)))
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{tool}, {workload}:\n{done.stderr}")
    ended, first, drawing, held, later, forecast, compiled = map(float, done.stdout.split())
    return {
        "process_s": ended - begun - drawing,  # one clock for all processes
        "first_s": first,
        "first_mb": held / 1e6,
        "mb": later / 1e6,
        "forecast_mb": forecast / 1e6,
        "compiled": compiled,
    }


def bare(imports: str) -> float:
    """Return the seconds of a new process until it has imported something."""
    script = f"import time; {imports}; print(time.perf_counter())"
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout) - begun


def start_one(workload: str) -> dict[str, Any]:
    """Return by tool what a process takes to the first result: with empty caches, and with warm ones; the shortest of some."""
    taking_part = [tool for tool in STARTED if tool not in SLOW or workload in WITH_SLOW]
    found: dict[str, dict[str, list[dict[str, float]]]] = {
        tool: {"empty": [], "warm": []} for tool in taking_part
    }
    alone: dict[str, list[float]] = {name: [] for name in BARE}
    for repetition in range(REPEATED):  # tools in turns: a busy minute of the machine is every tool's
        for name, imports in BARE.items():
            alone[name].append(bare(imports))
        for tool in taking_part:
            if tool in SLOW and repetition:
                continue
            with tempfile.TemporaryDirectory() as folder:
                for caches in ("empty", "warm"):
                    found[tool][caches].append(started(tool, workload, folder))
    shortest = {
        tool: {caches: min(runs, key=lambda run: run["process_s"]) for caches, runs in cells.items()}
        for tool, cells in found.items()
    }
    return {"start": shortest, "bare_s": {name: min(runs) for name, runs in alone.items()}}


def with_faster(cells: dict[str, float]) -> dict[str, float]:
    """Return cells with the better of PyTensor's two."""
    slow = [cells[tool] for tool in SLOW if tool in cells]
    return {**cells, "faster PyTensor": min(slow)} if slow else cells


def no_room(rows: list[dict[str, Any]]) -> str:
    """Return a sentence on the rows in which the libraries that were loaded alone take more than the goal leaves."""
    goal, alone = GOALS["JAX"], []
    for row in rows:
        cell = row["start"]["scanviz"]["empty"]
        libraries = row["bare_s"]["NumPy, LLVM" if cell["compiled"] else "NumPy alone"]
        if row["start"]["JAX"]["empty"]["process_s"] < goal * libraries:
            alone.append(row["workload"])
    return (
        f"caches empty: the libraries alone take more than JAX / {goal:g} in {len(alone)}: "
        f"{'; '.join(alone) or 'nowhere'}"
    )


def told(rows: list[dict[str, Any]]) -> list[str]:
    """Return what of the goals was met, in sentences."""
    found = []
    for caches in ("empty", "warm"):
        for other, goal in GOALS.items():
            ratios = {
                row["workload"]: cells[other] / cells["scanviz"]
                for row in rows
                for cells in [
                    with_faster({tool: each[caches]["process_s"] for tool, each in row["start"].items()})
                ]
                if other in cells
            }
            if ratios:
                least = min(ratios, key=lambda name: ratios[name])
                met = sum(each >= goal for each in ratios.values())
                mean = statistics.geometric_mean(ratios.values())
                found.append(
                    f"caches {caches}: {other} takes {mean:.1f} times as long (geometric mean), "
                    f"at least {ratios[least]:.1f} ({least}); goal {goal:g} met in {met} of {len(ratios)}"
                )
    found += [no_room(rows)]
    over = [
        f"{row['workload']}, {tool}: {cell['mb']:.0f} MB, {cell['forecast_mb']:.0f} forecast"
        for row in rows
        for tool in ("scanviz", "scanviz native")
        for cell in [row["start"][tool]["empty"]]
        if cell["mb"] > cell["forecast_mb"] + MOST_MB
    ]
    return [*found, f"memory beyond the forecast and {MOST_MB} MB: {'; '.join(over) or 'nowhere'}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="WORD", help="workloads whose name has one of these"
    )
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    lacking = missing_peers()
    if lacking:
        raise SystemExit(f"missing: {', '.join(lacking)}; pip install -r benchmarks/peers.txt")
    from common import write_json

    compileall.compile_dir(REPOSITORY / "scanviz", quiet=2)
    rows = []
    for name in WORKLOADS:
        if any(word in name for word in options.only):
            rows.append({"workload": name, **start_one(name)})
            seconds = {tool: each["empty"]["process_s"] for tool, each in rows[-1]["start"].items()}
            print(
                f"{name}: {', '.join(f'{tool} {each:.2f} s' for tool, each in seconds.items())}", flush=True
            )
    for caches in ("empty", "warm"):
        for title, key, scale in (
            ("new process to the first result, s", "process_s", 1.0),
            ("of that building and the first call, ms", "first_s", 1e3),
            ("held, MB", "mb", 1.0),
        ):
            cells = [
                (row["workload"], {tool: scale * each[caches][key] for tool, each in row["start"].items()})
                for row in rows
            ]
            table(f"{title}, caches {caches}", cells, STARTED)
    table("libraries alone, s", [(row["workload"], row["bare_s"]) for row in rows], list(BARE))
    print("\n" + "\n".join(told(rows)))
    write_json(options.json, rows, "peer_starts")


if __name__ == "__main__":
    main()
