"""Loop-invariant values of a step: their derivative is computed once, outside of the loop.

A step that makes its weights positive, ``T.dot(h, T.softplus(W))``, computes the same at every step.  With ``V = softplus(W)``,
one linear map turns every step's contribution to the cotangent of ``V`` into that to the cotangent of ``W``.  So the backward
loop adds up contributions to ``V``, and the sum is pulled back to ``W`` after the loop.  The values of ``V`` are computed
before the loop, as :mod:`scanviz.engine.rewrites.loops.push_before` does for the forward loop: they are kept once, not for
every step.

Left in the step is what is a cheap look at a non-sequence, such as its transpose, and what a branch may leave out.  A loop of no
steps computes the rest all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import Derivative
from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import frontier, toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import IFELSE, always_computed
from scanviz.engine.scan.dependence import closure
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import NonSequence


class Invariants:
    """Values of a step that are the same at every step, as non-sequences of the backward loop.

    Parameters
    ----------
    view : ScanView
        The forward loop.

    Attributes
    ----------
    outer : dict
        Non-sequence, over the variable of the forward step that it is the value of → that value outside of the loop.
    """

    def __init__(self, view: ScanView) -> None:
        self._fixed = view.fixed
        inner = view.op.once(_edge)
        values = replace(inner, view.fixed, check=False)
        self.outer: dict[NonSequence, Variable] = {
            NonSequence(variable.name or describe(variable), variable): value
            for variable, value in zip(inner, values, strict=True)
        }

    def pulled_back(
        self,
        totals: Mapping[NonSequence, Variable],
        wanted: Sequence[NonSequence],
        wild: Collection[Variable],
    ) -> dict[NonSequence, Derivative]:
        """Return the cotangents of the forward loop's non-sequences from those of its invariant values.

        Parameters
        ----------
        totals : mapping
            The cotangents that all steps have added up.
        wanted : sequence of NonSequence
            The forward loop's own, whose cotangents are asked for.
        wild : collection of Variable
            Variables of the forward step that may not be finite.
        """
        arrived = {invariant: Variable(total.type, total.name) for invariant, total in totals.items()}
        seeds = {invariant.variable: value for invariant, value in arrived.items()}
        found = pull_back(seeds, [non_sequence.variable for non_sequence in wanted], wild=wild)
        there = [
            (mine, value) for mine, value in zip(wanted, found, strict=True) if isinstance(value, Variable)
        ]
        outside = self._fixed | {arrived[invariant]: total for invariant, total in totals.items()}
        values = replace([value for _, value in there], outside, check=False)
        return dict(zip(wanted, found, strict=True)) | {
            mine: value for (mine, _), value in zip(there, values, strict=True)
        }


def _edge(op: Scan) -> list[Variable]:
    """Return the invariant values that the rest of the step reads, or that the loop returns unchanged."""
    inside = _invariant(op)
    return [
        variable
        for variable in frontier(op.inner_outputs, lambda variable: inside.get(variable.owner, False))
        if variable.owner is not None
    ]


def _invariant(op: Scan) -> dict[Apply | None, bool]:
    """Return the nodes computed from non-sequences alone, and whether each costs more than a read."""
    needed = always_computed(op.inner_outputs)
    sure = [node for node in toposort(op.inner_outputs) if node in needed and _may_leave(node)]
    found: dict[Apply | None, bool] = {}
    for node in closure(op, [non_sequence.variable for non_sequence in op.of_type(NonSequence)], sure):
        found[node] = not node.op.facts.cheap or any(found.get(variable.owner) for variable in node.inputs)
    return found


def _may_leave(node: Apply) -> bool:
    plain = all(isinstance(variable.type, TensorType) for variable in node.outputs)
    return (
        plain and node.op.declaration is not IFELSE and not all(isinstance(v, Constant) for v in node.inputs)
    )
