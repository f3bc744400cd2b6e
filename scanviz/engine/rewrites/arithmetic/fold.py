"""Work that is done once or not at all: constants are computed when building, and equal nodes become one, in steps of loops too.

Large constants stay operations: a function would have to hold their values as long as it lives.  What fails is left as well: its
error belongs to the call.  Gradients ask for the same products and sizes again and again; operations are pure (a draw gives its
next state as a result), so equal nodes have equal values.

Source: value numbering as in Aho, Lam, Sethi, Ullman, "Compilers" (2nd ed.), section 6.1.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import is_not

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Apply, Constant, Variable, rebuild, tensor_type
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Rewritten, counted, graph_rule
from scanviz.engine.scan.dependence import effects_among, has_effect
from scanviz.engine.scan.loop import Scan

LARGEST = 64  # elements of constants that are made, or compared by value
# those of NumPy get their place when run
RUN_TIME_ERRORS = (ScanvizError, ValueError, ArithmeticError, IndexError)


@graph_rule(name="constant_folding", phase=GENERAL, tags=("general",))
def constant_folding(level: Level) -> Rewritten | None:
    """Compute operations of small constants when building."""
    folded_nodes: list[str] = []

    def folded(node: Apply) -> Sequence[Variable]:
        value = _folded(node)
        if value is None:
            return node.outputs
        folded_nodes.append(node.op.name)
        return [value]

    outputs = level.node_by_node(folded)
    return Rewritten(outputs, f"computed {counted(folded_nodes)} of constants") if folded_nodes else None


def _folded(node: Apply) -> Constant | None:
    """Return the value of a node, or None if unknown, not small, or an error that belongs to run time."""
    values = []
    for variable in node.inputs:
        if not isinstance(variable, Constant):
            return None
        values.append(variable.value)
    if not values or not node.op.facts.foldable or len(node.outputs) != 1:
        return None
    if sum(array.size for array in values) > LARGEST:
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(node.op.perform(values)[0])
    except RUN_TIME_ERRORS:
        return None
    kind = tensor_type(node.outputs[0])
    if value.size > LARGEST:
        return None
    return Constant(kind.with_shape(value.shape), value.astype(kind.dtype, copy=False), node.outputs[0].name)


@graph_rule(name="merge_equal", phase=("canonical", "simplify", "merge", "clean"), tags=("general",))
def merge_equal(level: Level) -> Rewritten | None:
    """Compute equal subgraphs once; the first of them stays."""
    merged: list[str] = []
    known: dict[Hashable, Apply] = {}  # nodes as they are now, by what equal ones share
    constants: dict[Hashable, Constant] = {}
    new_of: dict[Variable, Variable] = {}  # and a constant → the first that equals it
    for node in level.nodes:
        if len(node.makers) < len(node.inputs):
            for operand in node.inputs:
                if isinstance(operand, Constant) and operand not in new_of:
                    new_of[operand] = _first_equal(operand, constants)
        inputs = node.inputs
        if not new_of.keys().isdisjoint(inputs):
            inputs = tuple([new_of.get(operand, operand) for operand in inputs])
        key = _key(node, inputs)
        same = known.get(key)
        if same is not None:
            merged.append(node.op.name)
        else:
            changed = any(map(is_not, inputs, node.inputs))
            same = known[key] = rebuild(node, inputs) if changed else node
        if same is not node:
            new_of.update(zip(node.outputs, same.outputs, strict=True))
    if not merged:
        return None
    outputs = [output if output.owner is None else new_of.get(output, output) for output in level.outputs]
    return Rewritten(outputs, f"{counted(merged)} had an equal")


def _first_equal(constant: Constant, known: dict[Hashable, Constant]) -> Constant:
    if constant.value.size > LARGEST:
        return constant
    return known.setdefault((constant.type, constant.weak, constant.value.tobytes()), constant)


def _key(node: Apply, inputs: tuple[Variable, ...]) -> Hashable:
    """Return the key of equal nodes."""
    # loops of two names stay two in a profile; those that differ only in their numbers have one name
    name = node.op.settings.name if isinstance(node.op, Scan) else None
    # what prints or checks twice goes on doing so; copies of one node are one
    effects = frozenset(effects_among([node])) if has_effect(node) else None
    return node.op, name, effects, inputs
