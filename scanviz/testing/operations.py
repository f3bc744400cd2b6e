"""The operations of random expressions, each with its symbolic and its NumPy meaning.

They keep values bounded, so that long loops neither overflow nor drift apart by rounding, but for sums, which are marked as
growing.  Their arguments may differ in shape as long as they broadcast together; what they give broadcasts with them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz import ifelse
from scanviz import tensor as T


def _any_shape(*shapes: tuple[int, ...]) -> bool:
    return True


def _has_axis(first: tuple[int, ...], *others: tuple[int, ...]) -> bool:
    return len(first) > 0


def _vectors(*shapes: tuple[int, ...]) -> bool:
    return len(set(shapes)) == 1 and len(shapes[0]) == 1


class Operation(NamedTuple):
    """An operation with both of its meanings.

    Attributes
    ----------
    name : str
        In words.
    arity : int
        Number of arguments.
    symbolic, plain : callable
        The operation on variables, and on arrays.
    smooth : bool
        Whether it has derivatives of any order everywhere.
    continuous : bool
        Whether a small change of its arguments, as by rounding, makes a small one of its value.
    grows : bool
        Whether its value may be larger than its arguments.
    fits : callable
        Whether it is meant for arguments of some shapes.
    """

    name: str
    arity: int
    symbolic: Callable[..., Any]
    plain: Callable[..., Any]
    smooth: bool = True
    continuous: bool = True
    grows: bool = False
    fits: Callable[..., bool] = _any_shape

    def __repr__(self) -> str:
        return self.name


def _sigmoid(x: Any) -> Any:
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def _softmax(x: Any) -> Any:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def _added_to_first(a: Any, b: Any) -> Any:
    changed = np.array(a)
    changed[:1] += b.sum(dtype=a.dtype)
    return changed


def _with_first_set(a: Any, b: Any) -> Any:
    changed = np.array(a)
    changed[:1] = b.sum(dtype=a.dtype)
    return changed


def _half(a: Any) -> Any:
    return a * a.dtype.type(0.5)


def _mean_kept(axis: int) -> Operation:
    return Operation(
        f"mean along axis {axis}, kept",
        1,
        lambda a: T.mean(a, axis=axis, keepdims=True),
        lambda a: a.mean(axis=axis, keepdims=True),
        fits=_has_axis,
    )


def _sum_kept(axis: int) -> Operation:
    return Operation(
        f"sum along axis {axis}, kept",
        1,
        lambda a: T.cast(T.sum(a, axis=axis, keepdims=True), a.dtype),
        lambda a: a.sum(axis=axis, keepdims=True).astype(a.dtype),
        grows=True,
        fits=_has_axis,
    )


# What brings a value to the shape of the state that it is fed back to; each is drawn elsewhere too.
ADD = Operation("sum", 2, lambda a, b: b + a, lambda a, b: b + a)
XOR = Operation("exclusive or", 2, lambda a, b: b ^ a, lambda a, b: b ^ a)
TANH = Operation("tanh", 1, T.tanh, np.tanh)
HALF_OF_SUM = Operation(
    "half of the sum along the first axis",
    1,
    lambda a: T.sum(a, axis=0) * 0.5,
    lambda a: _half(a.sum(axis=0)),
    grows=True,
    fits=_has_axis,
)
SPREAD = Operation("spread to the other's shape", 2, lambda a, b: a + T.zeros_like(b), lambda a, b: a + 0 * b)
MEAN_KEPT = [_mean_kept(-1), _mean_kept(-2), _mean_kept(-3)]
SUM_KEPT = [_sum_kept(-1), _sum_kept(-2), _sum_kept(-3)]
SUM_OF_FIRST = Operation(
    "sum along the first axis",
    1,
    lambda a: T.cast(T.sum(a, axis=0), a.dtype),
    lambda a: a.sum(axis=0).astype(a.dtype),
    grows=True,
    fits=_has_axis,
)
SPREAD_TRUTH = Operation(
    "spread to the other's shape", 2, lambda a, b: a | T.zeros_like(b), lambda a, b: a | (b & False)
)

# Of any dtype: rows picked, turned, joined, chosen as a whole.
OF_SHAPES = (
    Operation("the same", 1, lambda a: a, lambda a: a),
    Operation("reversed", 1, lambda a: a[::-1], lambda a: a[::-1], fits=_has_axis),
    Operation(
        "joined and cut",
        1,
        lambda a: T.concatenate([a, a])[: a.shape[0]],
        lambda a: a,
        fits=_has_axis,
    ),
    Operation("first row", 1, lambda a: a[0], lambda a: a[0], fits=_has_axis),
    Operation("first row, kept", 1, lambda a: a[:1], lambda a: a[:1], fits=_has_axis),
    Operation("last column, kept", 1, lambda a: a[..., -1:], lambda a: a[..., -1:], fits=_has_axis),
    Operation("one axis more", 1, lambda a: a[None], lambda a: a[None]),
    Operation(
        "all picked by a mask, reshaped",
        1,
        lambda a: T.reshape(a[T.neq(a * 0, 7)], a.shape),
        lambda a: a,
        smooth=False,
        fits=_has_axis,
    ),
    Operation(
        "first row set",
        2,
        lambda a, b: T.set_subtensor(a[:1], T.cast(T.sum(b), a.dtype)),
        _with_first_set,
        grows=True,
        fits=_has_axis,
    ),
    Operation(
        "larger by all", 2, lambda a, b: T.maximum(a, T.max(b)), lambda a, b: np.maximum(a, b.max()), False
    ),
    SUM_OF_FIRST,
    SUM_KEPT[0],
    Operation(
        "sum of all",
        1,
        lambda a: T.cast(T.sum(a), a.dtype),
        lambda a: a.sum().astype(a.dtype),
        grows=True,
    ),
)

OF_FLOATS = (
    Operation("tanh of sum", 2, lambda a, b: T.tanh(a + b), lambda a, b: np.tanh(a + b)),
    Operation("damped difference", 2, lambda a, b: (a - b) * 0.5, lambda a, b: _half(a - b)),
    Operation("sine", 1, T.sin, np.sin),
    Operation(
        "bounded product", 2, lambda a, b: T.clip(a * b, -2, 2), lambda a, b: np.clip(a * b, -2, 2), False
    ),
    Operation("maximum", 2, T.maximum, np.maximum, False),
    Operation(
        "choice by sign",
        2,
        lambda a, b: T.where(a > 0, a, b * 0.5),
        lambda a, b: np.where(a > 0, a, _half(b)),
        False,
        False,
    ),
    Operation(
        "branch",
        2,
        lambda a, b: ifelse(T.sum(a) > 0.137, T.tanh(a + b), (a - b) * 0.5),
        lambda a, b: np.tanh(a + b) if a.sum() > 0.137 else _half(a - b),
        False,
        False,
    ),
    Operation(
        "branch of one",
        2,
        lambda a, b: ifelse(T.sum(a) > 0.137, b, b * 0.5),
        lambda a, b: b if a.sum() > 0.137 else _half(b),
        False,
        False,
    ),
    Operation("sine of product", 2, lambda a, b: T.sin(a * b), lambda a, b: np.sin(a * b)),
    Operation("sigmoid", 1, T.sigmoid, _sigmoid),
    Operation("softmax", 1, lambda a: T.nnet.softmax(a, axis=-1), _softmax, fits=_has_axis),
    Operation("less its mean", 1, lambda a: a - a.mean(), lambda a: a - a.mean(), fits=_has_axis),
    Operation(
        "first row added to",
        2,
        lambda a, b: T.inc_subtensor(a[:1], T.sum(b)),
        _added_to_first,
        grows=True,
        fits=_has_axis,
    ),
    Operation("inner product", 2, T.dot, np.dot, grows=True, fits=_vectors),
    SPREAD,
    MEAN_KEPT[0],
    HALF_OF_SUM,
)

OF_INTEGERS = (
    Operation("sum modulo 97", 2, lambda a, b: (a + b) % 97, lambda a, b: (a + b) % 97),
    Operation("difference modulo 89", 2, lambda a, b: (a - b * 2) % 89, lambda a, b: (a - b * 2) % 89),
    Operation("product modulo 83", 2, lambda a, b: (a * b) % 83, lambda a, b: (a * b) % 83),
    Operation("larger", 2, T.maximum, np.maximum),
    Operation("exclusive or", 2, lambda a, b: (a ^ b) & 127, lambda a, b: (a ^ b) & 127),
    Operation(
        "branch",
        2,
        lambda a, b: ifelse(T.sum(a) > 99, a ^ b, T.maximum(a, b)),
        lambda a, b: a ^ b if a.sum() > 99 else np.maximum(a, b),
    ),
    SPREAD,
)

OF_TRUTH = (
    Operation("both", 2, lambda a, b: a & b, lambda a, b: a & b),
    Operation("either", 2, lambda a, b: a | b, lambda a, b: a | b),
    Operation("one alone", 2, lambda a, b: a ^ b, lambda a, b: a ^ b),
    Operation("not", 1, lambda a: ~a, lambda a: ~a),
    Operation("as the other", 2, lambda a, b: T.eq(a, b), lambda a, b: a == b),
    Operation("chosen", 2, lambda a, b: T.where(a, b, ~b), lambda a, b: np.where(a, b, ~b)),
    Operation("any", 1, lambda a: T.any(a), lambda a: a.any()),
    Operation(
        "branch", 2, lambda a, b: ifelse(T.any(a), a ^ b, a & b), lambda a, b: a ^ b if a.any() else a & b
    ),
    SPREAD_TRUTH,
)


def operations_for(dtype: str, smooth: bool = False) -> Sequence[Operation]:
    """Return the operations that support a dtype; for float16, whose rounding is coarse, only the tame ones."""
    own = OF_TRUTH if dtype == "bool" else OF_FLOATS if dtype.startswith("float") else OF_INTEGERS
    return [
        case
        for case in (*own, *OF_SHAPES)
        if (case.smooth or not smooth) and ((case.continuous and not case.grows) or dtype != "float16")
    ]
