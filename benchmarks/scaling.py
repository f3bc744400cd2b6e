"""Growth of building, first and later calls, a profiled first call and its record with a function's size.

    python benchmarks/scaling.py [--quick] [--json FILE]

``exponent`` is the slope of a straight line through the logarithms of size and time: 1 is linear, 2 is quadratic. Times are of the
processor, so what else a machine does hardly matters, in a process that has built and called such a function before.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from time import process_time

from common import write_json
from many_loops import SHAPES

import scanviz

GOAL = 1.2
SIZES = {
    "chain": (100, 300, 1000),
    "apart": (100, 300, 1000),
    "together": (100, 300, 1000),
    "stacked": (8, 16, 32),
    "within": (10, 20, 40),
    "updated": (50, 200, 800),
    "deep": (500, 1000, 2000),
    "states": (20, 40, 80),
    "long_step": (25, 50, 100),
}
PARTS = ("build", "first_call", "call", "profiled", "record")


def seconds(action: Callable[[], object]) -> float:
    """Return the seconds of processor time that an action takes."""
    begun = process_time()
    action()
    return process_time() - begun


def exponent(sizes: list[int], times: list[float]) -> float:
    """Return the slope of the straight line that fits the logarithms best."""
    x, y = [math.log(size) for size in sizes], [math.log(each) for each in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def measured(name: str, size: int) -> dict[str, object]:
    """Return the times of one function of a size."""
    made = SHAPES[name](size)
    functions = []
    build = seconds(lambda: functions.append(made.build()))
    (function,) = functions
    first = seconds(lambda: function(*made.values))
    again = min(seconds(lambda: function(*made.values)) for _ in range(10))
    other = made.build()
    with scanviz.profile() as session:
        profiled = seconds(lambda: other(*made.values))
    record = seconds(lambda: session.record)
    return {
        "what": name,
        "size": size,
        "build": build,
        "first_call": first,
        "call": again,
        "profiled": profiled,
        "record": record,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    print(f"{'what':<10}{'size':>6}{'build':>13}{'first call':>13}{'call':>13}{'profiled':>13}{'record':>13}")
    for name, sizes in SIZES.items():
        counts = [2, 4] if options.quick else list(sizes)
        measured(name, 2)
        found = [measured(name, count) for count in counts]
        for row in found:
            times = "".join(f"{1e3 * row[part]:>10.2f} ms" for part in PARTS)
            print(f"{name:<10}{row['size']:>6}{times}")
        fitted = {part: exponent(counts, [row[part] for row in found]) for part in PARTS}
        print(f"{'':<10}{'size^':>6}" + "".join(f"{fitted[part]:>13.2f}" for part in PARTS))
        rows += found
        rows.append({"what": name, "exponents": fitted, "goal": GOAL})
    write_json(options.json, rows, "scaling")


if __name__ == "__main__":
    main()
