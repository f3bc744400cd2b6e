"""Measure two things in turn, so that machine drift changes both, and describe the machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # measure this checkout, installed or not


def as_installed(byte_code: str) -> dict[str, str]:
    """Return the environment of processes that read byte code, as those of an installed package do; it is kept in a folder."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": byte_code}


def seconds(action: Callable[[], Any]) -> float:
    begun = perf_counter()
    action()
    return perf_counter() - begun


def interleaved(actions: list[Callable[[], Any]], rounds: int) -> list[list[float]]:
    """Return the seconds of each action in each round, the actions taken in turn."""
    for action in actions:
        action()
    found: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for times, action in zip(found, actions, strict=True):
            times.append(seconds(action))
    return found


def ratio(first: list[float], second: list[float]) -> float:
    """Return the median of the ratios, round by round."""
    return statistics.median(a / b for a, b in zip(first, second, strict=True))


def machine() -> dict[str, Any]:
    """Return what machine this is, in words."""
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor(),
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def write_json(path: str | None, rows: list[dict[str, Any]], what: str, **more: Any) -> None:
    """Write the rows of a benchmark, with the machine they come from and more, where a path is given."""
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(
            {"benchmark": what, "machine": machine(), **more, "rows": rows}, indent=1, ensure_ascii=False
        )
        Path(path).write_text(text + "\n", encoding="utf-8")
        print(f"wrote {path}")


def print_goals(rows: list[dict[str, Any]]) -> None:
    """Print how many of the rows with a goal met theirs, and which did not."""
    judged = [row for row in rows if row["met"] is not None]
    missed = [str(row["what"]) for row in judged if not row["met"]]
    named = f"; missed: {', '.join(missed)}" if missed else ""
    print(f"{len(judged) - len(missed)} of {len(judged)} goals met{named}")
