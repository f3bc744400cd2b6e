"""The levels of one run of rewrites: a function's graph, and the steps of its loops at every depth."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_not

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.rewrites.level import Level, Rebuilt
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.rewrites.target import NUMPY, TargetTier
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
