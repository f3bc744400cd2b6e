"""What `import scanviz` costs over `import numpy`: at most 40 ms.

Each round starts fresh interpreters in turn, one that imports NumPy and one that imports scanviz (which imports NumPy
itself), so that a slow moment of the machine hits both.  Reported are medians, and the median of the differences within
a round, which is the cost.  Two rounds before the first are thrown away: they fill the caches.

    python benchmarks/import_time.py [--rounds 15] [--json FILE] [--blame] [--check]
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import as_installed

ROOT = Path(__file__).resolve().parent.parent
GOAL_MS = 40.0
WARM_UP = 2
MODULES = ("numpy", "scanviz")
CODE = "import time; began = time.perf_counter(); import {}; print((time.perf_counter() - began) * 1e3)"


# Byte code as an installed package has it, in a folder of our own, so that the checkout stays clean.
CACHE = tempfile.TemporaryDirectory(prefix="scanviz-import-")
ENVIRONMENT = as_installed(CACHE.name)


def interpreter(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)!r} failed:\n{done.stderr}")
    return done


def import_ms(module: str) -> float:
    return float(interpreter("-c", CODE.format(module)).stdout)


def measure(rounds: int) -> dict[str, list[float]]:
    """Return each module's import times in milliseconds, a round at a place."""
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    for number in range(rounds + WARM_UP):
        for module in MODULES if number % 2 else MODULES[::-1]:
            taken = import_ms(module)
            if number >= WARM_UP:
                times[module].append(taken)
    return times


def summarise(times: dict[str, list[float]]) -> dict[str, object]:
    extra = [
        with_scanviz - alone for alone, with_scanviz in zip(times["numpy"], times["scanviz"], strict=True)
    ]
    rows = {**times, "scanviz over numpy": extra}
    cost = statistics.median(extra)
    return {
        "python": platform.python_version(),
        "rounds": len(extra),
        "goal_ms": GOAL_MS,
        "cost_ms": round(cost, 2),
        "reached": cost <= GOAL_MS,
        "rows": {name: spread(values) for name, values in rows.items()},
    }


def spread(values: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(values, n=4)
    return {"median_ms": round(median, 2), "quartile_1_ms": round(low, 2), "quartile_3_ms": round(high, 2)}


def table(summary: dict) -> str:
    lines = [f"{'import':<20}{'median':>10}{'quartiles':>20}"]
    for name, row in summary["rows"].items():
        quartiles = f"{row['quartile_1_ms']:.1f} to {row['quartile_3_ms']:.1f} ms"
        lines.append(f"{name:<20}{row['median_ms']:>7.1f} ms{quartiles:>20}")
    verdict = "reached" if summary["reached"] else "MISSED"
    lines.append(f"goal: at most {GOAL_MS:.0f} ms over numpy: {verdict} with {summary['cost_ms']:.1f} ms")
    return "\n".join(lines)


def blame(count: int = 20) -> str:
    """Return the modules that cost most by themselves when scanviz comes after NumPy."""
    log = interpreter("-X", "importtime", "-c", "import numpy; import scanviz").stderr
    rows = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)", log)
    names = [name for _, _, name in rows]
    after = rows[names.index("numpy") + 1 :]
    after.sort(key=lambda row: -int(row[0]))
    return "\n".join(f"{int(own) / 1e3:>8.2f} ms  {name}" for own, _, name in after[:count])


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what `import scanviz` costs over `import numpy`.")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of fresh interpreters (default 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    parser.add_argument("--blame", action="store_true", help="list the modules that cost most")
    parser.add_argument("--check", action="store_true", help="exit with 1 where the goal is missed")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: at least 2 are needed to tell how much they differ")
    summary = summarise(measure(options.rounds))
    print(table(summary))
    if options.blame:
        print(blame())
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 1 if options.check and not summary["reached"] else 0


if __name__ == "__main__":
    sys.exit(main())
