"""The compile step of native loops in a new process: with an empty cache on disk, and with what that process left there.

    python benchmarks/code_cache.py [--json FILE]      # half a minute

The step goes from a loop and the shapes that it meets to code that can be called: its plan, its code in LLVM's language, and
its object file, from disk or compiled, with the import of LLVM and of what writes code.  *Compiled* is without these imports and
without a cache, in a process that has compiled the same loops for other shapes.  Times are the processor's, of all loops of a
function together, in processes that may use one thread.  They are the shortest of some processes.  Goals: compiled in 25 ms, a
gradient in 50.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = {
    "rnn H 64": ("rnn", "64,1,100"),
    "rnn gradient H 64": ("rnn_gradient", "64,1,100"),
    "lstm H 64": ("lstm", "64,1,100"),
    "lstm gradient H 64": ("lstm_gradient", "64,1,100"),
}
REPEATED = 5
COMPILED_GOALS_MS = {"lstm H 64": 25.0, "lstm gradient H 64": 50.0}


def one(name: str, sizes: str, cache: str) -> None:
    """Print the time of the compile step in this process, in milliseconds."""
    sys.path.insert(0, str(HERE))
    from peer_programs import inputs, scanviz_loops

    from scanviz.engine.backends.native.run import tier

    numbers, taken = list(map(int, sizes.split(","))), []
    usual = tier.machine_code

    def timed(*given):
        begun = time.process_time()
        found = usual(*given)
        taken.append(time.process_time() - begun)
        return found

    tier.machine_code, scanviz_loops.MODE = timed, "native"
    make = getattr(inputs, name.removesuffix("_gradient"))
    if cache == "none":
        others = [numbers[0] // 2, *numbers[1:]]
        getattr(scanviz_loops, name)(*others)(*make(*others))
        taken.clear()
    getattr(scanviz_loops, name)(*numbers)(*make(*numbers))
    print(1e3 * sum(taken))


def measured(name: str, sizes: str) -> dict[str, float]:
    """Return the milliseconds with an empty cache, with a warm one, and those of compiling alone."""
    found: dict[str, list[float]] = {"empty": [], "warm": [], "none": []}
    for _ in range(REPEATED):
        with tempfile.TemporaryDirectory() as folder:
            # of more threads, OpenBLAS's wait for work as fast as they can, and are no part of compiling
            environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "OPENBLAS_NUM_THREADS": "1"}
            environment["SCANVIZ_NATIVE_THREADS"] = "1"
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            for cache, times in found.items():
                environment["SCANVIZ_NATIVE_CACHE"] = "off" if cache == "none" else folder
                command = [sys.executable, __file__, "--one", name, sizes, cache]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                times.append(float(done.stdout))
    least = {cache: min(times) for cache, times in found.items()}
    return {"empty": least["empty"], "warm": least["warm"], "compiled": least["none"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return
    sys.path.insert(0, str(HERE))
    from common import write_json

    rows = []
    for workload, (name, sizes) in WORKLOADS.items():
        rows.append({"workload": workload, **measured(name, sizes)})
        print(
            f"{workload}: {rows[-1]['empty']:.1f} ms with an empty cache, {rows[-1]['warm']:.1f} with a warm one, "
            f"{rows[-1]['compiled']:.1f} compiled",
            flush=True,
        )
    for row in rows:
        goal = COMPILED_GOALS_MS.get(row["workload"])
        if goal is not None:
            print(f"{row['workload']}: compiled in {row['compiled']:.1f} ms, goal {goal:g}")
    write_json(options.json, rows, "code_cache")


if __name__ == "__main__":
    main()
