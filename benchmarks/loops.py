"""Tiers of scanviz against loops written by hand in NumPy: outputs compared first, then medians and ratios.

    python benchmarks/loops.py [--quick] [--json FILE]

Each row is measured in turns in one process; the ratio is the median of the ratios round by round, which a machine that
drifts changes least.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from common import interleaved, ratio, write_json
from workloads import workloads

import scanviz  # noqa: F401  # imported before anything is timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter loops, fewer rounds")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    print(f"{'loop':<36}{'by hand':>12}{'numpy':>12}{'ratio':>8}{'goal':>7}{'reference':>12}{'ratio':>8}")
    rows = []
    for workload in workloads(options.quick):
        tiers = {mode: workload.build(mode) for mode in ("numpy", "reference")}
        expected = workload.by_hand(*workload.inputs)
        for f in tiers.values():
            np.testing.assert_allclose(f(*workload.inputs), expected, rtol=1e-9, atol=1e-12)
        actions = [
            lambda each=workload: each.by_hand(*each.inputs),
            lambda each=workload, f=tiers["numpy"]: f(*each.inputs),
            lambda each=workload, f=tiers["reference"]: f(*each.inputs),
        ]
        hand, numpy_tier, reference = interleaved(actions, 5 if options.quick else 15)
        row = {
            "loop": workload.name,
            "by_hand_ms": 1e3 * statistics.median(hand),
            "numpy_ms": 1e3 * statistics.median(numpy_tier),
            "numpy_ratio": ratio(numpy_tier, hand),
            "goal": workload.goal,
            "reference_ms": 1e3 * statistics.median(reference),
            "reference_ratio": ratio(reference, hand),
        }
        rows.append(row)
        goal = f"{workload.goal:.1f}" if workload.goal else "–"
        missed = " missed" if workload.goal and row["numpy_ratio"] > workload.goal else ""
        print(
            f"{workload.name:<36}{row['by_hand_ms']:>9.2f} ms{row['numpy_ms']:>9.2f} ms{row['numpy_ratio']:>8.2f}{goal:>7}"
            f"{row['reference_ms']:>9.2f} ms{row['reference_ratio']:>8.2f}{missed}"
        )
    write_json(options.json, rows, "loops")


if __name__ == "__main__":
    main()
