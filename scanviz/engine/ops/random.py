"""Random draws as ops: a state in, the next state and the values out; nothing is changed in place.

Every draw reads ``(state, sizes…, parameters…)``.  How far the state moves depends on the shape and the distribution alone,
never on the values drawn, so equal seeds give equal numbers on every backend.  The formulas are those of the
``distributions`` files beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.dims import Dims
from scanviz.engine.graph.nodes import Array, Variable, build, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.types import RANDOM_STATE, TensorType, Type, canonical_dtype
from scanviz.engine.ops import (
    distributions,
    distributions_counts,
    distributions_discrete,
    distributions_selection,
)
from scanviz.engine.ops.shape import dimension, sizes_of
from scanviz.engine.ops.support import as_integer, as_variable, static_dims
from scanviz.engine.ops.symbolic_shape import SymbolicDims, as_size


class DrawParameters(NamedTuple):
    """Parameters of a draw: how many inputs after the state are sizes, the dtype drawn, and whether with replacement."""

    sizes: int
    dtype: str
    replace: bool = True


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    if inputs[0].type != RANDOM_STATE:
        raise ScanvizTypeError(
            f"`{describe(inputs[0])}` is no random state", where=user_line(), found=inputs[0].type
        )
    shape = _shapes(op, static_dims(inputs))[1]
    return (RANDOM_STATE, TensorType(op.parameters.dtype, shape))


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    sizes = tuple(dims.value(k) for k in range(1, 1 + op.parameters.sizes))
    if op.declaration.name == "draw_multinomial":
        sizes = (*sizes, dims.shapes[-1][-1])
    if op.declaration.name == "draw_permutation":
        given = dims.shapes[-1]
        sizes = given if given else (dims.value(len(dims.shapes) - 1),)
    return ((6,), sizes)


def _performer(function: Callable[..., Any]) -> Callable[[Op, Sequence[Array]], Sequence[Array]]:
    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        count = op.parameters.sizes
        shape = tuple(int(each) for each in values[1 : 1 + count])
        state, drawn = function(op, np.asarray(values[0]), shape, *values[1 + count :])
        return (state, drawn)

    return perform


def _declare(name: str, function: Callable[..., Any], doc: str) -> Declaration:
    return Declaration(
        f"draw_{name}",
        "random",
        doc=doc,
        infer=_infer,
        perform=_performer(function),
        shapes=_shapes,
        outputs=2,
    )


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, state, shape, *parameters: function(
        state, shape, *parameters, dtype=op.parameters.dtype
    )


def _choice(op: Op, state: Array, shape: tuple[int, ...], n: Array, *p: Array) -> Any:
    weights = p[0] if p else None
    return distributions_selection.choice(
        state, shape, int(n), op.parameters.replace, weights, dtype=op.parameters.dtype
    )


def _permutation(op: Op, state: Array, shape: tuple[int, ...], x: Array) -> Any:
    return distributions_selection.permutation(
        state, int(x) if np.ndim(x) == 0 else x, dtype=op.parameters.dtype
    )


UNIFORM = _declare("uniform", _plain(distributions.uniform), "Uniform on [low, high).")
NORMAL = _declare("normal", _plain(distributions.normal), "Normal with a mean and a standard deviation.")
EXPONENTIAL = _declare("exponential", _plain(distributions.exponential), "Exponential with a mean.")
GAMMA = _declare("gamma", _plain(distributions.gamma), "Gamma with a shape parameter and a scale.")
POISSON = _declare(
    "poisson", _plain(distributions_counts.poisson), "Number of events where so many are expected."
)
BINOMIAL = _declare("binomial", _plain(distributions_counts.binomial), "Number of successes among trials.")
BERNOULLI = _declare("bernoulli", _plain(distributions_discrete.bernoulli), "True with a probability.")
INTEGERS = _declare(
    "integers", _plain(distributions_discrete.integers), "Integers from low up to, not including, high."
)
CATEGORICAL = _declare(
    "categorical", _plain(distributions_discrete.categorical), "Number of a category by its probability."
)
MULTINOMIAL = _declare(
    "multinomial", _plain(distributions_counts.multinomial), "How many of n trials fall into each category."
)
CHOICE = _declare("choice", _choice, "Some of the numbers 0 to n - 1.")
PERMUTATION = _declare("permutation", _permutation, "Numbers 0 to n - 1, or rows, in random order.")


def draw(
    declaration: Declaration,
    state: Variable,
    size: Any,
    parameters: Sequence[Any],
    dtype: object,
    *,
    batch: Sequence[tuple[Variable, int]] = (),
    replace: bool = True,
) -> tuple[Variable, Variable]:
    """Return (next state, values) of a draw.

    Parameters
    ----------
    declaration : Declaration
        Which distribution.
    state : Variable
        The random state to draw from.
    size : ints, scalars, a shape, or None
        Shape drawn; None is what the parameters broadcast to.
    parameters : sequence
        The distribution's parameters.
    dtype : dtype
        Of the values.
    batch : sequence of (variable, int)
        Where ``size`` is None: variables whose shape, less so many last axes, is broadcast; all parameters if empty.
    """
    inputs = [as_variable(each) for each in parameters]
    if size is None:
        given = batch or [(each, 0) for each in inputs]
        sizes = _broadcast([(variable, drop) for variable, drop in given])
    else:
        sizes = sizes_of(size, "random draw: size")
    op = Op(declaration, DrawParameters(len(sizes), canonical_dtype(dtype), replace))
    following, values = build(op, [state, *sizes, *inputs])
    return following, values


def _broadcast(given: Sequence[tuple[Variable, int]]) -> list[Variable]:
    """Return the sizes that variables broadcast to, as scalars."""
    shapes = []
    for variable, drop in given:
        rank = tensor_type(variable).ndim - drop
        known = tensor_type(variable).shape
        shapes.append(
            tuple(known[k] if known[k] is not None else dimension(variable, k) for k in range(rank))
        )
    dims = SymbolicDims(shapes, lambda position: None)
    return [as_size(size) for size in dims.broadcast(*shapes)]


def draw_permutation(state: Variable, x: Any, dtype: object = "int64") -> tuple[Variable, Variable]:
    """Return (next state, the numbers 0 to x - 1 or the rows of ``x`` in random order)."""
    variable = as_variable(x)
    kind = tensor_type(variable)
    if kind.ndim == 0:
        variable = as_integer(variable, "permutation: how many")
    wanted = canonical_dtype(dtype) if kind.ndim == 0 else kind.dtype
    following, values = build(Op(PERMUTATION, DrawParameters(0, wanted)), [state, variable])
    return following, values
