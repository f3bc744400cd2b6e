"""The pipeline: rules applied by phases, each phase to a fixpoint, with a record of every application.

Phases run in the order of :data:`scanviz.engine.rewrites.rule.PHASES`, and again until none of them changes anything
(:mod:`scanviz.engine.rewrites.phase_order`); in a phase the rules are tried in turn until none of them does.  Graphs are
never edited: each application gives a new one, and the old one stays as it was.  Rules that undo one another would go on for
ever; what comes back to a graph it has had before stops there and says which rules it was.

Doing it again gives the same graphs with the same node ids (:func:`scanviz.engine.graph.nodes.node_ids_of`), so nothing but
the beginning need be kept: :mod:`scanviz.engine.rewrites.history` rebuilds any version when it is asked for.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence

from msgspec import Struct

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.graph.types import fits
from scanviz.engine.rewrites.level import NUMPY, Refused, TargetTier
from scanviz.engine.rewrites.levels import Levels
from scanviz.engine.rewrites.phase_order import ROUND, RewriteRun, RuleTurns
from scanviz.engine.rewrites.rule import Phase, Rule, listed
from scanviz.engine.rewrites.rule_pass import Applied, Said, apply_rule
from scanviz.engine.rewrites.selection import Selection

SWEEPS_BEFORE_LOOKING = (
    12  # sweeps that changed something, a rule of the phase, before graphs are compared with earlier ones
)
MOST_CHANGES = 2_000  # sweeps of one phase


class RewriteCycleWarning(UserWarning):
    """Rules undid one another; the graph is right, but not as simple as it could be."""


class Application(Struct, frozen=True):
    """One application of a rule: at all its matches in the graph and the steps of its loops, or at one loop.

    Attributes
    ----------
    index : int
        Its number, from 0.
    phase, rule : str
        When, and which.
    where : str
        File and line that the rule is written in.
    message : str
        What it did, in one line.
    count : int
        Matches.
    paths : tuple of tuple of str
        The graphs that matched: ``()`` for the function's, names of loops for a step's.
    time_ns : int
        Nanoseconds it took.
    """

    index: int
    phase: str
    rule: str
    where: str
    message: str
    count: int
    paths: tuple[tuple[str, ...], ...]
    time_ns: int


Swept = list[tuple["Application", Applied]]  # what one sweep of a rule did, in order


def sweeps(
    outputs: Sequence[Variable],
    selection: Selection,
    refusals: list[Refused] | None = None,
    replaying: bool = False,
    checked: set[Apply] | None = None,
    target: TargetTier = NUMPY,
) -> Iterator[Swept]:
    """Apply the selected rules; give what each sweep that changed something did, with what builds the graphs after it.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    selection : Selection
        Rules that may be used.
    refusals : list, optional
        Filled with what rules refused; each once a node and rule, the last time it was asked.
    replaying : bool
        Whether the same was done before: then a warning about a cycle has been given.
    checked : set of Apply, optional
        Filled with the nodes whose types were found to hold.
    target : TargetTier
        What will run the graph.
    """
    run = RewriteRun(list(outputs), replaying, None if refusals is None else {}, levels=Levels(target))
    run.next_turns(selection)
    checked = set() if checked is None else checked
    turns = run.turns
    while turns is not None:
        for rule, applied, elapsed in _tried_in_turn(turns, run):
            run.rounds.note(rule)
            found = []
            for step in applied:
                entry = _application(run.index, turns.phase, rule, step.message, elapsed // len(applied))
                found.append((entry, step))
                run.index += 1
            yield found
        if run.index > run.begun_at:
            _check(turns.phase, run.current, outputs, checked)
            run.levels.keep_those_of(run.current)
        if turns.phase == ROUND[-1]:
            _look_back(run)
        turns = run.next_turns(selection)
    if refusals is not None and run.refused is not None:
        refusals.extend(refused for found in run.refused.values() for refused in found)


def _stop(run: RewriteRun, what: str, fired: Sequence[str]) -> None:
    """Begin no other round, and say which rules undid one another."""
    run.rounds.stop()
    if not run.replaying:
        _report(what, fired)


def _look_back(run: RewriteRun) -> None:
    """Stop where rounds come back to the graph of one before."""
    undone = run.rounds.fired_since(lambda: run.print_of(run.current))
    if undone:
        _stop(run, "several phases", undone)


def _check(
    phase: Phase, outputs: Sequence[Variable], wanted: Sequence[Variable], checked: set[Apply]
) -> None:
    """Check the types of a graph after a phase, so that a rule's mistake is found where it was made."""
    try:
        for new, old in zip(outputs, wanted, strict=True):
            if not fits(new.type, old.type):
                raise InternalError(
                    f"`{describe(old)}` became something else", expected=old.type, found=new.type
                )
        typecheck((), outputs, closed=False, checked=checked)
    except InternalError as error:
        error.what = f"after the rewrites of phase {phase!r}: {error.what}"
        raise


