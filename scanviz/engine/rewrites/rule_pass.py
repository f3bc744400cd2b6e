"""Applying one rule to a graph and to the steps of its loops, at every depth.

A rule is asked at all its places first, over the graph as it is; then the graph is rebuilt once with all its matches.
Matches of a rule about nodes are one application; each match of a rule about loops is one of its own, steps before what is
around them.  What a rule did nothing at is remembered as long as that graph lives, so an unchanged step costs nothing.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.provenance import asked_at
from scanviz.engine.rewrites.level import Level, Refused
from scanviz.engine.rewrites.levels import Levels, rebuilt
from scanviz.engine.rewrites.rule import Match, Refusal, Rewritten, Rule
from scanviz.engine.scan.dependence import Effects, effects_among, same_effects
from scanviz.engine.scan.loop import Scan, loop_of
from scanviz.engine.scan.rebuild import with_results

Change = tuple[tuple[str, ...], str, int]  # a level, what was done there, and how often
MOST_VERSIONS = 32  # of a graph in one pass of a rule about loops


class Applied:
    """One application of a rule: its messages, and the graph after it, built on demand.

    A pass over a thousand loops gives many applications, and a function needs the graph after the last.

    Attributes
    ----------
    message : tuple of Said
        The changes, with their places.
    """

    __slots__ = ("_graph", "_make", "message")

    def __init__(self, message: tuple[Change, ...], make: Callable[[], list[Variable]]) -> None:
        self.message, self._make = message, make
        self._graph: list[Variable] | None = None

    def graph(self) -> list[Variable]:
        """Return the outputs of the level it was found in, after it and all before it in the same pass."""
        if self._graph is None:
            self._graph = self._make()
        return self._graph


class Asked(Struct, frozen=True):
    """A rule in one pass over the levels of a graph, and its refusals if they are wanted."""

    rule: Rule
    levels: Levels
    refusals: list[Refused] | None

    def at(self, node: Apply, level: Level) -> Match | None:
        """Ask at a node, and note a refusal."""
        rule = self.rule
        answer = asked_at(rule.name, node.provenance, node.node_id, rule.act, node, level)
        if not isinstance(answer, Refusal):
            found: Match | None = answer
            return found
        self.refuse(node, level, answer)
        return None

    def refuse(self, node: Apply, level: Level, refusal: Refusal) -> None:
        """Note a refusal, where that is wanted."""
        if self.refusals is not None:
            loop = node.op.scan_name if isinstance(node.op, Scan) else None
            name = describe(node.outputs[0]) if loop is None else f"loop `{loop}`"
            where = self.rule.name, level.path, name, node.node_id, str(node.provenance.source or "")
            self.refusals.append(Refused(*where, refusal.why, refusal.preconditions_met))

    def may_do(self, answer: Match, node: Apply, level: Level) -> bool:
        """Return whether a match keeps all effects in their places; note a refusal if not."""
        if not level.once(_effects) or keeps_effects(level, rebuilt(level.outputs, answer.mapping, {})):
            return True
        self.refuse(node, level, _OTHER_EFFECTS)
        return False

    def is_quiet(self, level: Level) -> bool:
        """Return whether the rule changed nothing at this very level before."""
        known = level.quiet.get(self.rule.name)
        if known is not None and self.refusals is not None:
            self.refusals.extend(known)
        return known is not None

    def quiet(self, level: Level, since: int) -> None:
        """Note that the rule changes nothing at a level, and its refusals there."""
        level.quiet[self.rule.name] = [] if self.refusals is None else self.refusals[since:]

    def count(self) -> int:
        """Return how much was refused so far."""
        return 0 if self.refusals is None else len(self.refusals)


_OTHER_EFFECTS = Refusal("a print or a check would run at another place, or another number of times", 4)


def _effects(level: Level) -> Effects:
    """Return the effects of a graph; nodes whose declaration rules out effects are skipped."""
    found: list[Apply] = []
    for declaration, nodes in level.by_declaration.items():
        if type(nodes[0].op) is not Op or declaration.may_have_effect:
            found += nodes
    return effects_among(found)


def keeps_effects(level: Level, outputs: Sequence[Variable]) -> bool:
    """Return whether a graph has the effects of a level, as often and at the same depth of loops."""
    before = level.once(_effects)
    return not before or same_effects(before, outputs)


def apply_rule(
    rule: Rule, outputs: Sequence[Variable], levels: Levels, refusals: list[Refused] | None
) -> list[Applied]:
    """Apply a rule once at all places, and return its applications, if any.

    A rule about loops gives an application for each loop, others one for all nodes.  ``refusals`` gets its refusals.
    """
    level = levels.outer(outputs)
    asked = Asked(rule, levels, refusals)
    if rule.single:
        return _at_loops(asked, level)
    done: list[Change] = []
    fresh = _all(asked, level, done)
    return [] if fresh is None else [Applied(tuple(done), lambda: fresh)]


def _all(asked: Asked, level: Level, done: list[Change]) -> list[Variable] | None:
    """Apply a rule at all nodes, innermost steps first unless the rule is declared otherwise; None where nothing changes."""
    if asked.is_quiet(level):
        return None
    before = asked.count()
    if asked.rule.outermost_first:
        fresh = _outermost_first(asked, level, done)
    elif steps := _steps_rewritten(asked, level, done):
        inside = level.rebuilt(rebuilt(level.outputs, {}, steps))
        here = _here(asked, inside, done)
        return inside.outputs if here is None else here
    else:
        fresh = _here(asked, level, done)
    if fresh is None:
        asked.quiet(level, before)
    return fresh


def _outermost_first(asked: Asked, level: Level, done: list[Change]) -> list[Variable] | None:
    here = _whole(asked, level, done)
    if here is not None:
        level = level.rebuilt(here)
    steps = _steps_rewritten(asked, level, done)
    return rebuilt(level.outputs, {}, steps) if steps else here


def _here(asked: Asked, level: Level, done: list[Change]) -> list[Variable] | None:
    """Apply a rule to a graph, without the steps of its loops."""
    if not asked.rule.on:
        return _whole(asked, level, done)
    asked_nodes = _meant(asked.rule, level)
    answers = [(node, match) for node in asked_nodes if (match := asked.at(node, level)) is not None]
    if not answers:
        return None
    fresh = _with_matches(level, answers)
    if not keeps_effects(level, fresh):
        answers = [(node, answer) for node, answer in answers if asked.may_do(answer, node, level)]
        fresh = _with_matches(level, answers)
        if not keeps_effects(level, fresh):
            return None
    counts = Counter(answer.message for _, answer in answers)
    done += [(level.path, text, count) for text, count in counts.items()]
    return fresh if answers else None


def _with_matches(level: Level, answers: Sequence[tuple[Apply, Match]]) -> list[Variable]:
    """Return a level's outputs with all matches."""
    mapping: dict[Variable, Variable] = {}
    for _, answer in answers:
        mapping.update(answer.mapping)
    return rebuilt(level.outputs, mapping, {}) if mapping else level.outputs


