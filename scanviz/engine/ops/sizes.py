"""Sizes as graphs and graphs as sizes: recognize size arithmetic in integer graphs, and build variables that compute sizes.

A size (:mod:`scanviz.engine.sizes.dims`) is compared without building anything.  Only where a graph reads it, a variable is
built of it (:func:`as_size`); a size that was read from a graph becomes that graph again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import Op, declared
from scanviz.engine.graph.equality import Numbers
from scanviz.engine.graph.nodes import Apply, Variable, build_one, found_in_run, is_integer_scalar
from scanviz.engine.graph.types import BOOLEAN, INTEGERS, TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.shape import BROADCAST_SIZE, DIMENSION, AxisParameters
from scanviz.engine.ops.support import constant, constant_integer
from scanviz.engine.sizes.dims import SIZES, Dim, called
from scanviz.engine.sizes.polynomial import Call, Number, Polynomial, Unknown, inside_out, mapped
from scanviz.engine.sizes.polynomial import surely_at_most as at_most
from scanviz.engine.sizes.polynomial import surely_not_negative as never_negative

_WHOLE = frozenset((BOOLEAN, *INTEGERS))
MOST_NODES = 40  # of a graph that are read as arithmetic; what is below them is one unknown a variable


def _where(condition: Dim, first: Dim, second: Dim) -> Dim:
    if isinstance(condition, int):
        return first if condition else second
    return first if first == second else called("where", condition, first, second)


_ARITHMETIC: dict[str, Callable[..., Dim]] = {
    e.add.name: SIZES.add,
    e.subtract.name: SIZES.subtract,
    e.multiply.name: SIZES.multiply,
    e.floor_divide.name: SIZES.floor_divide,
    e.maximum.name: SIZES.maximum,
    e.minimum.name: SIZES.minimum,
    e.negative.name: lambda size: SIZES.subtract(0, size),
    e.where.name: _where,
    BROADCAST_SIZE.name: lambda *sizes: SIZES.broadcast_dimension(sizes),
}


class KnownSizes(NamedTuple):
    """A cache of facts about sizes: scalars as sizes, shapes, equal graphs, substituted sizes."""

    of_scalars: dict[Variable, Dim]
    shapes: dict[Variable, tuple[Dim, ...]]
    numbers: Numbers
    substituted: dict[Hashable, Dim]


def _nothing_known() -> KnownSizes:
    return KnownSizes({}, {}, Numbers(), {})


_known: ContextVar[KnownSizes | None] = ContextVar("known_sizes", default=None)


@contextmanager
def sizes_kept() -> Iterator[None]:
    """Share facts about sizes between all questions asked in the block, so that each graph is walked once."""
    if _known.get() is not None:
        yield
        return
    token = _known.set(_nothing_known())
    try:
        yield
    finally:
        _known.reset(token)


def known_sizes() -> KnownSizes:
    """Return the cache of sizes of this run of rewrites or block; an empty one elsewhere."""
    run = found_in_run()
    if run is None:
        return _known.get() or _nothing_known()
    found: KnownSizes | None = run.get(KnownSizes)
    if found is None:
        found = run[KnownSizes] = _nothing_known()
    return found


def size_of(value: Any) -> Any:
    """Return an integer scalar as an int or a polynomial of sizes; what is none of a graph already stays.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.vector("x").shape[0]
    >>> size_of(n + 1 - n), size_of(n * 2 + n) == size_of(n) * 3
    (1, True)
    """
    if not isinstance(value, Variable):
        return value
    return _read(value, [MOST_NODES], known_sizes().of_scalars)


def given_size(variable: Variable) -> Dim:
    """Return an integer scalar that a user gave as a size of its own: it may be replaced, so what computes it is not read."""
    known = constant_integer(variable)
    return Polynomial.of(Unknown(variable)) if known is None else known


def _read(variable: Variable, left: list[int], memory: dict[Variable, Dim]) -> Any:
    """Return a variable as a size; ``left`` holds how many nodes more may be read as arithmetic."""
    found = memory.get(variable)
    if found is None:
        known = constant_integer(variable)
        found = memory[variable] = _unknown(variable, left, memory) if known is None else known
    return found


def _unknown(variable: Variable, left: list[int], memory: dict[Variable, Dim]) -> Any:
    """Return a variable that is no constant as a size."""
    node, found = variable.owner, None
    if node is not None and left[0] > 0:
        left[0] -= 1
        found = _read_node(node, left, memory)
    if found is None:
        found = Polynomial.of(Unknown(variable))
    unbuilt = isinstance(found, Polynomial) and found.built is None
    if unbuilt and (is_integer_scalar(variable) or _compares(variable)):
        found.built = variable
    return found


def _read_node(node: Apply, left: list[int], memory: dict[Variable, Dim]) -> Dim:
    """Return the result of a node as a size, or None if it is no arithmetic on sizes."""
    op, given = node.op, node.inputs
    kind = given[0].type if given else None
    if op.declaration is DIMENSION and isinstance(kind, TensorType):
        known = kind.shape[op.parameters.axis]
        return known if known is not None else Polynomial.of(Unknown(given[0], op.parameters.axis))
    if op.declaration is e.CAST and op.parameters.dtype == "int64" and is_whole(given[0]):
        return (
            _read(given[0], left, memory) if is_integer_scalar(given[0]) else Polynomial.of(Unknown(given[0]))
        )
    chosen = op.declaration is e.where and _compares(given[0])
    fails = op.facts.raises and op.declaration is not BROADCAST_SIZE
    if op.facts.size == "no" or fails or op.parameters is not None:
        return None
    numbers = all(is_integer_scalar(variable) for variable in (given[1:] if chosen else given))
    if not numbers or not (is_integer_scalar(node.outputs[0]) or _compares(node.outputs[0])):
        return None
    return calculated(op.name, [_read(variable, left, memory) for variable in given])


def is_whole(variable: Variable) -> bool:
    """Return whether a variable is one whole number, or a truth value."""
    kind = variable.type
    return isinstance(kind, TensorType) and not kind.shape and kind.dtype in _WHOLE


def _compares(variable: Variable) -> bool:
    """Return whether a variable is the result of a comparison of numbers."""
    node = variable.owner
    return node is not None and node.op.facts.compares and all(map(is_integer_scalar, node.inputs))


def calculated(name: str, args: Sequence[Dim]) -> Dim:
    """Apply the operation of a name to dimensions; None if the result is unknown or an error."""
    for arg in args:
        if arg is None:  # asked of what is equal to it, a polynomial would be compared
            return None
    try:
        if name in _ARITHMETIC:
            return _ARITHMETIC[name](*args)
        if all(isinstance(arg, int) for arg in args):
            with np.errstate(all="ignore"):
                return int(Op(declared(name)).perform([np.int64(arg) for arg in args])[0])
    except ScanvizError:  # sizes that contradict one another are reported where values are computed
        return None
    return called(name, *args)


def product_of(sizes: Iterable[Any]) -> Variable:
    """Return the product of sizes as an int64 scalar, a constant if all are known."""
    return as_size(SIZES.product([*map(size_of, sizes)]))


def as_size(dimension: Dim) -> Variable:
    """Return a dimension as an int64 scalar variable: the one that it was read from, or one that is built once."""
    if isinstance(dimension, Variable):
        return dimension
    if not isinstance(dimension, Polynomial):
        return constant(dimension, "int64")
    known = known_sizes()
    for polynomial in inside_out(dimension, lambda size: size.built is not None):
        polynomial.built = _sum(polynomial)
        known.of_scalars[polynomial.built] = polynomial  # what is read of it again is what it was built of
    found: Variable = dimension.built
    return found


def _sum(size: Polynomial) -> Variable:
    """Return a variable that computes a size, where there is one for all that calls in it are made of."""
    terms = [
        (_times(product, factor if factor > 0 else -factor), factor > 0)
        for product, factor in size.terms.items()
    ]
    terms.sort(key=lambda term: not term[1])  # what is added first
    total = constant(0, "int64") if not terms[0][1] else terms.pop(0)[0]
    for term, added in terms:
        total = build_one(Op(e.add if added else e.subtract), total, term)
    return total


def _times(product: Sequence[Unknown | Call], factor: Number) -> Variable:
    """Return a variable that computes a product of unknowns and a positive number."""
    factors = [_variable(factor) for factor in product]
    if factor != 1 or not factors:
        factors.append(constant(factor, "int64"))
    return reduce(lambda a, b: build_one(Op(e.multiply), a, b), factors)


def _variable(unknown: Unknown | Call) -> Variable:
    if isinstance(unknown, Call):
        return build_one(Op(declared(unknown.name)), *map(as_size, unknown.args))
    if unknown.axis is not None:
        return build_one(Op(DIMENSION, AxisParameters(unknown.axis)), unknown.source)
    return e.cast(unknown.source, "int64")


def substituted(
    size: Dim, value: Callable[[Unknown], Dim], known: dict[Polynomial, Dim] | None = None
) -> Dim:
    """Return a size with other sizes in place of its unknowns; None if one of those is None.

    ``known`` is kept between sizes that are asked for with the same ``value``: many are made of the same ones.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = size_of(T.vector("x").shape[0])
    >>> substituted(SIZES.maximum(n - 3, 1) * n, lambda unknown: 5)
    10
    """
    if not isinstance(size, Polynomial):
        return size
    known = {} if known is None else known

    def value_of(unknown: Unknown | Call) -> Dim:
        if isinstance(unknown, Unknown):
            return value(unknown)
        return calculated(unknown.name, [known.get(arg, arg) for arg in unknown.args])

    return mapped(size, value_of, known)


def surely_equal(first: Any, second: Any) -> bool:
    """Return whether two sizes (ints, polynomials or int64 scalar variables) are equal whatever the inputs are.

    "No" means only that it could not be shown.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.lscalar("n")
    >>> surely_equal(n + 1 - 1, n), surely_equal(n, n + 1)
    (True, False)
    """
    if first is second:
        return True
    a, b = size_of(first), size_of(second)
    if a == b or not (isinstance(a, Polynomial) and isinstance(b, Polynomial)):
        return bool(a == b)
    if not all(any(unknown.computed for unknown in polynomial.unknowns) for polynomial in (a, b)):
        return False
    numbers = known_sizes().numbers  # they may be computed twice, alike, and not merged yet
    return size_key(a, numbers) == size_key(b, numbers)


def surely_not_negative(size: Any) -> bool:
    """Return whether a number made of sizes is 0 or more whatever the inputs are.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.vector("x").shape[0]
    >>> surely_not_negative(n + 1 - 1), surely_not_negative(n - 1)
    (True, False)
    """
    return never_negative(size_of(size))


def surely_at_most(first: Any, second: Any) -> bool:
    """Return whether a size is the other one or less whatever the inputs are.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n, m = T.vector("x").shape[0], T.vector("y").shape[0]
    >>> surely_at_most(T.minimum(n, m), m + 1), surely_at_most(n, m)
    (True, False)
    """
    return at_most(size_of(first), size_of(second)) or surely_equal(first, second)


def size_key(size: Any, numbers: Numbers) -> Hashable:
    """Return a key that surely equal sizes share.

    ``numbers`` is kept between sizes that are compared.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n, numbers = T.lscalar("n"), Numbers()
    >>> size_key(n + 1 - 1, numbers) == size_key(n, numbers) != size_key(n + 1, numbers)
    True
    """
    key: Hashable = substituted(
        size_of(size), lambda unknown: Polynomial.of(Unknown(numbers.of(unknown.source), unknown.axis))
    )
    return key