def rewritten(outputs: Sequence[Variable], selection: Selection) -> list[Variable]:
    """Return ``outputs`` after all selected rules."""
    final = list(outputs)
    for sweep in sweeps(outputs, selection):
        final = sweep[-1][1].graph()
    return final


def _application(index: int, phase: str, rule: Rule, message: Sequence[Said], elapsed: int) -> Application:
    said: dict[str, list[str]] = {}
    for path, text, count in message:
        times = f" ({count} times)" if count > 1 else ""
        inside = f"in the step of `{path[-1]}`" if path else ""
        said.setdefault(text + times, []).append(inside)
    lines = []
    for text, places in said.items():
        inner = [place for place in places if place]
        lines.append(text if len(inner) < len(places) and not inner else f"{text}, {_listed(places)}")
    return Application(
        index,
        phase,
        rule.name,
        rule.where,
        "; ".join(lines),
        sum(count for _, _, count in message),
        tuple(dict.fromkeys(path for path, _, _ in message)),
        elapsed,
    )


def _listed(places: Sequence[str]) -> str:
    return listed(dict.fromkeys(place or "outside of loops" for place in places))


def _tried_in_turn(turns: RuleTurns, run: RewriteRun) -> Iterator[tuple[Rule, list[Applied], int]]:
    """Try rules in turn until none changes anything, or until they undo one another; keep what each refused last."""
    rules = turns.rules
    while rules and turns.quiet < len(rules):
        rule = rules[turns.position % len(rules)]
        turns.position += 1
        while True:
            refused: list[Refused] | None = None if run.refused is None else []
            begun = time.perf_counter_ns()
            applied = apply_rule(rule, run.current, run.levels, refused)
            if run.refused is not None and refused is not None:
                run.refused[turns.phase, rule.name] = refused
            if not applied:
                turns.quiet += 1
                break
            run.current, turns.quiet, turns.changes = applied[-1].graph(), 0, turns.changes + 1
            turns.fired.append(rule.name)
            yield rule, applied, time.perf_counter_ns() - begun
            if turns.changes > SWEEPS_BEFORE_LOOKING * len(rules):
                print_of = run.print_of(run.current)
                if print_of in turns.seen or turns.changes > MOST_CHANGES:
                    since = turns.seen.get(print_of, turns.changes - 10)
                    _stop(run, f"phase {turns.phase!r}", turns.fired[since:])
                    return
                turns.seen[print_of] = turns.changes
            if not rule.single:
                break


def _report(what: str, fired: Sequence[str]) -> None:
    names = ", ".join(dict.fromkeys(fired))
    warnings.warn(
        f"rewrites of {what} undo one another and were stopped: {names}; results are right. "
        f"write: Mode(…).excluding({next(iter(fired), '')!r}), and report it",
        RewriteCycleWarning,
        stacklevel=2,
    )
