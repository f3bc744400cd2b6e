"""Reverse mode over any graph: cotangents of outputs are pulled back to inputs.

One sweep from the outputs to the inputs.  Only nodes on a path from a wanted variable to an output take part, and a
pullback receives the wanted inputs, so it builds no other gradients.  Cotangents that meet in one variable are
added; parts written into zeros are written into one another instead.

Source: the vector-Jacobian product as in Griewank and Walther, "Evaluating Derivatives" (2nd ed., 2008), chapter 3.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from scanviz.engine.errors import InternalError
from scanviz.engine.gradient.sweeps.accumulate import RULE, add_cotangents, gradient_name
from scanviz.engine.gradient.sweeps.choices import undefined_parameters
from scanviz.engine.gradient.sweeps.guards import guards_of, surely_not_zero
from scanviz.engine.gradient.table import PULLBACKS, Derivative, Undefined, connection
from scanviz.engine.graph.nodes import Apply, Variable, describe, is_floating
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType, fits
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.sizes import sizes_kept


class Cotangents(Struct):
    """Cotangents that have arrived at each variable of a graph."""

    terms: dict[Variable, list[Variable]] = field(default_factory=dict)
    undefined: dict[Variable, Undefined] = field(default_factory=dict)
    given: Collection[Variable] = ()  # cotangents that the sweep starts from: they are the caller's

    def arrive(self, variable: Variable, value: Derivative) -> None:
        """Add one cotangent of a variable."""
        if isinstance(value, Undefined):
            self.undefined.setdefault(variable, value)
        elif value is not None:
            self.terms.setdefault(variable, []).append(_fitting(variable, value))

    def total(self, variable: Variable) -> Derivative:
        """Return the sum of the arrived cotangents: None for none, an Undefined if one of them is."""
        if variable in self.undefined:
            return self.undefined[variable]
        terms = self.terms.get(variable)
        if not terms:
            return None
        if len(terms) > 1:
            self.terms[variable] = [add_cotangents(terms)]
        return self.terms[variable][0]


def _fitting(variable: Variable, value: Variable) -> Variable:
    """Return a cotangent in the dtype of its variable, after a check that its shape can be right."""
    kind, given = variable.type, value.type
    assert isinstance(kind, TensorType) and isinstance(given, TensorType)
    if given.dtype != kind.dtype:
        value = cast(value, kind.dtype)
    if not fits(value.type, kind):
        raise InternalError(
            f"a pullback gave `{describe(variable)}` a cotangent of another shape",
            expected=kind,
            found=value.type,
        )
    return value


def reached_from(
    sources: Collection[Variable],
    outputs: Sequence[Variable],
    stop: Collection[Variable] = (),
    leaves: Collection[Variable] = (),
) -> set[Variable]:
    """Return the variables above ``outputs`` that have a derivative with respect to one of ``sources``, these included.

    ``stop`` are constants, and ``leaves`` are taken as nothing computed them.
    """
    blocked = set(stop)
    reached = {source for source in sources if source not in blocked and is_floating(source)}
    for node in toposort(outputs, leaves):
        connected = [k for k, variable in enumerate(node.inputs) if variable in reached]
        if not connected:
            continue
        pattern = connection(node)
        for index, output in enumerate(node.outputs):
            if output not in blocked and is_floating(output) and any(pattern[k][index] for k in connected):
                reached.add(output)
    return reached


def pull_back(
    seeds: Mapping[Variable, Variable],
    wrt: Sequence[Variable],
    consider_constant: Collection[Variable] = (),
    wild: Collection[Variable] = (),
    chosen: Collection[Variable] | None = None,
    leaves: Collection[Variable] = (),
) -> list[Derivative]:
    """Return the cotangents of ``wrt`` for cotangents of outputs.

    Parameters
    ----------
    seeds : mapping of Variable to Variable
        Output → its cotangent, of the same type.
    wrt : sequence of Variable
        Variables to differentiate with respect to.
    consider_constant : collection of Variable
        Taken as constants: nothing is pulled back through them.
    wild : collection of Variable
        Inputs that may not be finite (see :mod:`scanviz.engine.gradient.sweeps.guards`).
    chosen : collection of Variable, optional
        Outputs whose cotangents may hold zeros because something was selected; by default those that are not known to hold none.
    leaves : collection of Variable
        Taken as nothing computed them: what arrives at one of ``wrt`` among them goes no further.

    Returns
    -------
    list
        One entry a variable of ``wrt``: its cotangent, None if it is zero everywhere or not connected, or an
        :class:`Undefined`.
    """
    outputs = list(seeds)
    reached = reached_from(wrt, outputs, consider_constant, leaves)
    found = Cotangents(given=set(seeds.values()))
    for output, value in seeds.items():
        if output in reached:
            found.arrive(output, value)
    nodes = toposort(outputs, leaves)
    found.undefined.update(undefined_parameters(nodes, reached, outputs, consider_constant))
    if chosen is None:
        chosen = [variable for variable, seed in seeds.items() if not surely_not_zero(seed)]
    with sizes_kept(), guards_of(nodes, chosen, wild) as guards:
        for node in reversed(nodes):
            if any(output in reached for output in node.outputs):
                _through(node, found, reached)
                guards.passed(node)
        return [found.total(variable) for variable in wrt]


def _name_totals(node: Apply, totals: Sequence[Variable | None], seeds: Collection[Variable]) -> None:
    """Call the cotangents of variables that have a name by it."""
    for output, total in zip(node.outputs, totals, strict=True):
        if total is None or total.owner is None or total in seeds:
            continue
        if total.name is None and output.name:
            total.name = gradient_name(output.name)


def _through(node: Apply, found: Cotangents, reached: Collection[Variable]) -> None:
    """Pull the cotangents of a node's outputs back to its inputs."""
    totals = [found.total(output) if output in reached else None for output in node.outputs]
    wanted = [variable in reached for variable in node.inputs]
    pattern = connection(node)
    for total, output in zip(totals, node.outputs, strict=True):
        if isinstance(total, Undefined):  # and so is all that it was computed from
            for k, variable in enumerate(node.inputs):
                if wanted[k] and pattern[k][output.index]:
                    found.arrive(variable, total)
    given = [None if isinstance(total, Undefined) else total for total in totals]
    if all(variable is None for variable in given) or not any(wanted):
        return
    wanted = [mine and any(row) for mine, row in zip(wanted, pattern, strict=True)]
    _name_totals(node, given, found.given)
    with made_by(RULE, node.provenance, (node.node_id,)):
        derivatives = PULLBACKS[node.op.declaration](node, given, wanted)
    for variable, mine, derivative in zip(node.inputs, wanted, derivatives, strict=True):
        if mine:
            found.arrive(variable, derivative)
