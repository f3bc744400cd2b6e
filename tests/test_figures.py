"""Figures of peers, and of draws, in README and docs are those of the last results in benchmarks/results, and of nothing older."""

from __future__ import annotations

import json
import re
from math import exp, log
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROWS = {
    row["workload"]: row["ms"]
    for row in json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text("utf-8"))["rows"]
    if "ms" in row  # the last one holds means
}
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
COLUMNS = {"native": "scanviz native", "default": "scanviz"}


def tables(page: str) -> list[tuple[str, str, str]]:
    """Return (workload, tool, figure) of every cell of the page's tables of peers."""
    found = []
    for block in re.findall(r"(?:^\|[^\n]*\|\n)+", (ROOT / page).read_text("utf-8"), re.M):
        head, _, *rows = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        if "JAX" not in head or ("C by hand" not in head and "Numba by hand" not in head):
            continue
        seen: list[str] = []
        for row in rows:
            name = row[0] if row[0] not in seen else f"{row[0]}, 2"
            seen.append(row[0])
            workload = WORKLOADS.get(name, name)
            found += [(workload, tool, cell) for tool, cell in zip(head[1:], row[1:], strict=True)]
    return found


def measured(workload: str, tool: str) -> float | None:
    row = ROWS[workload]
    if tool == "PyTensor":  # the faster of its backends
        return min((row[name] for name in row if name.startswith("PyTensor") and row[name]), default=None)
    return row.get(COLUMNS.get(tool, tool))


def test_whole_processes_in_the_readme_are_those_of_the_last_results():
    rows = json.loads((ROOT / "benchmarks" / "results" / "peer_starts.json").read_text("utf-8"))["rows"]
    start = {row["workload"]: row["start"] for row in rows}
    head, *lines = re.search(
        r"^\| \| scanviz, 1 call .*\n\|-.*\n((?:\|.*\n)+)", (ROOT / "README.md").read_text("utf-8"), re.M
    )[0].splitlines()
    assert len(lines) == 1 + len(WORKLOADS) and head.count("JAX") == 2
    for line, workload in zip(lines[1:], WORKLOADS.values(), strict=True):
        times = [
            start[workload][tool]["empty"]["process_s"][call]
            for call in ("1", "100")
            for tool in ("scanviz", "JAX")
        ]
        assert line.endswith("".join(f"| {time:.2f} " for time in times) + "|")


@pytest.mark.parametrize(("page", "least"), [("docs/reference/times.md", 150)])
def test_figures_of_peers_are_those_of_the_last_results(page, least):
    cells = tables(page)
    assert len(cells) >= least
    old = []
    for workload, tool, cell in cells:
        value = measured(workload, tool)
        if cell != ("–" if value is None else f"{value:.3g}"):
            old.append((workload, tool, cell, value))
    assert not old, "write what benchmarks/results/peers.json has"


def test_the_geometric_mean_that_the_page_states_is_that_of_the_results():
    means = [
        row["JAX"] / row["scanviz native"]
        for row in ROWS.values()
        if row.get("JAX") and row.get("scanviz native")
    ]
    mean = exp(sum(map(log, means)) / len(means))
    assert f"JAX takes {mean:.2g} times" in (ROOT / "docs" / "reference" / "times.md").read_text("utf-8")


def test_times_of_draws_are_those_of_the_last_results():
    page = (ROOT / "docs" / "reference" / "times.md").read_text("utf-8")
    rows = json.loads((ROOT / "benchmarks" / "results" / "draws.json").read_text("utf-8"))["rows"]
    assert len(rows) >= 8
    for row in rows:
        times = " | ".join(f"{row[key]:.0f}" for key in ("outside_us", "call_us", "number_ns"))
        times += f" | {row['numpy_random']:.1f} | {row['native_ns']:.0f} | {row['native_faster']:.1f} times |"
        assert f"| `{row['draw']}` | {times}" in page
