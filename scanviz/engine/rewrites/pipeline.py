"""The pipeline: rules applied by phases, each phase to a fixpoint, with a record of every application.

Phases run in the order of :data:`scanviz.engine.rewrites.rule.PHASES`; in a phase the rules are tried in turn until none of
them changes anything.  Graphs are never edited: each application gives a new one, and the old one stays as it was.  Rules
that undo one another would go on for ever; a phase that comes back to a graph it has had before stops there and says
which rules it was.

Doing it again gives the same graphs with the same node ids (:func:`scanviz.engine.graph.nodes.node_ids_of`), so nothing but
the beginning need be kept: :mod:`scanviz.engine.rewrites.history` rebuilds any version when it is asked for.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.equality import Numbers
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.graph.types import fits
from scanviz.engine.rewrites.formatting import listed
from scanviz.engine.rewrites.level import Refused
from scanviz.engine.rewrites.rule import PHASES, Phase, Rule
from scanviz.engine.rewrites.rule_pass import Applied, Levels, Said, apply_rule
from scanviz.engine.rewrites.selection import Selection

ROUNDS_BEFORE_LOOKING = (
    12  # sweeps that changed something, a rule of the phase, before graphs are compared with earlier ones
)
MOST_CHANGES = 2_000  # sweeps of one phase


class RewriteCycleWarning(UserWarning):
    """Rules undid one another; the graph is right, but not as simple as it could be."""


@dataclass(frozen=True, slots=True)
class Application:
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
    """
    from scanviz.engine.rewrites.families import rules_of  # when it is used: it imports all files of rules

    current, index = list(outputs), 0
    checked: set[Apply] = set()
    for phase in PHASES:
        if phase == "memory":
            continue  # rules about the Program: scanviz.engine.program.rules
        rules = [rule for rule in rules_of(phase) if selection.has(rule)]
        before = index
        for rule, applied, elapsed in _phase(phase, rules, current, refusals, replaying):
            found = []
            for each in applied:
                found.append((_application(index, phase, rule, each.message, elapsed // len(applied)), each))
                index += 1
            current = applied[-1].graph()
            yield found
        if index > before:
            _check(phase, current, outputs, checked)


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


def _phase(
    phase: Phase,
    rules: Sequence[Rule],
    outputs: list[Variable],
    refusals: list[Refused] | None,
    replaying: bool,
) -> Iterator[tuple[Rule, list[Applied], int]]:
    """Try rules in turn until none changes anything, or until they undo one another; keep what each refused last."""
    latest: dict[str, list[Refused]] | None = None if refusals is None else {}
    yield from _tried_in_turn(phase, rules, outputs, latest, replaying)
    if refusals is not None and latest is not None:
        refusals.extend(refused for found in latest.values() for refused in found)


def _tried_in_turn(
    phase: Phase,
    rules: Sequence[Rule],
    outputs: list[Variable],
    latest: dict[str, list[Refused]] | None,
    replaying: bool,
) -> Iterator[tuple[Rule, list[Applied], int]]:
    """Try rules in turn; ``latest`` gets what each refused when it was asked last, by its name."""
    current, quiet, position, changes = outputs, 0, 0, 0
    seen: dict[Hashable, int] = {}
    numbers = Numbers()  # equal graphs have equal ones, names and node ids left aside
    fired: list[str] = []
    levels = Levels()
    while rules and quiet < len(rules):
        rule = rules[position % len(rules)]
        position += 1
        while True:
            refused: list[Refused] | None = None if latest is None else []
            begun = time.perf_counter_ns()
            applied = apply_rule(rule, current, levels, refused)
            if latest is not None and refused is not None:
                latest[rule.name] = refused
            if not applied:
                break
            current, quiet, changes = applied[-1].graph(), 0, changes + 1
            fired.append(rule.name)
            yield rule, applied, time.perf_counter_ns() - begun
            if changes > ROUNDS_BEFORE_LOOKING * len(rules):
                print_of = tuple(map(numbers.of, current))
                if print_of in seen or changes > MOST_CHANGES:
                    if not replaying:
                        _report(phase, fired[seen.get(print_of, changes - 10) :])
                    return
                seen[print_of] = changes
            if not rule.single:
                break
        quiet += 1


def _report(phase: str, fired: Sequence[str]) -> None:
    names = ", ".join(dict.fromkeys(fired))
    warnings.warn(
        f"rewrites of phase {phase!r} undo one another and were stopped: {names}; results are right. "
        f"write: Mode(…).excluding({next(iter(fired), '')!r}), and report it",
        RewriteCycleWarning,
        stacklevel=2,
    )
