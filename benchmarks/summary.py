"""All figures that the profiler is judged by, from the results that its benchmarks wrote: what each goal is, and whether it is met.

    python benchmarks/summary.py [FOLDER]        # benchmarks/results by default

Results are those of ``overhead.py``, ``profile_truth.py`` (quiet, and with ``--load``), ``comparing.py`` and ``advice.py``, each
with ``--json FOLDER/NAME.json``; ``benchmarks/README.md`` has the commands.  A result that is not there is named.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import advice
import comparing
import overhead
import profile_truth
from common import print_goals

Rows = list[dict[str, Any]]


def _truth(rows: Rows) -> str:
    return profile_truth.in_short(rows)


def _of(line: Callable[[dict[str, Any]], str]) -> Callable[[Rows], str]:
    return lambda rows: "\n".join(map(line, rows))


RESULTS: list[tuple[str, str, Callable[[Rows], str]]] = [
    ("profile_truth", "what profiles state, beside independent instruments, on a quiet machine", _truth),
    ("profile_truth_native", "the same of machine code", _truth),
    ("profile_truth_load", "the same under a planted load", _truth),
    ("overhead", "what profiling costs", _of(overhead.line)),
    ("comparing", "comparisons under a load in bursts", _of(comparing.line)),
    ("advice", "what following advice delivers of what it promised", _of(advice.line)),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "results")
    folder = parser.parse_args().folder
    for name, title, lines in RESULTS:
        path = folder / f"{name}.json"
        print(f"{title} ({name}.json)")
        if not path.exists():
            print("not measured\n")
            continue
        found = json.loads(path.read_text("utf-8"))
        machine = found["machine"]
        print(
            f"{machine['processor']}, {machine['processors']} processors, Python {machine['python']}, NumPy {machine['numpy']}"
        )
        rows = found["rows"]
        print(lines(rows))
        if all("met" in row for row in rows):
            print_goals(rows)
        print()


if __name__ == "__main__":
    main()
