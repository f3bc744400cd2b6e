"""What each rule of lesson 9 gains: the lesson's own loops, with all rules and with all but the card's.

    python benchmarks/lesson_cards.py [--rounds 50] [--json FILE] [--lesson]

``--json`` writes the figures into a file, ``--lesson`` into the lesson's cards as well.  On a quiet machine

    python benchmarks/lesson_cards.py --json benchmarks/results/lesson_cards.json --lesson

makes the two files that belong together.  A rule that does the same where a card's rule is left out is left out with it.

Times are the least of the rounds, in which both functions are called in turn.  Matrix products use one thread: with more of them,
one large product would gain what the other core of a machine gives.  Memory is the most that a call on the NumPy tier held at once
beyond its inputs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import tracemalloc
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"], "1"))

import numpy as np
from common import interleaved, write_json

import scanviz
from scanviz import Mode
from scanviz.lessons.source import lesson

STEPS, WIDTH = 1000, 256
TIERS = {"numpy": "NumPy", "native": "machine code"}
LESSON = Path(scanviz.__file__).parent / "lessons" / "texts" / "09_rewrites.md"
NO_DIFFERENCE = 0.05  # a gain this near to 1 is none


def program() -> dict[str, Any]:
    """Run the lesson's program and return its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(lesson(9).program, "lesson 9", "exec"), names)
    return names


def peak_bytes(function, values):
    """Return the most bytes that a call held at once."""
    tracemalloc.start()
    function(*values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def card(rule, result, inputs, values, rounds):
    """Return the gain of a rule for a result: on each tier, the milliseconds without it and with it."""
    row: dict[str, Any] = {"rule": rule, "steps": len(values[0]), "width": values[0].shape[1]}
    for tier in TIERS:
        modes = Mode(tier).excluding(rule), Mode(tier)
        without, with_rule = (scanviz.function(inputs, result, mode=mode) for mode in modes)
        np.testing.assert_allclose(without(*values), with_rule(*values), rtol=1e-7, atol=1e-8)
        times = interleaved([lambda: without(*values), lambda: with_rule(*values)], rounds)  # noqa: B023
        before, after = (1e3 * min(each) for each in times)
        row[tier] = {
            "without_ms": round(before, 4),
            "with_ms": round(after, 4),
            "gain": round(before / after, 3),
        }
        if tier == "numpy":
            row["without_bytes"], row["with_bytes"] = (
                peak_bytes(each, values) for each in (without, with_rule)
            )
    return row


def cards(steps=STEPS, width=WIDTH, rounds=50):
    """Return a row for each card of the lesson."""
    names = program()
    rng = np.random.default_rng(0)
    values = rng.normal(size=(steps, width)), np.zeros(width), rng.normal(size=(width, width)) / width
    inputs = [names[name] for name in ("u", "x0", "W")]
    return [card(rule, result, inputs, values, rounds) for rule, (result, refused) in names["cards"].items()]


def in_words(row: dict[str, Any]) -> str:
    """Return the gain of a rule in the words of its card."""
    parts = []
    for tier, name in TIERS.items():
        found = row[tier]
        gain = found["gain"]
        times = f"{gain:.0f}" if gain >= 10 else f"{gain:.1f}"
        words = "no difference" if abs(gain - 1) <= NO_DIFFERENCE else f"{times} times as fast"
        parts.append(f"{name} {found['without_ms']:.3g} → {found['with_ms']:.3g} ms, {words}")
    before, after = (f"{row[key] / 2**20:.2f}" for key in ("without_bytes", "with_bytes"))
    memory = f"{before} MiB as before" if before == after else f"{before} → {after} MiB"
    return f"- *Gain:* {'; '.join(parts)}. Peak memory: {memory}."


def with_gains(text: str, rows: list[dict[str, Any]]) -> str:
    """Return the lesson with the gains of its cards."""
    for row in rows:
        head, name, rest = text.partition(f"`{row['rule']}`: ")
        text = head + name + re.sub(r"^- \*Gain:\* .*$", in_words(row), rest, count=1, flags=re.MULTILINE)
    return text


def main() -> None:
    """Measure, print one line per card, and write the requested files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json")
    parser.add_argument("--lesson", action="store_true")
    options = parser.parse_args()
    rows = cards(rounds=options.rounds)
    for row in rows:
        print(f"{row['rule']:18} {in_words(row)}")
    write_json(options.json, rows, "lesson_cards")
    if options.lesson:
        LESSON.write_text(with_gains(LESSON.read_text("utf-8"), rows), "utf-8")
        print(f"wrote {LESSON.name}")


if __name__ == "__main__":
    main()