def _whole(asked: Asked, level: Level, done: list[Change]) -> list[Variable] | None:
    found = asked.rule.act(level)
    if not isinstance(found, Rewritten) or not keeps_effects(level, found.outputs):
        return None
    done.append((level.path, found.message, 1))
    return found.outputs


def _at_loops(asked: Asked, level: Level) -> list[Applied]:
    """Ask a rule about loops at each loop of a level once, in the steps first; around them when all steps are quiet.

    All are asked of the level as it is, and replaced together.  Loops that replace the same variable wait for one another.
    """
    if asked.is_quiet(level):
        return []
    before = asked.count()
    found = _in_steps(asked, level)
    if found:
        return found
    taken: dict[Variable, Variable] = {}
    counts: list[int] = []  # after how many replacements each application stands
    for node in _meant(asked.rule, level):
        answer = asked.at(node, level)
        if answer is None or any(variable in taken for variable in answer.mapping):
            continue
        if not asked.may_do(answer, node, level):
            continue
        _keep_names(answer.mapping)
        taken.update(answer.mapping)
        counts.append(len(taken))
        make = _after(level, taken, counts[-1])
        found.append(Applied(((level.path, answer.message, 1),), make))
    if not found:
        asked.quiet(level, before)
    return _in_groups(found)


def _in_groups(found: list[Applied]) -> list[Applied]:
    """Join neighbouring applications where there are very many.

    In a chain of loops each changes all that follow: listing as many versions as there are loops would take the square of
    their number.
    """
    size = -(-len(found) // MOST_VERSIONS)
    if size <= 1:
        return found
    together = []
    for group in (found[k : k + size] for k in range(0, len(found), size)):
        counts: Counter[tuple[tuple[str, ...], str]] = Counter()
        for one in group:
            counts.update({(path, text): count for path, text, count in one.message})
        message = tuple((path, text, count) for (path, text), count in counts.items())
        together.append(Applied(message, group[-1].graph))
    return together


def _after(level: Level, mapping: Mapping[Variable, Variable], count: int) -> Callable[[], list[Variable]]:
    """Return a function that gives a level's outputs after the first replacements of a pass."""
    return lambda: rebuilt(level.outputs, dict(itertools.islice(mapping.items(), count)), {})


def _in_steps(asked: Asked, level: Level) -> list[Applied]:
    """Ask a rule about loops in the steps of a level's loops."""
    found: list[Applied] = []
    last: dict[Apply, Applied] = {}  # of each loop before the one that is looked at
    for node in level.loops:
        inside = _at_loops(asked, asked.levels.step(loop_of(node), level))
        for applied in inside:
            found.append(Applied(applied.message, _with_step(level, last, len(last), node, applied)))
        if inside:
            last[node] = inside[-1]
    return found


def _with_step(
    level: Level, last: Mapping[Apply, Applied], count: int, node: Apply, applied: Applied
) -> Callable[[], list[Variable]]:
    """Return a function that gives a level's outputs with the first changed steps, and one more."""

    def graph() -> list[Variable]:
        steps = {**dict(itertools.islice(last.items(), count)), node: applied}
        ops = {loop: with_results(loop_of(loop), to.graph()) for loop, to in steps.items()}
        return rebuilt(level.outputs, {}, ops)

    return graph


def _keep_names(mapping: Mapping[Variable, Variable]) -> None:
    """Copy a variable's name to an unnamed replacement."""
    for old, new in mapping.items():
        if old.name is not None and new.name is None and new.owner is not None:
            new.name = old.name


def _meant(rule: Rule, level: Level) -> list[Apply]:
    """Return the nodes that a rule is meant for, in order of computation."""
    present = [nodes for declaration, nodes in level.by_declaration.items() if declaration in rule.on]
    if len(present) < 2:
        return present[0] if present else []
    return [node for node in level.nodes if node.op.declaration in rule.on]


def _steps_rewritten(asked: Asked, level: Level, done: list[Change]) -> dict[Apply, Scan]:
    """Return the loops of a level whose steps change, with their new ops."""
    found: dict[Apply, Scan] = {}
    for node in level.loops:
        assert isinstance(node.op, Scan)
        fresh = _all(asked, asked.levels.step(node.op, level), done)
        if fresh is not None:
            found[node] = with_results(node.op, fresh)
    return found
