"""What a process holds, as the system counts it: the bytes of a forecast, and no more after ten thousand calls or functions.

    python benchmarks/memory_outside.py [--only WORD …] [--json FILE]      # Linux, three minutes

Each cell is a process of its own.  *Grew* is the most that it held in calls of a long loop beyond what it held after calls of a
short one, without pages of libraries' files, beside the forecast before and after.  *Kept* is what a process holds more
when it has done something many times than after a fifth of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import write_json

import scanviz
from scanviz import tensor as T

TIERS = ("numpy", "native", "auto")
WIDTH, FEW, MANY = 64, 20, 120_000
NEAR, LLVM_MB = (
    0.05,
    24,
)  # allowed growth beyond a forecast; modules that the default mode may load meanwhile
MOST_KEPT_MB = 12


def leaky(**options: Any) -> tuple[list[Any], Any]:
    h, w, n = T.vector("h"), T.vector("w"), T.lscalar("n")
    rows, _ = scanviz.scan(
        lambda h, w: T.tanh(w * h + 0.1), outputs_info=h, non_sequences=w, n_steps=n, **options
    )
    return [h, w, n], rows


def all_rows() -> tuple[list[Any], Any]:
    return leaky()


def last_row() -> tuple[list[Any], Any]:
    inputs, rows = leaky()
    return inputs, rows[-1]


def gradient() -> tuple[list[Any], Any]:
    inputs, rows = leaky()
    return inputs, scanviz.grad(T.mean(rows**2), inputs[1])


def gradient_of_last_row() -> tuple[list[Any], Any]:
    inputs, rows = leaky()
    return inputs, scanviz.grad(T.sum(rows[-1] ** 2), inputs[1])


def gradient_with_checkpoints() -> tuple[list[Any], Any]:
    h, w, n = T.vector("h"), T.vector("w"), T.lscalar("n")
    rows, _ = scanviz.scan_checkpoints(
        lambda h, w: T.tanh(w * h + 0.1), None, h, w, n_steps=n, save_every_N=100
    )
    return [h, w, n], scanviz.grad(T.sum(rows[-1] ** 2), w)


LOOPS: dict[str, Callable[[], tuple[list[Any], Any]]] = {
    made.__name__.replace("_", " "): made
    for made in (all_rows, last_row, gradient, gradient_of_last_row, gradient_with_checkpoints)
}


def status_field(name: str) -> float:
    """Return a number of bytes of this process in MB, from the system."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[name].split()[0]) * 1024 / 1e6


def grown(loop: str, tier: str) -> list[float]:
    """Return the MB of calls of a long loop, and the forecast of one before and after."""
    inputs, result = LOOPS[loop]()
    f = scanviz.function(inputs, result, mode=tier)
    start = np.ones(WIDTH), np.full(WIDTH, 0.5)
    for _ in range(3):
        f(*start, FEW)
    before = status_field("VmHWM") - status_field("RssFile")
    forecast = f.memory_forecast(*start, MANY).peak_bytes / 1e6
    for _ in range(3):
        f(*start, MANY)
    grew = status_field("VmHWM") - status_field("RssFile") - before
    return [grew, forecast, f.memory_forecast(*start, MANY).peak_bytes / 1e6]


def calls(tier: str) -> Callable[[int], None]:
    """Return what calls one function."""
    inputs, result = gradient()
    f = scanviz.function(inputs, result, mode=tier)
    return lambda number: f(np.ones(WIDTH), np.full(WIDTH, 0.5), 100)


def calls_of_any_length(tier: str) -> Callable[[int], None]:
    """Return what calls one function with other sizes each time."""
    inputs, result = gradient()
    f, random = scanviz.function(inputs, result, mode=tier), np.random.default_rng(0)

    def call(number: int) -> None:
        width = random.integers(1, 100)
        f(np.ones(width), np.full(width, 0.5), random.integers(1, 3000))

    return call


def functions(tier: str) -> Callable[[int], None]:
    """Return what builds another function each time, calls it twice and drops it."""

    def build(number: int) -> None:
        x = T.vector("x")
        rows, _ = scanviz.scan(lambda x_t, s: s * 0.5 + x_t * float(number), x, 0.0)
        f = scanviz.function([x], [rows, scanviz.grad(T.sum(rows), x)], mode=tier)
        for _ in range(2):
            f(np.ones(50))

    return build


REPEATED: dict[str, tuple[Callable[[str], Callable[[int], None]], int]] = {
    "calls": (calls, 10_000),
    "calls of any length": (calls_of_any_length, 1_000),
    "functions built and dropped": (functions, 300),
}


def kept(what: str, tier: str) -> list[float]:
    """Return the MB that this process holds more after many times than after a fifth of them."""
    make, times = REPEATED[what]
    act = make(tier)
    for number in range(times // 5):
        act(number)
    before = status_field("RssAnon")
    for number in range(times // 5, times):
        act(number)
    return [status_field("RssAnon") - before]


def in_a_process(kind: str, name: str, tier: str) -> list[float]:
    command = [sys.executable, __file__, "--one", kind, name, tier]
    return list(
        map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""], metavar="WORD", help="rows whose name has a word")
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, name, tier = options.one
        print(*(grown(name, tier) if kind == "grown" else kept(name, tier)))
        return
    rows, failed = [], False
    for kind, names in (("grown", list(LOOPS)), ("kept", list(REPEATED))):
        for name in names:
            if not any(word in name for word in options.only):
                continue
            row: dict[str, Any] = {"what": name}
            for tier in TIERS:
                row[tier] = found = in_a_process(kind, name, tier)
                limit = MOST_KEPT_MB if kind == "kept" else (1 + NEAR) * max(found[1:]) + LLVM_MB
                failed |= found[0] > limit or (kind == "grown" and found[0] < (1 - NEAR) * min(found[1:]) - 1)
            rows.append(row)
            cells = (
                f"{tier} grew {row[tier][0]:6.1f} MB, forecast {row[tier][1]:6.1f}, then {row[tier][2]:6.1f}"
                if kind == "grown"
                else f"{tier} kept {row[tier][0]:6.1f} MB"
                for tier in TIERS
            )
            print(f"{name:<28}{'   '.join(cells)}", flush=True)
    write_json(options.json, rows, "memory_outside")
    sys.exit(failed)


if __name__ == "__main__":
    main()
