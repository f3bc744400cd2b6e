"""Cut the graph at computed inputs: nothing above such an input is computed, not even a size.

A fresh variable without an owner replaces each computed input, so no rule can move sizes or work past it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from scanviz.engine.graph.nodes import Constant, Variable, describe, is_integer_scalar
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import depending_on, leaves, variables
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension, is_shape
from scanviz.engine.ops.sizes import as_size, size_of, surely_equal
from scanviz.engine.ops.symbolic_shape import Shape, shape_of
from scanviz.engine.sizes.dims import SIZES
from scanviz.engine.sizes.polynomial import arguments_of

if TYPE_CHECKING:
    from scanviz.engine.function.arguments import In


def cut_at_inputs(
    inputs: Sequence[In], givens: Mapping[Variable, Variable]
) -> tuple[list[In], dict[Variable, Variable], dict[Variable, Variable]]:
    """Return inputs without owners, all replacements for the graph, and those of them that are cuts.

    Values of givens are cut at inputs too.  If a variable is both an input and a given, the given wins.
    """
    cuts = {
        given.variable: Variable(given.variable.type, given.variable.name or describe(given.variable))
        for given in inputs
        if given.variable.owner is not None
    }
    if not cuts:
        return list(inputs), dict(givens), cuts
    fresh = [given.of(cuts[given.variable]) if given.variable in cuts else given for given in inputs]
    values = dict(zip(givens, replace(list(givens.values()), cuts), strict=True))
    return fresh, {**cuts, **values}, cuts


def sizes_of_inputs(
    graph: Sequence[Variable], inputs: Sequence[In], replaced: Mapping[Variable, Variable]
) -> list[Variable]:
    """Return a graph that takes sizes of computed inputs, and of variables with givens, from their replacements.

    A gradient expresses the sizes of ``y = x * 2`` as those of ``x`` when it is built.  If ``y`` is an input or a given, and ``x``
    is no input, the sizes come from the replacement of ``y``.
    """
    known = {given.variable for given in inputs}
    cuts = {old: new for old, new in replaced.items() if old.owner is not None and _is_known(new, known)}
    current, sizes = list(graph), _known_sizes(cuts) if cuts else []
    while sizes:
        missing = [leaf for leaf in leaves(current, known) if leaf not in known and not _has_value(leaf)]
        mapping = _sizes_asked_of_inputs(current, known, missing, sizes) if missing else {}
        if not mapping:
            break
        current = replace(current, mapping)  # one size at a time
    return current


def _sizes_asked_of_inputs(
    graph: Sequence[Variable],
    known: Collection[Variable],
    missing: Collection[Variable],
    sizes: Sequence[tuple[Variable, Variable]],
) -> dict[Variable, Variable]:
    """Return replacements for sizes that depend on missing variables: the same sizes taken from inputs, as far as known."""
    reaching = depending_on(missing, graph)
    mapping: dict[Variable, Variable] = {}
    for variable in variables(graph, known):
        if variable in reaching and is_integer_scalar(variable):
            found = next(
                (new for new in (_from(variable, old, new) for old, new in sizes) if new is not None), None
            )
            if found is not None:
                mapping[variable] = found
    return mapping


def _is_known(variable: Variable, known: Collection[Variable]) -> bool:
    return all(leaf in known or _has_value(leaf) for leaf in leaves([variable], known))


def _has_value(variable: Variable) -> bool:
    return isinstance(variable, Constant | SharedVariable)


def _known_sizes(cuts: Mapping[Variable, Variable]) -> list[tuple[Variable, Variable]]:
    """Return pairs of a size in the graph above an input, and the same size taken from the input.

    An input that is a shape holds the sizes themselves.
    """
    memory: dict[Variable, Shape] = {}
    pairs: list[tuple[Variable, Variable]] = []
    for old, new in cuts.items():
        if old.owner is not None and is_shape(old.owner):
            pairs += [(size, getitem(new, k)) for k, size in enumerate(old.owner.inputs)]
        if isinstance(old.type, TensorType):
            for axis, size in enumerate(shape_of(old, memory)):
                if not isinstance(size, int):
                    pairs.append((as_size(size), dimension(new, axis)))
    return list(zip(replace([size for size, _ in pairs], cuts), (new for _, new in pairs), strict=True))


def _from(asked: Variable, size: Variable, known: Variable) -> Variable | None:
    """Return the requested size computed from a known one; None if they are unrelated."""
    if surely_equal(asked, size):
        return known
    whole, terms = (arguments_of(size_of(variable), "broadcast_size") for variable in (asked, size))
    rest = [part for part in whole if not any(surely_equal(part, term) for term in terms)]
    if len(rest) > len(whole) - len(terms):
        return None
    return as_size(SIZES.broadcast_dimension([size_of(known), *rest]))
