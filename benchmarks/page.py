"""The page of a profile: how large it is, how long writing it takes, and how soon a browser shows it.

Goals: under 2 MB for the LSTM training example; open in under a second for a record of a million steps.  Opening is measured in
a headless Chromium from the start of the navigation to the end of the first drawing of a view (the page's own
``loadEventEnd``), for each view; without Chromium only sizes and writing are measured, and the result notes it.

    python benchmarks/page.py [--steps 1000000] [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import runpy
import statistics
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from common import seconds, write_json

import scanviz
from scanviz import tensor as T
from scanviz.record.model import ProfileRecord
from scanviz.render.page import page

ROOT = Path(__file__).resolve().parent.parent
VIEWS = ("report", "steps", "picture", "slots", "rewrites", "player", "source")
GOAL_BYTES, GOAL_SECONDS = 2_000_000, 1.0


def training() -> ProfileRecord:
    with scanviz.profile() as p, redirect_stdout(StringIO()):
        runpy.run_path(str(ROOT / "examples" / "train_char_lstm.py"), run_name="__main__")
    return p.record


def long_loop(steps: int) -> ProfileRecord:
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0, name="long loop")
    f = scanviz.function([x], sums[-1], name="long")
    values = np.full(steps, 1e-3)
    with scanviz.profile() as p:
        f(values)
    return p.record


def browser() -> Any:  # the class of tests/render/page/browser.py, or None without a browser
    path = ROOT / "tests" / "render" / "page" / "browser.py"
    spec = importlib.util.spec_from_file_location("browser", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["browser"] = module
    spec.loader.exec_module(module)
    return module.Browser if module.installed() else None


def opening(file: Path, rounds: int) -> dict[str, float]:
    """Return the median seconds that a browser needs to show each view."""
    kind = browser()
    if kind is None:
        return {}
    times: dict[str, list[float]] = {view: [] for view in VIEWS}
    with kind() as found:
        for _ in range(rounds):
            for view in VIEWS:
                found.open(file, f"#view={view}")
                found.wait_for("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
                ended = found.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
                times[view].append(ended / 1e3)
    return {view: statistics.median(each) for view, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = []
    for name, record in (
        ("train_char_lstm.py", training()),
        (f"{arguments.steps:,} steps", long_loop(arguments.steps)),
    ):
        text: list[str] = []
        writing = seconds(lambda record=record, text=text: text.append(page(record)))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "page.html"
            file.write_text(text[0], "utf-8")
            size = file.stat().st_size
            opened = opening(file, arguments.rounds)
        slowest = max(opened, key=lambda view: opened[view], default="")
        shown = (
            f"slowest view {slowest} {opened[slowest]:.3f} s"
            if opened
            else "no Chromium: opening not measured"
        )
        print(
            f"{name:<22} {size / 1e6:.2f} MB (goal {GOAL_BYTES / 1e6:.0f}), written in {writing:.2f} s;"
            f" {shown} (goal {GOAL_SECONDS})"
        )
        rows.append({"what": name, "bytes": size, "writing_s": writing, "opening_s": opened})
    write_json(arguments.json, rows, "page")


if __name__ == "__main__":
    main()
