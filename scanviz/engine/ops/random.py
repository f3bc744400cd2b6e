"""Random draws as ops: a state in, the next state and the values out; nothing is changed in place.

Every draw reads ``(state, sizes…, parameters…)``.  How far the state moves depends on the shape and the
distribution alone, never on the values drawn, so equal seeds give equal numbers on every backend.  The
formulas are those of the ``distributions`` files beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from scanviz.engine import cost
from scanviz.engine.errors import ScanvizTypeError, ShapeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.types import INTEGERS, RANDOM_STATE, TensorType, Type, canonical_dtype
from scanviz.engine.ops.draws import continuous as continuous
from scanviz.engine.ops.draws import counts as counts
from scanviz.engine.ops.draws import discrete as discrete
from scanviz.engine.ops.draws import distributions
from scanviz.engine.ops.draws.parameters import real_dtype, whole_dtype
from scanviz.engine.ops.shape import dimension, sizes_of
from scanviz.engine.ops.sizes import as_size, size_of
from scanviz.engine.ops.support import as_integer, as_variable, static_dims
from scanviz.engine.sizes.dims import SIZES, Dims


class DrawParameters(NamedTuple):
    """Parameters of a draw: how many inputs after the state are sizes, the dtype drawn, and whether with replacement."""

    sizes: int
    dtype: str
    replace: bool = True


class _Signature(NamedTuple):
    """The build-time description of a distribution: its name, and its parameters in order with their requirements."""

    name: str
    result: Literal["real", "whole", "any"]
    parameters: tuple[str, ...]
    whole: tuple[str, ...] = ()  # parameters that must be integers
    last_axis: tuple[str, ...] = ()  # parameters whose last axis counts categories
    free: tuple[str, ...] = ()  # parameters that do not broadcast to the size drawn
    vectors: bool = False  # whether a draw has one axis more, of the categories
    # 32-bit words of the generator that an element takes, "dtype" for those of its width; None where a longer draw is not one
    # that goes on with more elements
    words: int | Literal["dtype"] | None = None


_SIGNATURES: dict[str, _Signature] = {}


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    if inputs[0].type != RANDOM_STATE:
        raise ScanvizTypeError.here(f"`{describe(inputs[0])}` is no random state", found=inputs[0].type)
    signature, count = _SIGNATURES[op.declaration.name], op.parameters.sizes
    try:
        if signature.result != "any":
            check = real_dtype if signature.result == "real" else whole_dtype
            check(signature.name, op.parameters.dtype)
        sizes = _static_shape(op, inputs)
        for name, variable in zip(signature.parameters, inputs[1 + count :], strict=False):
            _check_parameter(signature, name, variable, sizes[:count])
    except (ScanvizTypeError, ShapeError) as error:
        error.where = error.where or user_line()
        raise
    return (RANDOM_STATE, TensorType(op.parameters.dtype, sizes))


def _static_shape(op: Op, inputs: Sequence[Variable]) -> tuple[int | None, ...]:
    """Return the shape that is drawn, as far as it is known when building."""
    return tuple(_shapes(op, static_dims(inputs))[1])


def _check_parameter(
    signature: _Signature, name: str, variable: Variable, sizes: tuple[int | None, ...]
) -> None:
    """Raise for parameters known to be wrong when building; others are checked when values are drawn."""
    kind = tensor_type(variable)
    if name in signature.whole and kind.dtype not in INTEGERS:
        found = f"`{describe(variable)}`, {kind}"
        raise ScanvizTypeError(f"{signature.name}: `{name}` must hold integers", found=found)
    if name in signature.free:
        return
    given = kind.shape[:-1] if name in signature.last_axis else kind.shape
    if name in signature.last_axis and kind.ndim == 0:
        expected = "one probability a category on the last axis"
        raise ShapeError(f"{signature.name}: `{name}` holds no category", expected=expected, found=kind)
    known = sizes[len(sizes) - len(given) :] if len(given) <= len(sizes) else None
    if known is None or any(
        one is not None and size is not None and one not in (1, size)
        for one, size in zip(given, known, strict=True)
    ):
        raise ShapeError(
            f"{signature.name}: `{name}` does not broadcast to the drawn size",
            expected=f"a shape that broadcasts to {_shown(sizes)}",
            found=f"`{describe(variable)}`, {kind}",
        )


def _shown(sizes: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    sizes = tuple(dims.value(k) for k in range(1, 1 + op.parameters.sizes))
    if _SIGNATURES[op.declaration.name].vectors:
        sizes = (*sizes, dims.shapes[-1][-1] if dims.shapes[-1] else None)
    if op.declaration.name == "draw_permutation":
        given = dims.shapes[-1]
        sizes = given if given else (dims.value(len(dims.shapes) - 1),)
    return ((4,), sizes)


def _arity(op: Op) -> tuple[int, int]:
    """Return the range of a draw's number of inputs: state, sizes and parameters; probabilities of a choice may be missing."""
    signature = _SIGNATURES[op.declaration.name]
    most = 1 + op.parameters.sizes + len(signature.parameters)
    return most - (signature.name == "choice"), most


