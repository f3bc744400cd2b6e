"""What each change of docs/slow_loop.md buys: the page's versions, each run whole in a process of its own, in turns.

    python benchmarks/slow_loop.py [--rounds 5]

A version is the page's first block, its own block, and the search at the end.  *CPU* is what the process and its threads had of the
processor, imports included; the smallest of the rounds is shown.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?:python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEARCH = """
found = minimize(cost, guess, method="L-BFGS-B", jac={jac})
print(np.exp(found.x).round(2), "after", found.nfev, "calls")
"""


def versions() -> list[str]:
    """Return the page's programs, the slowest first."""
    setup, *blocks = BLOCK.findall((ROOT / "docs" / "slow_loop.md").read_text("utf-8"))
    blocks = [block for block in blocks if re.search(r"^(cost = |def cost)", block, re.MULTILINE)]
    return [setup + block + SEARCH.format(jac="scanviz.grad" in block) for block in blocks]


def cpu_and_wall(program: str) -> tuple[float, float, str]:
    """Run a program; return the seconds of the processor that it took, those that passed, and what it printed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    passed, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, passed, done.stdout.strip()


def main() -> None:
    """Measure, and print a line a version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    programs = versions()
    rounds = [[cpu_and_wall(each) for each in programs] for _ in range(parser.parse_args().rounds)]
    print("version   CPU s  wall s  prints")
    for k, runs in enumerate(zip(*rounds, strict=True), start=1):
        cpu, wall = (min(run[part] for run in runs) for part in (0, 1))
        print(f"{k:>7}  {cpu:6.2f}  {wall:6.2f}  {runs[0][2]}")


if __name__ == "__main__":
    main()
