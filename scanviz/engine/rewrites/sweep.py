"""Applying one rule to a graph and to the steps of its loops, at every depth.

A rule about nodes is asked at all of them first, over the graph as it is; then the graph is rebuilt once with all its
matches.  A rule about loops is applied at one loop at a time, steps before what is around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scanviz.engine.graph.nodes import Apply, Variable, describe, rebuild
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.replace import replace
from scanviz.engine.ops.symbolic_shape import Shape
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops import with_results
from scanviz.engine.rewrites.rule import Match, Refusal, Rewritten, Rule
from scanviz.engine.scan.loop import Scan


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal, with where it was given.

    Attributes
    ----------
    rule : str
        The rule that does not fire.
    path : tuple of str
        The loops around the node.
    node : str
        What the node is, in the user's names.
    birth : int
        The node.
    source : str
        The user's line, or empty.
    why : str
        The precondition that failed.
    near : int
        How many held before it.
    """

    rule: str
    path: tuple[str, ...]
    node: str
    birth: int
    source: str
    why: str
    near: int = 0


@dataclass(slots=True)
class Sweep:
    """What one sweep of a rule did: one line a place, and how often; refusals if they are collected."""

    says: list[tuple[tuple[str, ...], str, int]] = field(default_factory=list)
    refusals: list[Refused] | None = None

    def add(self, level: Level, says: str, count: int = 1) -> None:
        """Note matches at a level."""
        self.says.append((level.path, says, count))

    def refuse(self, rule: Rule, level: Level, node: Apply, refusal: Refusal) -> None:
        """Note a refusal, where they are wanted."""
        if self.refusals is not None:
            source = str(node.provenance.source or "")
            name = (
                describe(node.outputs[0]) if not isinstance(node.op, Scan) else f"loop `{node.op.scan_name}`"
            )
            self.refusals.append(
                Refused(rule.name, level.path, name, node.birth, source, refusal.why, refusal.near)
            )


class Levels:
    """Levels of one run, kept as long as their graphs live: most rules change little."""

    __slots__ = ("_outer", "_steps", "shapes")

    def __init__(self, shapes: dict[Variable, Shape] | None = None) -> None:
        self.shapes: dict[Variable, Shape] = {} if shapes is None else shapes
        self._steps: dict[tuple[_Same, tuple[str, ...]], Level] = {}
        self._outer: Level | None = None

    def outer(self, outputs: Sequence[Variable]) -> Level:
        """Return the level of a function's graph."""
        known = self._outer
        same = known is not None and len(known.outputs) == len(outputs)
        if not same or known is None or any(a is not b for a, b in zip(known.outputs, outputs, strict=True)):
            known = self._outer = Level(outputs, shapes=self.shapes)
        return known

    def step(self, op: Scan, path: tuple[str, ...]) -> Level:
        """Return the level of a loop's step."""
        key = (_Same(op), path)
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = Level(op.inner_outputs, (*path, op.scan_name), op, self.shapes)
        return known


class _Same:
    """An op as a key by identity: equal loops are different places."""

    __slots__ = ("op",)

    def __init__(self, op: Scan) -> None:
        self.op = op

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.op is other.op

    def __hash__(self) -> int:
        return id(self.op)


def apply_rule(
    rule: Rule, outputs: Sequence[Variable], levels: Levels, sweep: Sweep
) -> list[Variable] | None:
    """Return the graph with a rule applied, None where it changes nothing.

    A rule of loops is applied once; others at all nodes.
    """
    level = levels.outer(outputs)
    return _first(rule, level, levels, sweep) if rule.single else _all(rule, level, levels, sweep)


def _all(rule: Rule, level: Level, levels: Levels, sweep: Sweep) -> list[Variable] | None:
    """Apply a rule at all nodes, innermost steps first unless the rule says otherwise."""
    if rule.outermost_first:
        found = rule.act(level)
        if isinstance(found, Rewritten):
            sweep.add(level, found.says)
            level = Level(found.outputs, level.path, level.loop, levels.shapes)
        inside = _steps_rewritten(rule, level, levels, sweep)
        if inside:
            return _rebuilt(level, {}, inside)
        return level.outputs if isinstance(found, Rewritten) else None
    steps = _steps_rewritten(rule, level, levels, sweep)
    if steps:
        level = Level(_rebuilt(level, {}, steps), level.path, level.loop, levels.shapes)
    if not rule.on:
        found = rule.act(level)
        if isinstance(found, Rewritten):
            sweep.add(level, found.says)
            return found.outputs
        return level.outputs if steps else None
    mapping: dict[Variable, Variable] = {}
    says: dict[str, int] = {}
    for node in _meant(rule, level):
        answer = _ask(rule, node, level)
        if isinstance(answer, Refusal):
            sweep.refuse(rule, level, node, answer)
        elif answer is not None:
            mapping.update(answer.mapping)
            says[answer.says] = says.get(answer.says, 0) + 1
    for text, count in says.items():
        sweep.add(level, text, count)
    if mapping:
        return _rebuilt(level, mapping, {})
    return level.outputs if steps else None


