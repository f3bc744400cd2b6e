"""What profiling costs: the same loops with and without a recorder, beside what the report itself states.

    python benchmarks/overhead.py [--json FILE]

Goal: at most 5 % for steps of 5 µs or more.  A run takes about 30 ms, so that what a profile costs once a run (some 70 µs)
does not hide what it costs a step; runs with and without the recorder take turns.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np
from common import interleaved, ratio, seconds, write_json

import scanviz
from scanviz import tensor as T

GOAL, FROM_US = 0.05, 5.0
RUN_SECONDS, ROUNDS = 0.03, 41
# How wide a state is and how often tanh is applied to it: steps of about 1, 3, 5, 20 and 100 µs.
KINDS = ((256, 1), (256, 4), (256, 7), (4096, 2), (49152, 1))


def make(times: int) -> Any:
    h, n = T.vector("h"), T.lscalar("n")

    def step(h_tm1):
        for _ in range(times):
            h_tm1 = T.tanh(h_tm1 * 0.9)
        return h_tm1

    result, _ = scanviz.scan(step, outputs_info=h, n_steps=n, name="loop")
    return scanviz.function([h, n], result[-1], name="f")


def measured(width: int, times: int) -> dict[str, Any]:
    """Return one row of the table."""
    f, start, session = make(times), np.ones(width), scanviz.profile()
    f(start, 100)
    steps = max(200, int(RUN_SECONDS * 200 / seconds(lambda: f(start, 200))))

    def watched():
        with session:
            f(start, steps)

    plain, recorded = interleaved([lambda: f(start, steps), watched], ROUNDS)
    record = session.record
    cost, whole = record.cost.total_ns, sum(loop.total_ns for loop in record.loops)
    return {
        "steps": steps,
        "step_us": 1e6 * statistics.median(plain) / steps,
        "profiled_us": 1e6 * statistics.median(recorded) / steps,
        "measured": ratio(recorded, plain) - 1,
        "stated": cost / (whole - cost),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    print(f"{'a step':>10}{'profiled':>12}{'measured':>10}{'stated':>9}{'goal':>7}")
    rows = []
    for width, times in KINDS:
        row = measured(width, times)
        rows.append(row)
        counts = row["step_us"] >= FROM_US
        print(
            f"{row['step_us']:>7.2f} µs{row['profiled_us']:>9.2f} µs{row['measured']:>10.1%}{row['stated']:>9.1%}"
            f"{f'{GOAL:.0%}' if counts else '–':>7}{' missed' if counts and row['measured'] > GOAL else ''}"
        )
    write_json(options.json, rows, "overhead")


if __name__ == "__main__":
    main()
