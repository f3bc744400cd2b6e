"""The levels of one run of rewrites, and rebuilding of graphs with replaced variables and steps in one walk.

A replacement is built over the old graph, and its inputs may be replaced too.  So the walk goes from the outputs to their inputs,
through replacements, and rebuilds each node after all its inputs: it visits each node once, however many replacements there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_not

from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.rewrites.level import NUMPY, Level, TargetTier
from scanviz.engine.scan.loop import Scan, nodes_of


class Levels:
    """Levels of one run, kept as long as their graphs live: most rules change little.

    Parameters
    ----------
    target : TargetTier
        The tier that runs the function.
    """

    def __init__(self, target: TargetTier = NUMPY) -> None:
        self.target = target
        # by the identity of the loop, which its level holds
        self._steps: dict[tuple[int, tuple[str, ...]], Level] = {}
        self._outer: Level | None = None

    def outer(self, outputs: Sequence[Variable]) -> Level:
        """Return the level of a function's graph."""
        known = self._outer
        same = known is not None and len(known.outputs) == len(outputs)
        if not same or known is None or any(map(is_not, known.outputs, outputs)):
            known = self._outer = Level(outputs, target=self.target)
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
) -> list[Variable]:
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
    list of Variable
        The new outputs; nodes above all that changed are those of the old graph, and rebuilt ones keep their ids.
    """
    new_of: dict[Variable, Variable] = {}  # of what does not stay as it is
    begun: set[Apply] = set()
    replaced = {variable.owner for variable in mapping}
    reading: list[Apply] = []  # each has a None on the stack, and above that what it reads
    for output in outputs:
        stack: list[Apply | None] = [output.owner] if output.owner is not None else []
        while stack:
            node = stack.pop()
            if node is None:
                node = reading.pop()
            elif node in begun:
                continue
            else:
                begun.add(node)
                needed = _needed(node, mapping) if node in replaced else node.makers
                if needed:
                    reading.append(node)
                    stack.append(None)
                    stack += needed
                    continue
            if node in replaced:
                given = [old for old in node.outputs if old in mapping]
                new_of.update([(old, new_of.get(mapping[old], mapping[old])) for old in given])
                if len(given) == len(node.outputs):
                    continue
            if node in ops or not new_of.keys().isdisjoint(node.inputs):
                fresh = rebuild(
                    node, [new_of.get(variable, variable) for variable in node.inputs], ops.get(node)
                )
                for old, new in zip(node.outputs, fresh.outputs, strict=True):
                    new_of.setdefault(old, new)
    return [new_of.get(output, output) for output in outputs]


def _needed(node: Apply, mapping: Mapping[Variable, Variable]) -> Sequence[Apply]:
    """Return the nodes to rebuild before a replaced node, in reverse: the makers of its replacements, else of its inputs."""
    given = [mapping[output] for output in node.outputs if output in mapping]
    makers = [variable.owner for variable in reversed(given) if variable.owner is not None]
    return [*node.makers, *makers] if len(given) < len(node.outputs) else makers
