"""Equal subgraphs are computed once: nodes with equal ops over the same inputs become one, in the steps of loops too.

Gradients ask for the same products and sizes again and again.  Ops are pure (a draw gives its next state as a result), so
equal nodes have equal values.  Source: value numbering as in Aho, Lam, Sethi, Ullman, "Compilers" (2nd ed.), section 6.1.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, rebuild
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.inner import rewrite_steps

LARGEST = 64  # elements of constants that are compared by value


def merge_equal(outputs: Sequence[Variable]) -> list[Variable]:
    """Return ``outputs`` with equal nodes merged; the first of them stays."""
    current = rewrite_steps(outputs, merge_equal)
    known: dict[Hashable, Apply] = {}
    constants: dict[Hashable, Variable] = {}
    new_of: dict[Variable, Variable] = {}

    def canonical(variable: Variable) -> Variable:
        if isinstance(variable, Constant) and variable.value.size <= LARGEST:
            key = (variable.type, variable.weak, variable.value.tobytes())
            return constants.setdefault(key, variable)
        return new_of.get(variable, variable)

    for node in toposort(current):
        inputs = tuple(canonical(each) for each in node.inputs)
        name = getattr(node.op, "scan_name", None)  # loops of two names stay two in a profile
        key = (node.op, name, inputs)
        same = known.get(key)
        if same is None:
            changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
            same = rebuild(node, inputs) if changed else node
            known[key] = same
        if same is not node:
            new_of.update(zip(node.outputs, same.outputs, strict=True))
    return [new_of.get(each, each) for each in current]
