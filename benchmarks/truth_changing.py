"""Whether lines have their share of loops whose steps change: beside the same lines by hand, each with a clock around it."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time_ns
from typing import Any, NamedTuple

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.record.model import ProfileRecord
from scanviz.record.summary.run_breakdown import parts_of
from scanviz.record.summary.totals import lines

MOST = 0.15  # of the truth
ROWS, STEPS = 20_000, 2000
LINES = ("exponentials", "tangents")


class Changing(NamedTuple):
    """A loop of two lines, and how many elements each of them works on, step by step."""

    name: str
    exponentials: np.ndarray[Any, Any]
    tangents: np.ndarray[Any, Any]


def _cases() -> list[Changing]:
    at, short = np.arange(STEPS), np.full(STEPS, 500)
    few = np.where(at < 90, ROWS, 100)
    return [
        Changing("growing", 10 * at, 4 * short),
        Changing("turning", 5 * at, 5 * at[::-1]),
        Changing("long first steps", few, short),
        Changing("long last steps", few[::-1], short),
        Changing("at once", np.where(at < STEPS // 3, 5000, 100), np.where(at < STEPS // 3, 100, 5000)),
    ]


CHANGING = _cases()


def build() -> Any:
    """Return the function of such a loop."""
    x, first, second = T.vector("x"), T.lvector("first"), T.lvector("second")

    def step(i: Any, j: Any) -> Any:
        exponentials = T.exp(x[:i]).sum()
        tangents = T.tanh(x[:j]).sum()
        return exponentials + tangents

    sums, _ = scanviz.scan(step, [first, second], name="changing")
    return scanviz.function([x, first, second], sums)


def by_hand(case: Changing) -> dict[str, float]:
    """Return what each line takes of both, by the clock of the thread."""
    x, took = np.linspace(0, 1, ROWS), [0, 0]
    work: list[Callable[[int], Any]] = [lambda i: np.exp(x[:i]).sum(), lambda j: np.tanh(x[:j]).sum()]
    for i, j in zip(case.exponentials.tolist(), case.tangents.tolist(), strict=True):
        for k, count in enumerate((i, j)):
            begun = thread_time_ns()
            work[k](count)
            ended = thread_time_ns()
            took[k] += ended - begun - (thread_time_ns() - ended)
    return {name: ns / sum(took) for name, ns in zip(LINES, took, strict=True)}


def stated(record: ProfileRecord) -> dict[str, float]:
    """Return a profile's times of each line for both."""
    found = {
        name: row.loops_ns
        for row in lines(parts_of(record))
        for name in LINES
        if row.source and row.source.text.startswith(name)
    }
    return {name: found[name] / sum(found.values()) for name in LINES}


def rows(profiles: int) -> list[dict[str, Any]]:
    """Return rows of all such loops: of each line the middle error of some profiles."""
    f, x, found = build(), np.linspace(0, 1, ROWS), []
    for case in CHANGING:
        pairs = []
        for _ in range(profiles):
            with scanviz.profile() as session:
                f(x, case.exponentials, case.tangents)
            pairs.append((stated(session.record), by_hand(case)))
        for name in LINES:
            text, truth = (float(np.median([pair[k][name] for pair in pairs])) for k in range(2))
            error = text / truth - 1
            found.append(
                {
                    "loop": case.name,
                    "claim": f"share of line: {name}",
                    "instrument": "by hand",
                    "stated_share": text,
                    "truth_share": truth,
                    "error": error,
                    "goal": MOST,
                    "kept": abs(error) <= MOST,
                }
            )
    return found


__all__ = ["CHANGING", "rows"]
