"""What a step computes of some of its variables alone, of which it needs no step to know the value.

Of its non-sequences, that is the same at every step: rules of the family ``push_before`` compute it once before the loop, and the
gradient takes its derivative once after it (:mod:`scanviz.engine.gradient.invariants`).  Of its sequences too, it is known for all
steps before the first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.scan.effects import effects_of, has_effect
from scanviz.engine.scan.loop import Scan, nodes_of


def is_known(variable: Variable, known: Collection[Variable]) -> bool:
    """Return whether a variable of a step is a constant or among known ones."""
    return isinstance(variable, Constant) or variable in known


def all_known(variables: Collection[Variable], known: Collection[Variable]) -> bool:
    """Return whether all of some variables of a step are constants or among known ones."""
    for variable in variables:  # noqa: SIM110  # asked of every node by every rule about loops
        if variable not in known and not isinstance(variable, Constant):
            return False
    return True


def closure(op: Scan, sources: Collection[Variable], nodes: Sequence[Apply] | None = None) -> list[Apply]:
    """Return the nodes of a step that are computed from ``sources`` and constants alone, in order of computation.

    What prints or checks something does so in every step, and is not among them.

    Parameters
    ----------
    op : Scan
        The loop.
    sources : collection of Variable
        Variables of its step.
    nodes : sequence of Apply, optional
        The nodes that may be found, in order of computation; all of the step by default.
    """
    known = set(sources)
    found: list[Apply] = []
    effects = bool(effects_of(op))
    for node in op.once(nodes_of) if nodes is None else nodes:
        if effects and has_effect(node):
            continue
        if all_known(node.inputs, known):
            found.append(node)
            known.update(node.outputs)
    return found


def known_from(
    op: Scan, sources: Collection[Variable], nodes: Sequence[Apply] | None = None
) -> set[Variable]:
    """Return ``sources`` and what the nodes of their :func:`closure` give."""
    return {*sources, *outputs_of(closure(op, sources, nodes))}


def outputs_of(nodes: Collection[Apply]) -> list[Variable]:
    """Return what nodes give."""
    return [output for node in nodes for output in node.outputs]
