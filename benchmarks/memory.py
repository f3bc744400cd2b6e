"""What loops hold in memory: it must not grow with steps when only the last row is asked for, nor hold more than rows need.

    python benchmarks/memory.py [--quick] [--json FILE]

For each loop the peak of a run beyond what was held before it, as tracemalloc sees it (NumPy reports every array to it), for
1000 steps and for 100 000 (10 000 with ``--quick``); then how far the whole process grew meanwhile, and, with wide rows, the
peak in rows: a step that made a new array for each operation would need as many rows as it has operations.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from common import write_json

import scanviz
from scanviz import tensor as T

FEW, MANY, QUICK = 1_000, 100_000, 10_000
NARROW, WIDE = 16, 100_000
ALLOWED = 4096  # bytes by which a peak may differ: numbers and names, no rows


def tanh(h):
    return T.tanh(0.9 * h + 0.1)


def many_operations(h):
    return T.tanh(h * 0.5 + 1.0) * T.sigmoid(h) - T.maximum(h, 0.1) + T.exp(-h) * T.sqrt(abs(h) + 1.0)


def two_taps(h_tm2, h_tm1):
    return 0.5 * h_tm2 + 0.3 * h_tm1 + 1.0


def make(step: Callable[..., Any], taps: int) -> Any:
    h, n = T.matrix("h"), T.lscalar("n")
    start = dict(initial=h, taps=[-2, -1]) if taps == 2 else h[0]
    rows, _ = scanviz.scan(step, outputs_info=start, n_steps=n, name=step.__name__)
    return scanviz.function([h, n], rows[-1], mode="numpy")


def peak(f: Any, width: int, steps: int) -> int:
    """Return the peak bytes of a run beyond those held before."""
    start = np.zeros((2, width))
    f(start, steps)
    gc.collect()
    tracemalloc.start()
    f(start, steps)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held


def process_peak() -> int:
    """Return the bytes that this process held at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    long = QUICK if options.quick else MANY
    print(
        f"{'loop':<18}{f'{FEW:,} steps':>14}{f'{long:,} steps':>16}{'process grew':>14}{'wide: rows held':>17}"
    )
    rows, failed = [], False
    for step, taps in ((tanh, 1), (many_operations, 1), (two_taps, 2)):
        f = make(step, taps)
        few = peak(f, NARROW, FEW)
        before = process_peak()
        many = peak(f, NARROW, long)
        grown = process_peak() - before
        row = {
            "loop": step.__name__,
            "few_bytes": few,
            "many_bytes": many,
            "process_bytes": grown,
            "wide_rows": peak(f, WIDE, 50) / (8 * WIDE),
        }
        rows.append(row)
        grew = abs(many - few) > ALLOWED
        failed |= grew
        print(
            f"{step.__name__:<18}{few:>12,} B{many:>14,} B{grown:>12,} B{row['wide_rows']:>17.2f}"
            f"{'  grows with steps' if grew else ''}"
        )
    write_json(options.json, rows, "memory")
    sys.exit(failed)


if __name__ == "__main__":
    main()
