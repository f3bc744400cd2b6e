"""Two runs of a program side by side: what became faster, what slower, and what is the same within noise.

Figures are matched by name and origin (``matching``), their ratios get intervals (``interval``), and runs that did
not do the same are told apart first (``alike``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from scanviz.profiler.compare.alike import Difference, differences, versions_that_differ
from scanviz.profiler.compare.interval import (
    CONFIDENCE,
    FLOOR_ONCE,
    FLOOR_REPEATED,
    ConfidenceInterval,
    Estimate,
    interval,
    mean_ns,
)
from scanviz.profiler.compare.matching import Figure, Key, figures
from scanviz.profiler.compare.numbers import ChangedNumber, changed_numbers
from scanviz.record.model import ProfileRecord

Verdict = Literal["slower", "faster", "same", "new", "gone", "not measured"]


@dataclass(frozen=True, slots=True)
class Compared:
    """One function, loop or operation in both runs.

    Attributes
    ----------
    figure : Figure
        What it is, as it is in B, or in A where B lacks it.
    verdict : str
        ``"slower"``, ``"faster"``, ``"same"`` (within noise), ``"new"``, ``"gone"`` or ``"not measured"``.
    a_ns, b_ns : float or None
        The time of a call, a step or one operation: the geometric mean of the runs' averages or medians, as the interval is.
    interval : ConfidenceInterval or None
        The ratio of B to A and its bounds, where both were measured.
    lost_ns : float
        What B spends more on it in a whole run; negative for what it saves.
    of_new : bool
        Whether the loop or function that it is in is itself new or gone.
    """

    figure: Figure
    verdict: Verdict
    a_ns: float | None
    b_ns: float | None
    interval: ConfidenceInterval | None
    lost_ns: float
    of_new: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared.

    Attributes
    ----------
    a, b : ProfileRecord
        The runs.
    rows : tuple of Compared
        Time lost first; what changed before what did not.
    unlike : tuple of Difference
        Why they should not have been compared.
    warnings : tuple of str
        Versions that differ, and loops that may have been renamed.
    numbers : tuple of ChangedNumber
        Sizes and counts of loops that differ.
    """

    a: ProfileRecord
    b: ProfileRecord
    rows: tuple[Compared, ...]
    unlike: tuple[Difference, ...]
    warnings: tuple[str, ...]
    numbers: tuple[ChangedNumber, ...] = ()

    @property
    def runs(self) -> tuple[int, int]:
        """How often either program ran."""
        return 1 + len(self.a.repeats), 1 + len(self.b.repeats)

    @property
    def floor(self) -> float:
        """The share that is never called a difference."""
        return FLOOR_REPEATED if min(self.runs) > 1 else FLOOR_ONCE

    def slower_than(self, share: float) -> list[Compared]:
        """Return what is slower by more than a share with all of its interval."""
        return [
            row
            for row in self.rows
            if row.verdict == "slower" and row.interval is not None and row.interval.low > 1 + share
        ]

    def to_json(self, fail_over: float | None = None) -> dict[str, Any]:
        """Return it as plain JSON data, as ``docs/compare.md`` describes it."""
        failed = [] if fail_over is None else self.slower_than(fail_over)
        return {
            "a": _run_json(self.a),
            "b": _run_json(self.b),
            "confidence": CONFIDENCE,
            "floor": self.floor,
            "warnings": list(self.warnings),
            "unlike": [difference._asdict() for difference in self.unlike],
            "fail_over": fail_over,
            "failed": bool(failed),
            "numbers": [number.to_json() for number in self.numbers],
            "rows": [{**_row_json(row), "fails": row in failed} for row in self.rows],
        }


def compare(a: ProfileRecord, b: ProfileRecord) -> Comparison:
    """Compare two runs, alike or not; ``unlike`` says whether they are.

    Parameters
    ----------
    a, b : ProfileRecord
        The run before and the run after, with or without repeats.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord
    >>> def run(ns):
    ...     times = DurationRecord(9, 9 * ns, ns, ns, ns, ns, ns)
    ...     return ProfileRecord(functions=(FunctionRecord(1, "f", None, "numpy", calls=9, first_ns=ns, call_times=times),))
    >>> [(each.figure.name, each.verdict) for each in compare(run(100), run(200)).rows]
    [('f', 'slower')]
    """
    before, after = _by_key(a), _by_key(b)
    keys = dict.fromkeys([*after, *before])
    doubts = _doubts([before[k][0] for k in keys if _times(before.get(k)) and _times(after.get(k))])
    only = {key for key in keys if key not in before or key not in after}
    moved = _moved(before, after, doubts)
    rows = [_compared(before.get(key), after.get(key), doubts, only, moved) for key in keys]
    rows.sort(key=lambda row: (row.verdict in ("same", "not measured"), -row.lost_ns, row.figure.key))
    warnings = [*versions_that_differ(a, b), *_renamed(rows)]
    numbers = tuple(changed_numbers(a, b))
    return Comparison(a, b, tuple(rows), tuple(differences(a, b)), tuple(warnings), numbers)


