"""Points where usual formulas of derivatives give 0/0 or 0 times infinity, and the derivatives that are promised there.

They are those of the table in ``docs/reference/derivatives.md``.  At each the forward mode gives what reverse mode does, and second
derivatives are no NaN where ``steep`` is false.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.ops.control import ifelse

_INF = float("inf")


@dataclass(frozen=True, slots=True)
class SingularPoint:
    """A function, a point and the gradient of the sum of its values there.

    Attributes
    ----------
    name : str
        Its description in the documentation.
    build : callable
        The function, of symbolic arguments.
    at, gradients : sequence of array_like
        One for each argument; None where no gradient is promised.
    steep : bool
        Whether a first or second derivative is infinite, so that a sum with it may be NaN.
    """

    name: str
    build: Callable[..., Any]
    at: Sequence[Any]
    gradients: Sequence[Any]
    steep: bool = False


def _points(*rows: Sequence[Any]) -> tuple[SingularPoint, ...]:
    return tuple(SingularPoint(*row) for row in rows)


SINGULAR_POINTS = _points(
    ("logsumexp of -inf alone", T.logsumexp, [[-_INF, -_INF]], [[0, 0]]),
    ("logsumexp with some -inf", T.logsumexp, [[-_INF, 1.0, -_INF]], [[0, 1, 0]]),
    ("logsumexp along an axis", lambda x: T.logsumexp(x, 0), [[[-_INF, 2.0], [-_INF, 2.0]]], [[[0, 0.5], [0, 0.5]]]),
    ("logaddexp of -inf and -inf", T.logaddexp, [-_INF, -_INF], [0, 0]),
    ("logaddexp of inf and inf", T.logaddexp, [_INF, _INF], [0.5, 0.5]),
    ("logaddexp with one -inf", T.logaddexp, [-_INF, 3.0], [0, 1]),
    ("softmax of a masked row", T.nnet.softmax, [[-_INF, -_INF]], [[0, 0]]),
    ("softmax of a partly masked row", lambda x: T.nnet.softmax(x)[1], [[-_INF, 0.0, 0.0]], [[0, 0.25, -0.25]]),
    ("log_softmax of a partly masked row", lambda x: T.nnet.log_softmax(x)[1], [[-_INF, 0.0, 0.0]], [[0, 0.5, -0.5]]),
    ("crossentropy of masked logits", lambda x: T.nnet.softmax_crossentropy(x, [0.0, 1.0]), [[-_INF, 0.0]], [[0, 0]]),
    ("max of equal elements", T.max, [[2.0, 2.0, 1.0, 2.0]], [[1 / 3, 1 / 3, 0, 1 / 3]]),
    ("min of equal elements", T.min, [[1.0, 1.0]], [[0.5, 0.5]]),
    ("maximum of equal numbers", T.maximum, [1.0, 1.0], [0.5, 0.5]),
    ("minimum of equal numbers", T.minimum, [1.0, 1.0], [0.5, 0.5]),
    ("fmax beside NaN", T.fmax, [_INF * 0, 1.0], [0, 1]),
    ("relu at 0", T.nnet.relu, [0.0], [0.5]),
    ("clip at its bounds", lambda x: T.clip(x, 0.0, 1.0), [[0.0, 1.0, 2.0]], [[1, 1, 0]]),
    ("abs at 0", T.abs, [0.0], [0]),
    ("sign at 0", lambda x: T.sign(x) + x, [0.0], [1]),
    ("norm at 0", T.norm, [[0.0, 0.0]], [[0, 0]]),
    ("norm of order 3 at 0", lambda x: T.norm(x, 3), [[0.0, 0.0]], [[0, 0]]),
    ("norm of order inf at 0", lambda x: T.norm(x, _INF), [[0.0, 0.0]], [[0, 0]]),
    ("norm of a matrix of zeros", T.norm, [[[0.0, 0.0]]], [[[0, 0]]]),
    ("std of equal elements", T.std, [[2.0, 2.0]], [[0, 0]]),
    ("var of equal elements", T.var, [[2.0, 2.0]], [[0, 0]]),
    ("sqrt at 0", T.sqrt, [0.0], [_INF], True),
    ("a fractional power at 0", lambda x: x**0.5, [0.0], [_INF], True),
    ("cbrt at 0", T.cbrt, [0.0], [_INF], True),
    ("sqrt at 0 times 0", lambda x, m: T.sqrt(x) * m, [0.0, 0.0], [0, 0], True),
    ("arcsin at 1 times 0", lambda x, m: T.arcsin(x) * m, [1.0, 0.0], [0, np.pi / 2], True),
    ("x ** 0 at 0", lambda x: x**0, [0.0], [0]),
    ("x ** 1 at 0", lambda x: x**1, [0.0], [1]),
    ("x ** 2 at 0", lambda x: x**2, [0.0], [0]),
    ("0 ** 0", T.power, [0.0, 0.0], [0, 0]),
    ("0 ** 1", T.power, [0.0, 1.0], [1, 0]),
    ("0 ** 2.5", T.power, [0.0, 2.5], [0, 0]),
    ("prod with one 0", T.prod, [[0.0, 2.0, 3.0]], [[6, 0, 0]]),
    ("prod with two 0", T.prod, [[0.0, 2.0, 0.0]], [[0, 0, 0]]),
    ("cumprod with 0", T.cumprod, [[2.0, 0.0, 3.0]], [[1, 8, 0]]),
    ("arctan2 at 0", T.arctan2, [0.0, 0.0], [0, 0]),
    ("hypot at 0", T.hypot, [0.0, 0.0], [0, 0]),
    ("xlogx at 0", T.xlogx, [0.0], [0]),
    ("softplus of large numbers", T.softplus, [[1000.0, -1000.0]], [[1, 0]]),
    ("sigmoid of large numbers", T.sigmoid, [[1000.0, -1000.0]], [[0, 0]]),
    ("0 times inf by multiply_no_nan", T.multiply_no_nan, [_INF, 0.0], [0, 0]),
    ("sqrt in the branch not taken", lambda x: T.where(x > 0, T.sqrt(x), 0.0), [[-1.0, 0.0, 4.0]], [[0, 0, 0.25]]),
    ("log in the branch not taken", lambda x: T.where(x > 0, T.tanh(T.log(x)), x), [[-1.0, 0.0, 1.0]], [[1, 1, 1]]),
    ("a quotient not taken", lambda a, x: T.where(x > 0, a / x, 0.0), [[1.0, 1.0], [0.0, 2.0]], [[0, 0.5], [0, -0.25]]),
    ("an overflow not taken", lambda x, w: T.where(x < 9, w * T.exp(x), 0.0), [[1e4, 0.0], [1.0, 2.0]], [[0, 2], [0, 1]]),
    ("sqrt in a branch of ifelse", lambda x: ifelse(T.gt(x, 0), T.sqrt(x), x), [-1.0], [1]),
    ("log of elements that are not read", lambda x: T.log(x)[1:], [[0.0, 2.0]], [[0, 0.5]]),
    ("log under max", lambda x: T.max(T.log(x)), [[0.0, 2.0]], [[0, 0.5]]),
    ("log under clip", lambda x: T.clip(T.log(x), -3.0, 3.0), [[0.0, 2.0]], [[0, 0.5]]),
    ("crossentropy of probabilities that underflowed", lambda p: T.nnet.categorical_crossentropy(p, 1), [[0.0, 0.5]], [[0, -2]]),
)  # fmt: skip