def _draw(
    function: Callable[..., Any],
    result: Literal["real", "whole", "any"],
    *parameters: str,
    whole: tuple[str, ...] = (),
    last_axis: tuple[str, ...] = (),
    vectors: bool = False,
    words: int | Literal["dtype"] | None = None,
) -> Declaration:
    """Declare a draw of the name of its NumPy meaning, ``function(state, shape, *parameters, dtype=)``."""
    return _declare(
        lambda op, state, shape, *given: function(state, shape, *given, dtype=op.parameters.dtype),
        _Signature(function.__name__, result, parameters, whole, last_axis, vectors=vectors, words=words),
        (function.__doc__ or "").partition("\n")[0],
    )


def _declare(function: Callable[..., Any], signature: _Signature, doc: str) -> Declaration:
    """Declare a draw by ``function(op, state, shape, *parameters)``, which gives the next state and the values."""
    name = f"draw_{signature.name}"
    _SIGNATURES[name] = signature

    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        count = op.parameters.sizes
        shape = tuple(map(int, values[1 : 1 + count]))
        state, drawn = function(op, np.asarray(values[0]), shape, *values[1 + count :])
        return (state, drawn)

    return Declaration(
        name,
        "random",
        arity=_arity,
        doc=doc,
        infer=_infer,
        perform=perform,
        shapes=_shapes,
        outputs=2,
        facts=Facts(cost.elementary, calls=70),
    )


def _choice(op: Op, state: Array, shape: tuple[int, ...], n: Array, *p: Array) -> Any:
    weights = p[0] if p else None
    return discrete.choice(state, shape, int(n), op.parameters.replace, weights, dtype=op.parameters.dtype)


def _permutation(op: Op, state: Array, shape: tuple[int, ...], x: Array) -> Any:
    return discrete.permutation(state, int(x) if np.ndim(x) == 0 else x, dtype=op.parameters.dtype)


UNIFORM = _draw(distributions.uniform, "real", "low", "high", words="dtype")
NORMAL = _draw(distributions.normal, "real", "loc", "scale", words="dtype")
EXPONENTIAL = _draw(distributions.exponential, "real", "scale", words="dtype")
GAMMA = _draw(continuous.gamma, "real", "shape", "scale", words=8)
LOGNORMAL = _draw(distributions.lognormal, "real", "mean", "sigma", words="dtype")
LAPLACE = _draw(continuous.laplace, "real", "loc", "scale", words=2)
GUMBEL = _draw(continuous.gumbel, "real", "loc", "scale", words=2)
BETA = _draw(continuous.beta, "real", "a", "b", words=16)
TRUNCATED_NORMAL = _draw(continuous.truncated_normal, "real", "loc", "scale", "low", "high", words=8)
DIRICHLET = _draw(continuous.dirichlet, "real", "alpha", last_axis=("alpha",), vectors=True)
POISSON = _draw(counts.poisson, "whole", "lam", words=8)
BINOMIAL = _draw(counts.binomial, "whole", "n", "p", whole=("n",), words=8)
BERNOULLI = _draw(discrete.bernoulli, "any", "p", words=2)
INTEGERS_BETWEEN = _draw(discrete.integers, "whole", "low", "high", whole=("low", "high"), words=2)
CATEGORICAL = _draw(discrete.categorical, "whole", "p", last_axis=("p",), words=2)
MULTINOMIAL = _draw(
    counts.multinomial, "whole", "n", "pvals", whole=("n",), last_axis=("pvals",), vectors=True
)
CHOICE = _declare(
    _choice,
    _Signature("choice", "whole", ("a", "p"), whole=("a",), last_axis=("p",), free=("a", "p")),
    "Some of the numbers 0 to n - 1.",
)
PERMUTATION = _declare(
    _permutation,
    _Signature("permutation", "any", ("x",), free=("x",)),
    "Numbers 0 to n - 1, or rows, in random order.",
)


