"""Pickle functions as a flat table of nodes, the mode and the shared values; unpickling compiles them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanviz.engine.building import building
from scanviz.engine.function.arguments import In, Out
from scanviz.engine.function.callable import Function
from scanviz.engine.function.spec import FunctionSpec
from scanviz.engine.graph.flatten import FlatGraph, flatten, unflatten

if TYPE_CHECKING:
    from scanviz.engine.graph.shared import SharedVariable


def reduce_function(function: Function) -> tuple[Any, ...]:
    """Return the reduction of a function for pickle."""
    spec = function.spec
    variables = [*(output.variable for output in spec.outputs), *spec.updates.values()]
    inputs = [(given.variable, given.value, given.name, given.allow_downcast) for given in spec.inputs]
    borrow = [output.borrow for output in spec.outputs]
    mode = (spec.mode.backend, str(spec.mode.rewrites))
    rest = {name: getattr(spec, name) for name in ("name", "structure", "shared", "where", "profile")}
    return restore, (flatten(variables), inputs, borrow, list(spec.updates), mode, rest)


def restore(
    graph: FlatGraph,
    inputs: list[tuple[Any, ...]],
    borrow: list[bool],
    updated: list[SharedVariable],
    mode: tuple[str, str],
    rest: dict[str, Any],
) -> Function:
    """Return the function that was pickled."""
    from scanviz.engine.mode import Mode

    with building("function"):
        variables = unflatten(graph)
        outputs = [Out(variable, loose) for variable, loose in zip(variables, borrow, strict=False)]
        updates = dict(zip(updated, variables[len(borrow) :], strict=True))
        given = [In(*fields) for fields in inputs]
        return Function(
            FunctionSpec(inputs=given, outputs=outputs, updates=updates, mode=Mode(*mode), **rest)
        )