def _by_key(record: ProfileRecord) -> dict[Key, list[Figure]]:
    """Return the figures of all runs of a program; where a run lacks one the others count."""
    found: dict[Key, list[Figure]] = {}
    for run in (record, *record.repeats):
        for key, figure in figures(run).items():
            found.setdefault(key, []).append(figure)
    return found


def _moved(
    before: dict[Key, list[Figure]], after: dict[Key, list[Figure]], doubts: dict[str, float]
) -> dict[Key, float]:
    """Return by how much the median of each function and loop grew that is not the same within noise."""
    found = {}
    for key in before.keys() & after.keys():
        old, new = _times(before[key]), _times(after[key])
        kind = before[key][0].kind
        if not old or not new or kind == "operation":
            continue
        ratio = interval(old, new, doubts[kind])
        if not ratio.low <= 1 <= ratio.high:
            found[key] = mean_ns(new, "typical_ns") - mean_ns(old, "typical_ns")
    return found


def _confirmed(ratio: ConfidenceInterval, difference: float, around: float) -> ConfidenceInterval:
    """Return the interval of an operation, made to hold 1 unless the call or step around it changed alike.

    A record has but the average of an operation, and one timing that another process got into makes it a hundredfold.
    """
    if around * difference > 0 and abs(around) >= abs(difference) / 2:
        return ratio
    return ratio._replace(low=min(1.0, ratio.low), high=max(1.0, ratio.high))


def _doubts(measured: list[Figure]) -> dict[str, float]:
    """Return how often an interval may miss, by kind: operations share one half, functions and loops the other."""
    operations = sum(figure.kind == "operation" for figure in measured)
    larger = len(measured) - operations
    shares = {"operation": operations, "function": larger, "loop": larger}
    return {kind: (1 - CONFIDENCE) / 2 / max(1, count) for kind, count in shares.items()}


def _times(side: Iterable[Figure] | None) -> list[Estimate]:
    return [figure.estimate for figure in side or () if figure.estimate is not None]


def _compared(
    a: list[Figure] | None,
    b: list[Figure] | None,
    doubts: dict[str, float],
    only: set[Key],
    moved: dict[Key, float],
) -> Compared:
    shown = (b or a or [])[0]
    old, new = _times(a), _times(b)
    a_ns, b_ns = (mean_ns(each) if each else None for each in (old, new))
    lost = (b_ns or 0.0) * (b[0].count if b else 0) - (a_ns or 0.0) * (a[0].count if a else 0)
    if a is None or b is None:
        verdict: Verdict = "new" if a is None else "gone"
        return Compared(shown, verdict, a_ns, b_ns, None, lost, shown.owner in only)
    if a_ns is None or b_ns is None:
        return Compared(shown, "not measured", a_ns, b_ns, None, 0.0)
    ratio = interval(old, new, doubts[shown.kind])
    if shown.kind == "operation" and min(len(old), len(new)) == 1:
        ratio = _confirmed(ratio, b_ns - a_ns, moved.get(shown.owner, 0.0))
    a_ns, b_ns = (mean_ns(each, ratio.of) for each in (old, new))
    close = abs(b_ns - a_ns) <= max(figure.resolution_ns for figure in (*a, *b))
    verdict = "same" if close or ratio.low <= 1 <= ratio.high else "slower" if ratio.ratio > 1 else "faster"
    return Compared(shown, verdict, a_ns, b_ns, ratio, (b_ns - a_ns) * b[0].count)


def _renamed(rows: list[Compared]) -> list[str]:
    """Return guesses which new loop or function is one that is gone: the one that stands on a line of the same text."""
    found = []
    for kind in ("function", "loop"):
        gone, new = (
            [row.figure for row in rows if row.verdict == verdict and row.figure.kind == kind]
            for verdict in ("gone", "new")
        )
        for old in gone:
            texts = [figure for figure in new if _line(figure) == _line(old) and _line(old)]
            if len(texts) == 1:
                found.append(
                    f"{kind} {old.name} is gone and {texts[0].name} is new, on the same line: renamed?"
                )
    return found


def _line(figure: Figure) -> tuple[str, str] | None:
    return (figure.source.file, figure.source.text) if figure.source and figure.source.text else None


def _run_json(record: ProfileRecord) -> dict[str, Any]:
    return {
        "script": record.script,
        "arguments": list(record.arguments),
        "started": record.started,
        "scanviz": record.scanviz,
        "runs": 1 + len(record.repeats),
    }


def _row_json(row: Compared) -> dict[str, Any]:
    figure, source = row.figure, row.figure.source
    return {
        "kind": figure.kind,
        "name": figure.name,
        "path": list(figure.path),
        "source": None if source is None else {"file": source.file, "line": source.line, "text": source.text},
        "verdict": row.verdict,
        "a_ns": row.a_ns,
        "b_ns": row.b_ns,
        "ratio": None if row.interval is None else row.interval.ratio,
        "low": None if row.interval is None else row.interval.low,
        "high": None if row.interval is None else row.interval.high,
        "count": figure.count,
        "of": None if row.interval is None else {"ns": "mean", "typical_ns": "median"}[row.interval.of],
        "lost_ns": row.lost_ns,
    }


__all__ = ["Compared", "Comparison", "Verdict", "compare"]
