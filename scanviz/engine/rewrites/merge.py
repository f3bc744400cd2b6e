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
from scanviz.engine.scan.effects import effects_among, has_effect
from scanviz.engine.scan.loop import Scan

LARGEST = 64  # elements of constants that are compared by value


@graph_rule(name="merge_equal", phase=("canonical", "simplify", "merge", "clean"), tags=("general",))
def merge_equal(level: Level) -> Rewritten | None:
    """Compute equal subgraphs once; the first of them stays."""
    merged: list[str] = []
    known: dict[Hashable, Apply] = {}
    constants: dict[Hashable, Variable] = {}
    new_of: dict[Variable, Variable] = {}

    def canonical(constant: Constant) -> Variable:
        if constant.value.size > LARGEST:
            return constant
        key = (constant.type, constant.weak, constant.value.tobytes())
        return constants.setdefault(key, constant)

    for node in level.nodes:
        inputs = tuple(
            [
                canonical(operand) if isinstance(operand, Constant) else new_of.get(operand, operand)
                for operand in node.inputs
            ]
        )
        # loops of two names stay two in a profile; those that only their numbers tell apart have one name
        name = node.op.settings.name if isinstance(node.op, Scan) else None
        # what prints or checks twice goes on doing so; copies of one node are one
        effects = frozenset(effects_among([node])) if has_effect(node) else None
        key = (node.op, name, effects, inputs)
        same = known.setdefault(key, node)
        if same is not node:
            merged.append(node.op.name)
        elif any(map(is_not, inputs, node.inputs)):
            same = known[key] = rebuild(node, inputs)
        if same is not node:
            new_of.update(zip(node.outputs, same.outputs, strict=True))
    if not merged:
        return None
    return Rewritten(
        [new_of.get(output, output) for output in level.outputs], f"{counted(merged)} had an equal"
    )
