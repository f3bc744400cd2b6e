"""Figures of peers, and of draws, in README and docs are those of the last results in benchmarks/results, and of nothing older."""

import itertools
import json
import re
from math import exp, log
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = json.loads((ROOT / "benchmarks" / "results" / "peer_starts.json").read_text("utf-8"))["rows"]
START = {row["workload"]: row["start"] for row in ROWS}
# the rows of README's table are called in words
WORKLOADS = {
    "cumulative sum of 1,000,000 numbers": "cumulative sum, 1M scalars",
    "RNN of 64 units, 1,000 steps": "rnn H 64, 1k",
    "its gradient": "rnn gradient H 64, 1k",
    "LSTM of 64 units, 1,000 steps": "lstm H 64, 1k",
    "its gradient, 2": "lstm gradient H 64, 1k",
    "Gibbs sampling, 10,000 steps": "gibbs sampling, 10k",
    "Kalman filter, 2,000 steps": "kalman filter, 2k",
}
TIMES = "docs/reference/times.md"


def seconds(workload: str, tool: str, caches: str, calls: str) -> float:
    return START[workload][tool][caches]["process_s"][calls]


def cells(workload: str, *caches: str) -> str:
    """Return the cells of a row: scanviz and JAX, to the first call and to the hundredth."""
    columns = itertools.product(caches, ("1", "100"), ("scanviz", "JAX"))
    return "".join(f"| {seconds(workload, tool, kind, calls):.2f} " for kind, calls, tool in columns) + "|"


def rows(page: str) -> list[str]:
    """Return the rows of the page's table of whole processes."""
    text = (ROOT / page).read_text("utf-8")
    return re.search(r"^\| s? ?\| scanviz, 1 call \| JAX .*\n\|-.*\n((?:\|.*\n)+)", text, re.M)[
        1
    ].splitlines()


def test_whole_processes_in_the_readme_are_those_of_the_last_results():
    lines = rows("README.md")
    assert len(lines) == len(WORKLOADS)
    for line, workload in zip(lines, WORKLOADS.values(), strict=True):
        assert line.endswith(cells(workload, "empty"))


def test_whole_processes_in_the_reference_are_those_of_the_last_results():
    assert rows(TIMES) == [f"| {workload} {cells(workload, 'empty', 'warm')}" for workload in START]


def test_the_geometric_means_that_the_page_states_are_those_of_the_results():
    page = (ROOT / TIMES).read_text("utf-8")

    def mean(caches: str, calls: str) -> str:
        logs = [
            log(seconds(one, "JAX", caches, calls) / seconds(one, "scanviz", caches, calls)) for one in START
        ]
        assert min(logs) > 0  # the page says that JAX is slower in each
        return f"{exp(sum(logs) / len(logs)):.2g}"

    assert (
        f"JAX takes {mean('empty', '1')} times as long to the first result and {mean('empty', '100')}" in page
    )
    assert f"warm caches {mean('warm', '1')} and {mean('warm', '100')} times" in page


def test_times_of_draws_are_those_of_the_last_results():
    page = (ROOT / "docs" / "reference" / "times.md").read_text("utf-8")
    drawn = json.loads((ROOT / "benchmarks" / "results" / "draws.json").read_text("utf-8"))["rows"]
    assert len(drawn) >= 8
    for row in drawn:
        times = " | ".join(f"{row[key]:.0f}" for key in ("outside_us", "call_us", "number_ns"))
        times += f" | {row['numpy_random']:.1f} | {row['native_ns']:.0f} | {row['native_faster']:.1f} times |"
        assert f"| `{row['draw']}` | {times}" in page
