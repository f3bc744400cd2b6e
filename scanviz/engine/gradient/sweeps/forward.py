"""Forward mode over any graph: tangents of inputs are pushed forward to the outputs.

One sweep in the order of computation; what no tangent reaches has none (zero).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scanviz.engine.gradient.sweeps.accumulate import RULE
from scanviz.engine.gradient.sweeps.choices import choices_of, flow
from scanviz.engine.gradient.sweeps.guards import tangents_of
from scanviz.engine.gradient.table import PUSHFORWARDS, Derivative, Derivatives, Undefined, connection
from scanviz.engine.graph.nodes import Apply, Variable, is_floating
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.sizes import sizes_kept


def push_forward(seeds: Mapping[Variable, Variable], outputs: Sequence[Variable]) -> list[Derivative]:
    """Return the tangents of ``outputs`` for tangents of some variables.

    Parameters
    ----------
    seeds : mapping of Variable to Variable
        Variable → its tangent, of the same type.
    outputs : sequence of Variable
        The requested outputs.

    Returns
    -------
    list
        One entry an output: its tangent, None if it is zero, or an Undefined.
    """
    found: dict[Variable, Derivative] = dict(seeds)
    nodes = toposort(outputs)
    with sizes_kept(), tangents_of(nodes):
        for node in nodes:
            for output, tangent in zip(node.outputs, _through(node, found), strict=True):
                if tangent is not None and output not in found:
                    found[output] = _fitting(output, tangent)
    return [found.get(output) for output in outputs]


def _through(node: Apply, found: Mapping[Variable, Derivative]) -> Derivatives:
    """Return the tangents of a node's outputs."""
    tangents = [found.get(variable) for variable in node.inputs]
    nothing: list[Derivative] = [None] * len(node.outputs)
    if all(tangent is None for tangent in tangents):
        return nothing
    pattern = connection(node)
    given = [
        tangent if isinstance(tangent, Variable) and any(row) else None
        for tangent, row in zip(tangents, pattern, strict=True)
    ]
    results = nothing
    if any(variable is not None for variable in given) and any(map(is_floating, node.outputs)):
        with made_by(RULE, node.provenance, (node.node_id,)):
            results = list(PUSHFORWARDS[node.op.declaration](node, given))
    results = [
        result if is_floating(output) else None for result, output in zip(results, node.outputs, strict=True)
    ]
    for index, why in _undefined(node, tangents):
        results[index] = why
    return results


def _undefined(node: Apply, tangents: Derivatives) -> Iterator[tuple[int, Undefined]]:
    """Yield the outputs without a derivative, of any dtype: chosen by the node, or computed from a choice."""
    for choice in choices_of(node):
        if tangents[choice.input] is not None:
            yield choice.output, choice.why
    for k, tangent in enumerate(tangents):
        if isinstance(tangent, Undefined):
            for index, connected in enumerate(flow(node)[k]):
                if connected:
                    yield index, tangent


def _fitting(variable: Variable, tangent: Derivative) -> Derivative:
    kind = variable.type
    if isinstance(tangent, Variable) and isinstance(kind, TensorType):
        return cast(tangent, kind.dtype)
    return tangent
