"""Check that two runs did the same work, so that their times compare the code and not its inputs."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scanviz.profiler.compare.figures import Key, keys_of, on_processor
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord

UNEQUAL = 0.20  # series are not comparable if their shares of time off the processor differ by more
_UNTIL = 0.10  # allowed difference in steps of loops that end by a condition, as a share


class Difference(NamedTuple):
    """A difference in the work of two runs.

    Attributes
    ----------
    what : str
        Such as ``"arguments"`` or ``"steps a run of loop rnn"``.
    a, b : str
        Its values in A and B.
    fix : str
        The remedy.
    """

    what: str
    a: str
    b: str
    fix: str


def differences(a: ProfileRecord, b: ProfileRecord, same: Mapping[Key, Key]) -> list[Difference]:
    """Return the reasons not to compare two runs.

    Another script is a reason only if nothing in it matches: programs are often copied to be changed.

    Parameters
    ----------
    a, b : ProfileRecord
        The runs.
    same : mapping
        For each figure of B its key in A.

    Examples
    --------
    >>> [found.what for found in differences(ProfileRecord(script="a.py"), ProfileRecord(script="b.py"), {})]
    ['script']
    """
    found = [*_of_runs(a, b, bool(same)), *_of_functions(a, b, same), *_of_loops(a, b, same)]
    return list(dict.fromkeys(found))


def versions_that_differ(a: ProfileRecord, b: ProfileRecord) -> list[str]:
    """Return differences in versions as warnings, since these may be the subject of the comparison."""
    pairs = (
        ("scanviz", a.scanviz, b.scanviz),
        ("Python", a.python, b.python),
        ("NumPy", a.numpy, b.numpy),
    )
    return [f"{name} {old or '?'} made A, {new or '?'} made B" for name, old, new in pairs if old != new]


def _of_runs(a: ProfileRecord, b: ProfileRecord, related: bool) -> Iterator[Difference]:
    if a.script != b.script and not related:
        yield Difference("script", a.script, b.script, "profile one program, in either version")
    if a.arguments != b.arguments:
        old, new = (shlex.join(profile.arguments) or "none" for profile in (a, b))
        yield Difference("arguments", old, new, "run both with the same arguments")
    if a.machine != b.machine:
        yield Difference("machine", a.machine or "unknown", b.machine or "unknown", "run both on one machine")
    if a.detail != b.detail:
        fix = "profile both with the same --detail, and both or none with --values"
        yield Difference("detail", a.detail, b.detail, fix)
    old, new = _ending(a), _ending(b)
    if old != new:
        yield Difference("ending", old, new, "compare runs that end alike")


def _ending(record: ProfileRecord) -> str:
    ended = record.outcome
    return ended.status if ended.status != "exit" else f"exit code {ended.code}"


def _of_functions(a: ProfileRecord, b: ProfileRecord, same: Mapping[Key, Key]) -> Iterator[Difference]:
    old, new = ({keys_of(run)[0][f.key]: f for f in run.functions} for run in (a, b))
    for key, after in new.items():
        function = old.get(same.get(key, ()))
        if function is not None and function.backend != after.backend:
            what = f"backend of function {function.name}"
            yield Difference(what, function.backend, after.backend, _mode_fix(function))


def _mode_fix(function: FunctionRecord) -> str:
    return f"run both with one tier: --mode {shlex.quote(function.backend)}, or mode= of the function"


def _of_loops(a: ProfileRecord, b: ProfileRecord, same: Mapping[Key, Key]) -> Iterator[Difference]:
    old, new = ({keys_of(run)[1][loop.key]: loop for loop in run.loops} for run in (a, b))
    for key, changed in new.items():
        loop = old.get(same.get(key, ()))
        if loop is None:
            continue
        before, after = (", ".join(sorted({tier.tier for tier in side.tiers})) for side in (loop, changed))
        if before != after and before and after:
            fix = "run both with one tier (--mode NAME)"
            yield Difference(f"tier of loop {loop.name}", before, after, fix)
        yield from _of_variables(loop, changed)
        yield from _of_steps(loop, changed)


def _of_variables(old: LoopRecord, new: LoopRecord) -> Iterator[Difference]:
    """Compare loop variables by name; a variable of only one run is a change of the code."""
    before, after = _variables(old), _variables(new)
    for name, kind in before.items():
        if name in after and kind != after[name]:
            what = f"variable {name[0]} of loop {old.name}"
            yield Difference(what, kind, after[name], "give both the same data: kinds, dtypes and shapes")


def _variables(loop: LoopRecord) -> dict[tuple[str, int], str]:
    found: dict[tuple[str, int], str] = {}
    for variable in loop.variables:
        count = sum(name == variable.name for name, _ in found)
        found[variable.name, count] = f"{variable.kind} {variable.type}".strip()
    return found


def _of_steps(old: LoopRecord, new: LoopRecord) -> Iterator[Difference]:
    if not old.runs or not new.runs:
        return
    before, after = old.steps / old.runs, new.steps / new.runs
    allowed = _UNTIL if old.has_until and new.has_until else 0.0
    if abs(before - after) > allowed * max(before, after):
        what = f"steps a run of loop {old.name}"
        yield Difference(
            what, f"{before:,.6g}", f"{after:,.6g}", "give both equally long sequences or n_steps"
        )


def off_processor(runs: Sequence[ProfileRecord]) -> float | None:
    """Return the share of call time without a processor, in the median run.

    Parameters
    ----------
    runs : sequence of ProfileRecord
        Runs of one program.

    Returns
    -------
    float or None
        From 0 to 1; None if not measured.

    Examples
    --------
    >>> off_processor([ProfileRecord()]) is None
    True
    """
    shares = [share for share in map(_of_run, runs) if share is not None]
    return statistics.median(shares) if shares else None


def _of_run(run: ProfileRecord) -> float | None:
    known = [
        (share * function.total_ns, function.total_ns)
        for function in run.functions
        if (share := on_processor(function)) is not None
    ]
    total = sum(ns for _, ns in known)
    return 1 - sum(ns for ns, _ in known) / total if total else None
