"""What profiling costs: the same loops with and without a recorder, beside what the report itself states.

    python benchmarks/overhead.py [--json FILE]

Goal: at most 5 % for steps of 5 µs or more.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from common import interleaved, ratio, write_json

import scanviz
from scanviz import tensor as T

SIZES = ((16, 1), (256, 1), (256, 4), (256, 6), (4096, 2), (65536, 1))  # (width, how often tanh is applied in a step)
STEPS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    print(f"{'a step':>10}{'profiled':>12}{'measured':>10}{'stated':>9}")
    rows = []
    for width, times in SIZES:
        h = T.vector("h")

        def step(h_tm1, times=times):
            for _ in range(times):
                h_tm1 = T.tanh(h_tm1 * 0.9)
            return h_tm1

        steps = STEPS
        result, _ = scanviz.scan(step, outputs_info=h, n_steps=steps, name="loop")
        f = scanviz.function([h], result[-1], name="f")
        value = np.ones(width)
        stated = []

        def profiled(f=f, value=value, stated=stated):
            with scanviz.profile() as p:
                f(value)
            loop_ns = p.record.loops[0].total_ns
            stated.append(p.record.cost.total_ns / loop_ns)

        def watched(f=f, value=value, session=scanviz.profile()):  # noqa: B008  # one recorder for all rounds
            with session:
                f(value)

        profiled()
        plain, recorded = interleaved([lambda f=f, value=value: f(value), watched], 31)
        row = {
            "step_us": 1e6 * statistics.median(plain) / steps,
            "profiled_us": 1e6 * statistics.median(recorded) / steps,
            "measured": ratio(recorded, plain) - 1,
            "stated": stated[-1],
        }
        rows.append(row)
        print(
            f"{row['step_us']:>7.2f} µs{row['profiled_us']:>9.2f} µs{row['measured']:>9.1%}{row['stated']:>9.1%}"
        )
    write_json(options.json, rows, "overhead")


if __name__ == "__main__":
    main()