def _first(rule: Rule, level: Level, levels: Levels, sweep: Sweep) -> list[Variable] | None:
    """Apply a rule at the first node where it fires, innermost steps first."""
    for node in level.loops:
        assert isinstance(node.op, Scan)
        inner = levels.step(node.op, level.path)
        fresh = _first(rule, inner, levels, sweep)
        if fresh is not None:
            return _rebuilt(level, {}, {node: with_results(node.op, fresh)})
    for node in _meant(rule, level):
        answer = _ask(rule, node, level)
        if isinstance(answer, Refusal):
            sweep.refuse(rule, level, node, answer)
        elif answer is not None:
            sweep.add(level, answer.says)
            _keep_names(answer.mapping)
            return replace(level.outputs, answer.mapping, check=False)
    return None


def _keep_names(mapping: Mapping[Variable, Variable]) -> None:
    """Give what replaces a named variable its name, where it has none of its own."""
    for old, new in mapping.items():
        if old.name is not None and new.name is None and new.owner is not None:
            new.name = old.name


def _meant(rule: Rule, level: Level) -> list[Apply]:
    """Return the nodes that a rule is meant for, in order of computation."""
    if len(rule.on) == 1:
        (only,) = rule.on
        return level.by_declaration.get(only, [])
    if not any(each in rule.on for each in level.by_declaration):
        return []
    return [node for node in level.nodes if node.op.declaration in rule.on]


def _ask(rule: Rule, node: Apply, level: Level) -> Match | Refusal | None:
    with made_by(rule.name, node.provenance, (node.birth,)):
        answer: Match | Refusal | None = rule.act(node, level)
    return answer


def _steps_rewritten(rule: Rule, level: Level, levels: Levels, sweep: Sweep) -> dict[Apply, Scan]:
    """Return the loops of a level whose steps change, with their new ops."""
    found: dict[Apply, Scan] = {}
    for node in level.loops:
        assert isinstance(node.op, Scan)
        fresh = _all(rule, levels.step(node.op, level.path), levels, sweep)
        if fresh is not None:
            found[node] = with_results(node.op, fresh)
    return found


def _rebuilt(level: Level, mapping: Mapping[Variable, Variable], ops: Mapping[Apply, Scan]) -> list[Variable]:
    """Return a level's outputs with variables replaced and loops given other steps, in one walk.

    A replacement is built over the graph as it was: what it reads is replaced too where that stands before it.
    """
    settling = _Settling(level, mapping)
    for node in level.nodes:
        settling.pass_node(node, ops.get(node))
    return [settling.now(each) for each in level.outputs]


class _Settling:
    """One walk through a level in order of computation, with what each variable has become."""

    def __init__(self, level: Level, mapping: Mapping[Variable, Variable]) -> None:
        self.mapping = mapping
        self.old = {each for node in level.nodes for each in node.outputs} if mapping else set()
        self.new_of: dict[Variable, Variable] = {}
        self.rebuilt: dict[Apply, Apply] = {}

    def now(self, variable: Variable) -> Variable:
        """Return what a variable of the old graph, or of a replacement, has become."""
        known = self.new_of.get(variable)
        if known is not None:
            return known
        if variable.owner is None or not self.mapping or variable in self.old:
            return variable
        stack = [variable.owner]  # nodes of a replacement: few, and all above them is old or settled
        while stack:
            node = stack[-1]
            waiting = [
                each.owner
                for each in node.inputs
                if each.owner is not None
                and each not in self.old
                and each not in self.new_of
                and each.owner not in self.rebuilt
            ]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if node in self.rebuilt:
                continue
            inputs = [self.new_of.get(each, each) for each in node.inputs]
            changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
            fresh = self.rebuilt[node] = rebuild(node, inputs) if changed else node
            self.new_of.update(zip(node.outputs, fresh.outputs, strict=True))
        return self.new_of.get(variable, variable)

    def pass_node(self, node: Apply, op: Scan | None) -> None:
        """Settle the outputs of a node of the old graph."""
        chosen = {each: self.mapping[each] for each in node.outputs if each in self.mapping}
        if chosen:
            settled = {old: self.now(new) for old, new in chosen.items()}
            self.new_of.update(settled)
            if len(chosen) == len(node.outputs):
                return
        inputs = [self.new_of.get(each, each) for each in node.inputs]
        if op is not None or any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
            fresh = rebuild(node, inputs, op)
            for old, new in zip(node.outputs, fresh.outputs, strict=True):
                self.new_of.setdefault(old, new)
