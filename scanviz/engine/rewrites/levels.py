"""The levels of one run of rewrites, and graphs rebuilt with variables replaced and loops given other steps, in one walk.

A replacement is built over the graph as it was; what it reads may be replaced too.  So the walk goes from the outputs to what
they need, through replacements where there are some, and settles each node once all it reads is settled: however many
replacements there are, each node is visited once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_not

from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.rewrites.level import NUMPY, Level, Rebuilt, TargetTier
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.scan.loop import Scan, nodes_of


class Levels:
    """Levels of one run, kept as long as their graphs live: most rules change little.

    Parameters
    ----------
    target : TargetTier
        What runs the function.

    Attributes
    ----------
    declined : dict
        Rule that looks at a node alone → the nodes that it leaves as they are, with what it refused.
    """

    __slots__ = ("_outer", "_steps", "declined", "target")

    def __init__(self, target: TargetTier = NUMPY) -> None:
        self.target = target
        self.declined: dict[str, dict[Apply, Refusal | None]] = {}
        # by the identity of the loop, which its level holds
        self._steps: dict[tuple[int, tuple[str, ...]], Level] = {}
        self._outer: Level | None = None

    def outer(self, outputs: Sequence[Variable]) -> Level:
        """Return the level of a function's graph."""
        known = self._outer
        same = known is not None and len(known.outputs) == len(outputs)
        if not same or known is None or any(map(is_not, known.outputs, outputs)):
            nodes = outputs.nodes if isinstance(outputs, Rebuilt) else None
            known = self._outer = Level(outputs, nodes=nodes, target=self.target)
        return known

    def step(self, op: Scan, around: Level) -> Level:
        """Return the level of a loop's step."""
        path = around.path
        known = self._steps.get((id(op), path))
        if known is None:
            inside, target = (*path, op.scan_name), around.target.inside(op)
            known = self._steps[id(op), path] = Level(op.inner_outputs, inside, op, op.once(nodes_of), target)
        return known

    def keep_those_of(self, outputs: Sequence[Variable]) -> None:
        """Let go of levels of graphs that are no part of this one."""
        known, found, todo = self._steps, {}, [self.outer(outputs)]
        while todo:
            level = todo.pop()
            for key in ((id(node.op), level.path) for node in level.loops):
                if key in known:
                    found[key] = known[key]
                    todo.append(known[key])
        self._steps = found


def rebuilt(
    outputs: Sequence[Variable], mapping: Mapping[Variable, Variable], ops: Mapping[Apply, Scan]
) -> Rebuilt:
    """Return a graph with variables replaced and loops given other steps.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    mapping : mapping of Variable to Variable
        Old variable → what stands in its place, built over the graph as it was.
    ops : mapping of Apply to Scan
        Loop → the same loop with another step.

    Returns
    -------
    Rebuilt
        The new outputs; nodes above all that changed are those of the old graph, and rebuilt ones keep their ids.
    """
    new_of: dict[Variable, Variable] = {}  # of what does not stay as it is
    begun: set[Apply] = set()
    replaced = dict.fromkeys([variable.owner for variable in mapping])
    done: set[Apply] = set()  # of those
    sure = all(_goes_one_way(node, mapping) for node in replaced)
    order: list[Apply] = []
    reading: list[Apply] = []  # each has a None on the stack, and above that what it reads
    for output in outputs:
        stack: list[Apply | None] = [output.owner] if output.owner is not None else []
        while stack:
            node = stack.pop()
            if node is not None:
                if node in begun:
                    if node in replaced and node not in done:
                        sure = False  # what stands in its place reads it
                    continue
                begun.add(node)
                needed = _needed(node, mapping) if node in replaced else node.makers
                if needed:
                    reading.append(node)
                    stack.append(None)
                    stack += needed
                    continue
            else:
                node = reading.pop()
            if node in replaced:
                _replace(node, mapping, new_of)
                done.add(node)
                if mapping.keys() >= set(node.outputs):
                    continue
            if node in ops or not new_of.keys().isdisjoint(node.inputs):
                node = _over(node, ops.get(node), new_of)
            order.append(node)
    found = [new_of.get(output, output) for output in outputs]
    return Rebuilt(found, order if sure else None)


def _goes_one_way(node: Apply | None, mapping: Mapping[Variable, Variable]) -> bool:
    """Return whether whoever reads a replaced node reads one other in its place: then both graphs are walked alike."""
    if node is None:
        return False
    if len(node.outputs) == 1:
        return True
    makers = {mapping[output].owner if output in mapping else node for output in node.outputs}
    return len(makers) == 1


def _needed(node: Apply, mapping: Mapping[Variable, Variable]) -> Sequence[Apply]:
    """Return what must be settled before a node, the first last: what computes its replacements, else what it reads."""
    if mapping.keys().isdisjoint(node.outputs):
        return node.makers
    given = [mapping[output] for output in node.outputs if output in mapping]
    makers = [variable.owner for variable in reversed(given) if variable.owner is not None]
    return [*node.makers, *makers] if len(given) < len(node.outputs) else makers


def _replace(node: Apply, mapping: Mapping[Variable, Variable], new_of: dict[Variable, Variable]) -> None:
    """Say what replaced outputs of a node have become, when what stands in their place is settled."""
    for output in node.outputs:
        if output in mapping:
            new_of[output] = new_of.get(mapping[output], mapping[output])


def _over(node: Apply, op: Scan | None, new_of: dict[Variable, Variable]) -> Apply:
    """Return a node over what its inputs have become."""
    fresh = rebuild(node, [new_of.get(variable, variable) for variable in node.inputs], op)
    for old, new in zip(node.outputs, fresh.outputs, strict=True):
        new_of.setdefault(old, new)
    return fresh
