"""Inputs that something computes: the graph is cut at them, and what lies above is no longer asked, not even for sizes.

Each is replaced by a fresh variable without an owner, so no rule that looks for sizes or for work to move can see past it.
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
from scanviz.engine.sizes.unknowns import arguments_of

if TYPE_CHECKING:
    from scanviz.engine.function.arguments import In


def cut_at_inputs(
    inputs: Sequence[In], givens: Mapping[Variable, Variable]
) -> tuple[list[In], dict[Variable, Variable], dict[Variable, Variable]]:
    """Return inputs that nothing computes, what is to be replaced in the graph for it, and the part of that for the cuts.

    What a given stands for is cut at inputs as well; where a variable is an input and a given too, the given is computed with.
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
    """Return a graph in which sizes of computed inputs, and of what givens stand for, are asked of what replaces them.

    A gradient writes the sizes of ``y = x * 2`` as those of ``x`` when it is built.  Where ``y`` is an input or given and ``x`` is
    no input, what stands for ``y`` is asked instead.
    """
    known = {given.variable for given in inputs}
    cuts = {old: new for old, new in replaced.items() if old.owner is not None and _is_known(new, known)}
    current, sizes = list(graph), _known_sizes(cuts) if cuts else []
    while sizes:
        missing = [leaf for leaf in leaves(current, known) if leaf not in known and not _has_value(leaf)]
        mapping = _sizes_asked_of_inputs(current, known, missing, sizes) if missing else {}
        if not mapping:
            break
        current = replace(current, mapping)  # again: what is made of several sizes is mended one at a time
    return current


def _sizes_asked_of_inputs(
    graph: Sequence[Variable],
    known: Collection[Variable],
    missing: Collection[Variable],
    sizes: Sequence[tuple[Variable, Variable]],
) -> dict[Variable, Variable]:
    """Return for sizes that need what is missing the same sizes asked of inputs, as far as that can be told."""
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
    """Return pairs: a size of what an input was computed from, and the same size asked of the input.

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
    """Return what is asked for, computed from a known size; None where it has nothing to do with it."""
    if surely_equal(asked, size):
        return known
    whole, terms = (arguments_of(size_of(variable), "broadcast_size") for variable in (asked, size))
    rest = [part for part in whole if not any(surely_equal(part, term) for term in terms)]
    if len(rest) > len(whole) - len(terms):
        return None
    return as_size(SIZES.broadcast_dimension([size_of(known), *rest]))
