"""Equal subgraphs are computed once: nodes with equal ops over the same inputs become one, in the steps of loops too.

Gradients ask for the same products and sizes again and again.  Ops are pure (a draw gives its next state as a result), so
equal nodes have equal values.  Source: value numbering as in Aho, Lam, Sethi, Ullman, "Compilers" (2nd ed.), section 6.1.2.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import is_not

from scanviz.engine.graph.nodes import Apply, Constant, Variable, rebuild
from scanviz.engine.rewrites.formatting import counted
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Rewritten, graph_rule
from scanviz.engine.scan.dependence import effects_among, has_effect
from scanviz.engine.scan.loop import Scan

LARGEST = 64  # elements of constants that are compared by value


@graph_rule(name="merge_equal", phase=("canonical", "simplify", "merge", "clean"), tags=("general",))
def merge_equal(level: Level) -> Rewritten | None:
    """Compute equal subgraphs once; the first of them stays."""
    merged: list[str] = []
    known = _Known()
    constants: dict[Hashable, Constant] = {}
    new_of: dict[Variable, Variable] = {}  # and a constant → the first that equals it
    now, met = new_of.get, known.by_inputs
    for node in level.nodes:
        if len(node.makers) < len(node.inputs):
            for operand in node.inputs:
                if isinstance(operand, Constant) and operand not in new_of:
                    new_of[operand] = _first_equal(operand, constants)
        inputs = node.inputs
        if not new_of.keys().isdisjoint(inputs):
            inputs = tuple([now(operand, operand) for operand in inputs])
        same = node if met.setdefault(inputs, node) is node else known.first(node, inputs)
        if same is not node:
            merged.append(node.op.name)
        elif any(map(is_not, inputs, node.inputs)):
            same = rebuild(node, inputs)
            known.put(node, same, inputs)
        if same is not node:
            new_of.update(zip(node.outputs, same.outputs, strict=True))
    if not merged:
        return None
    outputs = [output if output.owner is None else now(output, output) for output in level.outputs]
    return Rewritten(outputs, f"{counted(merged)} had an equal")


def _first_equal(constant: Constant, known: dict[Hashable, Constant]) -> Constant:
    if constant.value.size > LARGEST:
        return constant
    return known.setdefault((constant.type, constant.weak, constant.value.tobytes()), constant)


class _Known:
    """The nodes met so far, by what they read; only where two read the same does it matter what they are."""

    __slots__ = ("_by_key", "by_inputs")

    def __init__(self) -> None:
        self.by_inputs: dict[tuple[Variable, ...], Apply | None] = {}  # None for several
        self._by_key: dict[Hashable, Apply] = {}

    def first(self, node: Apply, inputs: tuple[Variable, ...]) -> Apply:
        """Return the node met first that computes what a node computes of inputs that another one reads, too."""
        by_inputs = self.by_inputs
        other = by_inputs[inputs]
        if other is not None:
            by_inputs[inputs] = None
            self._by_key[_key(other, inputs)] = other
        return self._by_key.setdefault(_key(node, inputs), node)

    def put(self, node: Apply, fresh: Apply, inputs: tuple[Variable, ...]) -> None:
        """Let a node that was rebuilt over these inputs stand in its own place."""
        if self.by_inputs[inputs] is node:
            self.by_inputs[inputs] = fresh
        else:
            self._by_key[_key(node, inputs)] = fresh


def _key(node: Apply, inputs: tuple[Variable, ...]) -> Hashable:
    """Return what equal nodes share."""
    # loops of two names stay two in a profile; those that only their numbers tell apart have one name
    name = node.op.settings.name if isinstance(node.op, Scan) else None
    # what prints or checks twice goes on doing so; copies of one node are one
    effects = frozenset(effects_among([node])) if has_effect(node) else None
    return node.op, name, effects, inputs
