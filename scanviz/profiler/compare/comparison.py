"""Compare two programs: faster, slower and unchanged times, beyond noise.

Figures are matched by name, expression and place (``matching``), and their ratios get confidence intervals (``intervals``).
Runs of different work, and series on an unequally busy machine, are detected by ``alike``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from scanviz.profiler.compare.alike import (
    UNEQUAL,
    Difference,
    differences,
    off_processor,
    versions_that_differ,
)
from scanviz.profiler.compare.figures import Figure, Key, figures, keys_of
from scanviz.profiler.compare.intervals import (
    CONFIDENCE,
    FLOOR_ONCE,
    FLOOR_REPEATED,
    ConfidenceInterval,
    Runs,
    Side,
    first,
    intervals,
    shown_ns,
)
from scanviz.profiler.compare.matching import same_figures
from scanviz.record.measures import Measure, measures
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.record.names import given_name

# Sizes and counts of loops that differ: they have no noise.


class ChangedNumber(NamedTuple):
    """A number of a loop in both runs; None if not measured."""

    loop: LoopRecord
    measure: Measure
    a: float | None
    b: float | None


def changed_numbers(a: ProfileRecord, b: ProfileRecord, same: Mapping[Key, Key]) -> list[ChangedNumber]:
    """Return the numbers that differ, by loop and in the order of their declaration.

    Parameters
    ----------
    a, b : ProfileRecord
        The runs.
    same : mapping
        For each figure of B its key in A.

    Examples
    --------
    >>> changed_numbers(ProfileRecord(), ProfileRecord(), {})
    []
    """
    old, new = ({keys_of(run)[1][loop.key]: loop for loop in run.loops} for run in (a, b))
    pairs = [(old[same[key]], loop) for key, loop in new.items() if same.get(key) in old]
    found = [
        ChangedNumber(after, measure, measure.value(before), measure.value(after))
        for before, after in pairs
        for measure in measures("loop", "compare")
    ]
    return [changed_number for changed_number in found if changed_number.a != changed_number.b]


Verdict = Literal["slower", "faster", "same", "new", "gone", "no verdict", "not measured"]
CHANGES = ("slower", "faster", "new", "gone")
WIDEST = 1.25  # no verdict if an interval around 1 reaches farther than this from its middle


class Compared(Struct, frozen=True):
    """One function, loop or operation in both runs.

    Attributes
    ----------
    figure : Figure
        The function, loop or operation in B, or in A if B lacks it.
    verdict : str
        ``"slower"``, ``"faster"``, ``"same"`` (within noise), ``"new"``, ``"gone"``, ``"no verdict"`` (the runs differ too much)
        or ``"not measured"``.
    a_ns, b_ns : float or None
        The time of a call, a step or one operation: the geometric mean of the runs' times, of the kind that the interval is of.
    interval : ConfidenceInterval or None
        The ratio of B to A and its bounds, where both were measured.
    lost_ns : float
        Time that B loses on it in a whole run; negative for a gain.
    of_new : bool
        Whether the loop or function around it is new or gone.
    was : str
        Its name in A, if different.
    """

    figure: Figure
    verdict: Verdict
    a_ns: float | None
    b_ns: float | None
    interval: ConfidenceInterval | None
    lost_ns: float
    of_new: bool = False
    was: str = ""


class Comparison(Struct, frozen=True):
    """The comparison of two runs.

    Attributes
    ----------
    a, b : ProfileRecord
        The runs.
    rows : tuple of Compared
        Changes first, largest loss first.
    unlike : tuple of Difference
        Reasons not to compare them.
    warnings : tuple of str
        Versions that differ, and loops that may have been renamed.
    numbers : tuple of ChangedNumber
        Sizes and counts of loops that differ.
    rounds : bool
        Whether the programs ran in turns.
    """

    a: ProfileRecord
    b: ProfileRecord
    rows: tuple[Compared, ...]
    unlike: tuple[Difference, ...]
    warnings: tuple[str, ...]
    numbers: tuple[ChangedNumber, ...] = ()
    rounds: bool = False

    @property
    def runs(self) -> tuple[int, int]:
        """Number of runs of A and of B."""
        return 1 + len(self.a.repeats), 1 + len(self.b.repeats)

    @property
    def off_processor(self) -> tuple[float | None, float | None]:
        """Share of call time without a processor, for A and for B."""
        return off_processor((self.a, *self.a.repeats)), off_processor((self.b, *self.b.repeats))

    @property
    def unequally_busy(self) -> bool:
        """True if the machine was busier during one of two separate series."""
        a, b = self.off_processor
        return not self.rounds and a is not None and b is not None and abs(a - b) > UNEQUAL

    @property
    def floor(self) -> float:
        """Share below which a difference counts as noise."""
        return FLOOR_REPEATED if min(self.runs) > 1 else FLOOR_ONCE

    def slower_than(self, share: float) -> list[Compared]:
        """Return the rows whose whole interval is slower by more than a share."""
        return [
            row
            for row in self.rows
            if row.verdict == "slower" and row.interval is not None and row.interval.low > 1 + share
        ]

    def to_json(self, fail_over: float | None = None) -> dict[str, Any]:
        """Return it as plain JSON data, as ``docs/reference/comparison.md`` describes it."""
        failed = [] if fail_over is None else self.slower_than(fail_over)
        return {
            "a": _run_json(self.a),
            "b": _run_json(self.b),
            "confidence": CONFIDENCE,
            "floor": self.floor,
            "in_turns": self.rounds,
            "off_processor": list(self.off_processor),
            "warnings": list(self.warnings),
            "unlike": [difference._asdict() for difference in self.unlike],
            "fail_over": fail_over,
            "failed": bool(failed),
            "numbers": [
                {"loop": loop.name, "name": measure.name, "unit": measure.unit, "a": a, "b": b}
                for loop, measure, a, b in self.numbers
            ],
            "rows": [{**_row_json(row), "fails": row in failed} for row in self.rows],
        }


def compare(a: ProfileRecord, b: ProfileRecord, *, rounds: bool = False) -> Comparison:
    """Compare two programs; ``unlike`` of the result lists differences in their work.

    Parameters
    ----------
    a, b : ProfileRecord
        The program before and after, with or without repeats.
    rounds : bool
        Whether they ran in turns: the k-th run of either one after the other.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord
    >>> def run(ns):
    ...     times = DurationRecord(9, 9 * ns, ns, ns, ns, ns, ns)
    ...     return ProfileRecord(functions=(FunctionRecord(1, "f", None, "numpy", calls=9, first_ns=ns, call_times=times),))
    >>> [(row.figure.name, row.verdict) for row in compare(run(100), run(200)).rows]
    [('f', 'slower')]
    """
    before, after = _by_key(a), _by_key(b)
    same = same_figures(_shown(before), _shown(after))
    after = {same.get(key, ("B", *key)): runs for key, runs in after.items()}
    counts = 1 + len(a.repeats), 1 + len(b.repeats)
    ratios = intervals(before, after, counts, rounds=rounds)
    if min(counts) == 1:
        ratios = _confirmed(before, ratios)
    keys = dict.fromkeys([*after, *before])
    only = {runs.key for runs in (*_only(before, after), *_only(after, before))}
    rows = [
        _compared(before.get(key), after.get(key), ratios.get(key), only, min(counts) > 1) for key in keys
    ]
    numbers = tuple(changed_numbers(a, b, same))
    warnings = (*versions_that_differ(a, b), *_renamed(rows))
    unlike = (
        one for one in differences(a, b, same) if not (rounds and one.what == "arguments")
    )  # --run takes other arguments
    found = Comparison(a, b, tuple(rows), tuple(unlike), warnings, numbers, rounds)
    if found.unequally_busy:
        rows = [_without_verdict(row) for row in rows]
    rows.sort(key=lambda row: (row.verdict not in CHANGES, -row.lost_ns, row.figure.key))
    return replace(found, rows=tuple(rows))


def _by_key(record: ProfileRecord) -> dict[Key, dict[int, Figure]]:
    """Return the figures of all runs of a program, by run."""
    found: dict[Key, dict[int, Figure]] = {}
    for number, run in enumerate((record, *record.repeats)):
        for key, figure in figures(run).items():
            found.setdefault(key, {})[number] = figure
    return found


def _shown(side: Side) -> dict[Key, Figure]:
    return {key: first(runs) for key, runs in side.items()}


def _only(side: Side, other: Side) -> list[Figure]:
    return [first(runs) for key, runs in side.items() if key not in other]


def _confirmed(before: Side, ratios: Mapping[Key, ConfidenceInterval]) -> dict[Key, ConfidenceInterval]:
    """Return the intervals; an operation changed only if the call or step around it changed in the same direction.

    A record has few timings of an operation, and one interrupted by another process is a hundred times longer.
    """
    found = dict(ratios)
    for key, ratio in ratios.items():
        figure = first(before[key])
        around = ratios.get(figure.owner)
        alike = around is not None and (around.low > 1 < ratio.low or around.high < 1 > ratio.high)
        if figure.kind == "operation" and not alike:
            found[key] = ratio._replace(low=min(1.0, ratio.low), high=max(1.0, ratio.high))
    return found


def _compared(
    a: Runs | None, b: Runs | None, ratio: ConfidenceInterval | None, only: set[Key], repeated: bool
) -> Compared:
    old, new = (first(runs) if runs else None for runs in (a, b))
    a_ns, b_ns = (shown_ns((runs or {}).values(), ratio) for runs in (a, b))
    lost = (b_ns or 0.0) * (new.count if new else 0) - (a_ns or 0.0) * (old.count if old else 0)
    if old is None or new is None:
        shown = new or old
        assert shown is not None
        return Compared(shown, "new" if old is None else "gone", a_ns, b_ns, None, lost, shown.owner in only)
    was = old.name if given_name(old.name) != given_name(new.name) else ""
    if a_ns is None or b_ns is None or ratio is None:
        return Compared(new, "not measured", a_ns, b_ns, None, 0.0, was=was)
    close = abs(b_ns - a_ns) <= max(figure.resolution_ns for figure in (old, new))
    verdict = _verdict(ratio, close, repeated)
    return Compared(new, verdict, a_ns, b_ns, ratio, (b_ns - a_ns) * new.count, was=was)


def _verdict(ratio: ConfidenceInterval, close: bool, repeated: bool) -> Verdict:
    if not ratio.low <= 1 <= ratio.high and not close:
        return "slower" if ratio.ratio > 1 else "faster"
    wide = max(ratio.high / ratio.ratio, ratio.ratio / ratio.low) > WIDEST
    return "no verdict" if repeated and wide and not close else "same"


def _without_verdict(row: Compared) -> Compared:
    return row if row.interval is None else replace(row, verdict="no verdict")


def _renamed(rows: Iterable[Compared]) -> list[str]:
    """Return the names of functions and loops that were matched under different names."""
    return [
        f"{row.figure.kind} {row.was} is called {row.figure.name} in B"
        for row in rows
        if row.was and row.figure.kind != "operation" and not _named_after_line(row)
    ]


def _named_after_line(row: Compared) -> bool:
    source = row.figure.source
    return source is not None and row.figure.name.endswith(f"{source.file}:{source.line}")


def _run_json(record: ProfileRecord) -> dict[str, Any]:
    return {
        "script": record.script,
        "arguments": list(record.arguments),
        "started": record.started,
        "scanviz": record.scanviz,
        "runs": 1 + len(record.repeats),
    }


def _row_json(row: Compared) -> dict[str, Any]:
    figure = row.figure
    ratio, low, high, of = row.interval or (None, None, None, None)
    return {
        "kind": figure.kind,
        "name": figure.name,
        "path": list(figure.path),
        "source": to_builtins(figure.source),
        "verdict": row.verdict,
        "a_ns": row.a_ns,
        "b_ns": row.b_ns,
        "ratio": ratio,
        "low": low,
        "high": high,
        "count": figure.count,
        "of": of,
        "lost_ns": row.lost_ns,
        "was": row.was or None,
    }
