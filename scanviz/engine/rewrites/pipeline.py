"""The pipeline: rules applied by phases, each phase to a fixpoint, with a record of every application.

Phases run in the order of :data:`scanviz.engine.rewrites.rule.PHASES`, and again until none of them changes anything; in a
phase the rules are tried in turn until none of them does.  Graphs are never edited: each application gives a new one, and the
old one stays as it was.  Rules that undo one another would go on for ever; a run that comes back to an earlier graph stops
there and names the rules.

Doing it again gives the same graphs with the same node ids (:func:`scanviz.engine.graph.nodes.node_ids_of`), so nothing but
the beginning need be kept: :mod:`scanviz.engine.rewrites.history` rebuilds any version when it is asked for.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct, field

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.equality import Numbers
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.graph.types import fits
from scanviz.engine.rewrites.level import NUMPY, Refused, TargetTier
from scanviz.engine.rewrites.levels import Levels
from scanviz.engine.rewrites.rule import Phase, Rule, listed
from scanviz.engine.rewrites.rule_pass import Applied, Change, apply_rule
from scanviz.engine.rewrites.selection import Selection


class RewriteCycleWarning(UserWarning):
    """Rules undid one another; the graph is right, but not as simple as it could be."""


class Application(Struct, frozen=True):
    """One application of a rule: at all its matches in the graph and the steps of its loops, or at one loop.

    Attributes
    ----------
    index : int
        Its number, from 0.
    phase, rule : str
        Its phase and the rule.
    where : str
        File and line that the rule is written in.
    message : str
        The change, in one line.
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
ROUND: tuple[Phase, ...] = ("canonical", "loops", "simplify", "merge", "clean")
SWEEPS_BEFORE_LOOKING, MOST_CHANGES = (
    12,
    2_000,
)  # of a phase: sweeps a rule, before graphs are compared with earlier ones; of all
ROUNDS_BEFORE_LOOKING, MOST_ROUNDS = 6, 100


class _Run(Struct):
    """A run of rewrites, as far as it has come.

    Attributes
    ----------
    current : list of Variable
        The graph.
    replaying : bool
        Whether the same was done before: then a warning about a cycle has been given.
    refused : dict or None
        Phase and rule → its latest refusals, where they are wanted.
    levels : Levels
        Graphs at which rules were asked; a rule without effect in one phase is not asked again about the same graph.
    fired : list of str
        The rules that changed something, in order.
    changed, stopped : bool
        Whether a rule changed more than memory since the round began, and whether rules undo one another.
    numbers : Numbers
        Equal graphs have equal ones, names and node ids left aside.
    """

    current: list[Variable]
    replaying: bool
    refused: dict[tuple[Phase, str], list[Refused]] | None
    levels: Levels
    fired: list[str] = field(default_factory=list)
    changed: bool = True
    stopped: bool = False
    numbers: Numbers = field(default_factory=Numbers)

    def print(self) -> Hashable:
        """Return a key of the graph: equal graphs have equal keys."""
        return tuple(map(self.numbers.of, self.current))

    def stop(self, what: str, fired: Sequence[str]) -> None:
        """Stop the rounds, and warn of rules that undid one another."""
        self.stopped = True
        if not self.replaying:
            warnings.warn(
                f"rewrites of {what} undo one another and were stopped: {', '.join(dict.fromkeys(fired))}; results are right. "
                f"write: Mode(…).excluding({next(iter(fired), '')!r}), and report it",
                RewriteCycleWarning,
                stacklevel=2,
            )


def sweeps(
    outputs: Sequence[Variable],
    selection: Selection,
    refusals: list[Refused] | None = None,
    replaying: bool = False,
    checked: set[Apply] | None = None,
    target: TargetTier = NUMPY,
) -> Iterator[Swept]:
    """Apply the selected rules; yield each sweep that changed something, with the graphs after it.

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
        The tier that will run the graph.
    """
    from scanviz.engine.rewrites.families import rules_of  # when it is used: it imports files of rules

    run = _Run(list(outputs), replaying, None if refusals is None else {}, Levels(target))
    checked, index = set() if checked is None else checked, 0
    for phase in _phases(run):
        before = index
        for rule, applied, elapsed in _tried_in_turn(
            phase, list(filter(selection.has, rules_of(phase))), run
        ):
            found = []
            for step in applied:
                found.append((_application(index, phase, rule, step.message, elapsed // len(applied)), step))
                index += 1
            yield found
        if index > before:
            _check(phase, run.current, outputs, checked)
            run.levels.keep_those_of(run.current)
    if refusals is not None and run.refused is not None:
        refusals.extend(refused for found in run.refused.values() for refused in found)


def _phases(run: _Run) -> Iterator[Phase]:
    """Iterate over phases: repeat the loop phases until the graph is stable, then save memory, which may reopen them."""
    seen: dict[Hashable, int] = {}  # graphs after each repetition, with the number of rules fired until then
    ended = 0
    yield "gradient"
    while run.changed and not run.stopped:
        while run.changed and not run.stopped:
            run.changed = False
            yield from ROUND
            ended += 1
            if ended >= ROUNDS_BEFORE_LOOKING and run.changed:
                known = seen.setdefault(run.print(), len(run.fired))
                undone = run.fired[known if ended < MOST_ROUNDS else -10 :]
                if undone:
                    run.stop("several phases", undone)
        yield "keep"


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


def _application(index: int, phase: str, rule: Rule, message: Sequence[Change], elapsed: int) -> Application:
    places_of: dict[str, list[str]] = {}
    for path, text, count in message:
        times = f" ({count} times)" if count > 1 else ""
        inside = f"in the step of `{path[-1]}`" if path else ""
        places_of.setdefault(text + times, []).append(inside)
    lines = []
    for text, places in places_of.items():
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


def _tried_in_turn(
    phase: Phase, rules: Sequence[Rule], run: _Run
) -> Iterator[tuple[Rule, list[Applied], int]]:
    """Try rules in turn until none changes anything, or until they undo one another; keep what each refused last."""
    seen: dict[Hashable, int] = {}  # graphs, with how many rules had fired
    begun_at = len(run.fired)
    position = quiet = 0
    while rules and quiet < len(rules):
        rule = rules[position % len(rules)]
        position += 1
        while True:
            refused: list[Refused] | None = None if run.refused is None else []
            begun = time.perf_counter_ns()
            applied = apply_rule(rule, run.current, run.levels, refused)
            if run.refused is not None and refused is not None:
                run.refused[phase, rule.name] = refused
            if not applied:
                quiet += 1
                break
            run.current, quiet = applied[-1].graph(), 0
            run.changed = (
                run.changed or "memory" not in rule.tags
            )  # rules about memory alone enable no other rule
            run.fired.append(rule.name)
            yield rule, applied, time.perf_counter_ns() - begun
            changes = len(run.fired) - begun_at
            if changes > SWEEPS_BEFORE_LOOKING * len(rules):
                known = seen.setdefault(run.print(), len(run.fired))
                if known < len(run.fired) or changes > MOST_CHANGES:
                    run.stop(f"phase {phase!r}", run.fired[known:] or run.fired[-10:])
                    return
            if not rule.single:
                break
