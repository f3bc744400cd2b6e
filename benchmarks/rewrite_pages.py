"""What each rewrite of docs/rewrites/ gains: the program of its page, with all rules and with all but the page's, in pairs.

    python benchmarks/rewrite_pages.py [--seconds 3] [--json FILE] [--pages]

``--json`` writes the figures into a file, ``--pages`` into the pages as well.  On a quiet machine

    python benchmarks/rewrite_pages.py --json benchmarks/results/rewrite_pages.json --pages

makes what belongs together, in a minute.  A gain is the median of the ratios, call by call, of the processor's time.  One whose
quartiles lie on both sides of 1, or that is nearer to 1 than a twentieth, is none.  Memory is the most that a call on the NumPy
tier holds at once beyond its inputs.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"], "1"))

from common import write_json

from scanviz import config
from scanviz.engine.measurement.ablation import ablate
from scanviz.engine.measurement.captured_calls import CapturedCalls

PAGES = Path(__file__).resolve().parent.parent / "docs" / "rewrites"
TIERS = {"numpy": "NumPy", "native": "machine code"}
NO_DIFFERENCE = 0.05
_PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MEASURED = re.compile(r"^- Measured .*$", re.MULTILINE)


def row_of(page: Path, seconds: float) -> dict[str, Any]:
    """Return what the rule of a page does to the page's program on each tier."""
    program = _PROGRAM.search(page.read_text("utf-8"))
    assert program is not None
    row: dict[str, Any] = {"rule": page.stem}
    for tier in TIERS:
        config.mode = tier
        with CapturedCalls().observing() as captured:
            exec(compile(program[1], page.name, "exec"), {})
        (call,) = captured.calls
        (effect,) = ablate(call.function, call.arrays, seconds, time.process_time_ns, among=[page.stem])
        assert effect.agrees, page.stem
        none = effect.is_noise or abs(effect.ratio - 1.0) <= NO_DIFFERENCE
        row[tier] = {
            "without_ms": round(effect.without_ns / 1e6, 4),
            "with_ms": round(effect.with_ns / 1e6, 4),
            "gain": 1.0 if none else round(effect.ratio, 2),
            "rounds": effect.rounds,
        }
        if tier == "numpy":
            row |= {"without_bytes": effect.without_bytes, "with_bytes": effect.with_bytes}
    return row


def in_words(row: dict[str, Any]) -> str:
    """Return the gain of a rule as the line of its page."""
    gains = []
    for tier, name in TIERS.items():
        gain = row[tier]["gain"]
        times = f"{gain:.{0 if gain >= 9.95 else 1}f} times as fast"
        gains.append(f"{name}: {'no difference' if gain == 1.0 else times}")
    before, after = (row[key] / 2**20 for key in ("without_bytes", "with_bytes"))
    same = abs(after / before - 1.0) <= NO_DIFFERENCE
    memory = "peak memory as before" if same else f"peak memory {before:.2f} → {after:.2f} MiB"
    return f"- Measured by `python benchmarks/rewrite_pages.py`: {'; '.join(gains)}; {memory}."


def with_gain(text: str, row: dict[str, Any]) -> str:
    """Return a page with the gain of its rule."""
    return _MEASURED.sub(in_words(row), text, count=1)


def main() -> None:
    """Measure, print a line for each page, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each page and tier")
    parser.add_argument("--json")
    parser.add_argument("--pages", action="store_true")
    options = parser.parse_args()
    rows = []
    for page in sorted(PAGES.glob("*.md")):
        rows.append(row_of(page, options.seconds))
        print(f"{page.stem:40} {in_words(rows[-1])}", flush=True)
        if options.pages:
            page.write_text(with_gain(page.read_text("utf-8"), rows[-1]), "utf-8")
    write_json(options.json, rows, "rewrite_pages")


if __name__ == "__main__":
    main()
