"""The source of a record of rewrites, kept while the clock runs (:mod:`scanviz.record.graphs.rewrites_snapshot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scanviz.engine.function import Function
    from scanviz.engine.graph.nodes import Variable
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.rewrites.history import RewriteHistory


class RewritesSource(NamedTuple):
    """Data for recording a function's rewrites later, without a reference to the function.

    Attributes
    ----------
    history : RewriteHistory
        The rules.
    names : list of str
        Names of the outputs and updates, empty for those without.
    title : str
        The function's name.
    program : Program or None
        Its Program, to link nodes to operations.
    inputs : sequence of Variable
        The inputs of its Program, in order.
    """

    history: RewriteHistory
    names: list[str]
    title: str
    program: Program | None
    inputs: Sequence[Variable] = ()


def rewrites_source(function: Function, program: Program | None = None) -> RewritesSource:
    """Return the data for recording the rewrites of a compiled function."""
    names = [*[""] * len(function.outputs), *function.updated_names]
    inputs = [*(given.variable for given in function.spec.inputs), *function.spec.shared]
    return RewritesSource(function.rewrites.alone(), names, function.name, program, inputs)