def _same_words(name: str, kind: Type, doc: str) -> Declaration:
    """Declare an op that takes the four words of a random state for something else."""
    return Declaration(
        name,
        "random",
        arity=1,
        doc=doc,
        infer=lambda op, inputs: (kind,),
        perform=lambda op, values: (np.asarray(values[0]),),
        shapes=lambda op, dims: ((4,),),
        views=0,
    )


STATE_WORDS = _same_words(
    "state_words",
    TensorType("uint64", (4,)),
    "The four words of a random state as numbers, so that a loop can keep the state of every step.",
)
WORDS_STATE = _same_words("words_state", RANDOM_STATE, "The random state of four words.")


def is_draw(op: Op) -> bool:
    """Return whether an operation draws random numbers."""
    return op.declaration.name in _SIGNATURES


def words_of_element(op: Op) -> int | None:
    """Return the 32-bit words of the generator that each element of a draw takes; None if it is not so much for each.

    Element ``i`` takes words ``i * words`` and following, counted from the state on, and the next state begins with a new block of
    eight.  So a longer draw goes on with more elements, whatever its shape.

    Examples
    --------
    >>> words_of_element(Op(NORMAL, DrawParameters(1, "float64"))), words_of_element(
    ...     Op(PERMUTATION, DrawParameters(0, "int64"))
    ... )
    (2, None)
    """
    words = _SIGNATURES[op.declaration.name].words
    return np.dtype(op.parameters.dtype).itemsize // 4 if words == "dtype" else words


def blocks_of(op: Op, count: int) -> int:
    """Return the blocks of the generator that a draw of ``count`` elements takes.

    Examples
    --------
    >>> blocks_of(Op(NORMAL, DrawParameters(1, "float64")), 9)
    3
    """
    return -(-count * (words_of_element(op) or 8) // 8)


def parameters_by_category(op: Op) -> tuple[bool, ...]:
    """Return of each of a draw's parameters whether its last axis counts categories."""
    signature = _SIGNATURES[op.declaration.name]
    return tuple(name in signature.last_axis for name in signature.parameters)


def parameter_names(declaration: Declaration) -> tuple[str, ...]:
    """Return the names of a distribution's parameters in the order of its inputs."""
    return _SIGNATURES[declaration.name].parameters


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
        The distribution.
    state : Variable
        The random state to draw from.
    size : ints, scalars, a shape, or None
        Shape drawn; None is what the parameters broadcast to.
    parameters : sequence
        The distribution's parameters.
    dtype : dtype
        Of the values.
    batch : sequence of (variable, int)
        Variables whose shapes, less so many last axes, are broadcast, if ``size`` is None; all parameters if empty.
    """
    inputs = [as_variable(parameter) for parameter in parameters]
    if size is None:
        given = batch or [(variable, 0) for variable in inputs]
        sizes = broadcast_sizes(given)
    else:
        sizes = _sizes_of(size)
    op = Op(declaration, DrawParameters(len(sizes), canonical_dtype(dtype), replace))
    following, values = build(op, [state, *sizes, *inputs])
    return following, values


def _sizes_of(size: Any) -> list[Variable]:
    """Return the requested sizes; in Theano they stand first, so the error names their position here."""
    try:
        return sizes_of(size, "random draw: size")
    except ScanvizTypeError as error:
        error.fix = (
            error.fix or "size=(2, 3), by name: by place it stands behind the distribution's parameters"
        )
        raise


def broadcast_sizes(given: Sequence[tuple[Variable, int]]) -> list[Variable]:
    """Return the sizes that variables broadcast to, as scalars; of each without so many of its last axes."""
    shapes = [
        tuple(size_of(dimension(variable, k)) for k in range(tensor_type(variable).ndim - drop))
        for variable, drop in given
    ]
    return [as_size(size) for size in SIZES.broadcast(*shapes)]


def draw_permutation(state: Variable, x: Any, dtype: object = "int64") -> tuple[Variable, Variable]:
    """Return (next state, the numbers 0 to x - 1 or the rows of ``x`` in random order)."""
    variable = as_variable(x)
    kind = tensor_type(variable)
    if kind.ndim == 0:
        variable = as_integer(variable, "permutation: how many")
    wanted = canonical_dtype(dtype) if kind.ndim == 0 else kind.dtype
    following, values = build(Op(PERMUTATION, DrawParameters(0, wanted)), [state, variable])
    return following, values
