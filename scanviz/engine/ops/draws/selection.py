"""Choosing among n candidates with or without replacement, and permutations.

The conventions are those of :mod:`~scanviz.engine.ops.draws.distributions`.  Without ``p`` the results are equal on
every backend to the last bit; with ``p`` they order or compare floating-point numbers, and are equal where
these are.

choice with replacement
    Integers from 0 to n - 1, or a categorical draw with ``p``
    (:mod:`~scanviz.engine.ops.draws.discrete`).
permutation, choice without replacement
    One 64-bit word for each of the n candidates; their order by word is the permutation, a choice its first
    elements.  Two equal words (chance below ``n**2 / 2**65``) stay in the order of the candidates.
choice without replacement with p
    P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir" (2006): order by ``-log(u) / p``,
    u in (0, 1]; the same as drawing one after the other, each time among those left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.draws.discrete import categorical, integers
from scanviz.engine.ops.draws.distributions import Drawn
from scanviz.engine.ops.draws.parameters import (
    DType,
    Parameter,
    Shape,
    probabilities,
    size_of,
    whole_dtype,
)
from scanviz.engine.ops.draws.philox import Words, advance, blocks_of_words, draw_words
from scanviz.engine.ops.draws.unit_interval import Doubles, up_to_one


def choice(
    state: Words,
    shape: Shape,
    n: int,
    replace: bool = True,
    p: Parameter | None = None,
    dtype: DType = "int64",
) -> Drawn:
    """Choose among the candidates 0 to ``n - 1``.

    Parameters
    ----------
    state : numpy.ndarray
        Generator state, uint64 of shape (4,).
    shape : sequence of int
        Shape of the draw.
    n : int
        Number of candidates; without replacement, how far the state moves depends on it.
    replace : bool
        Whether a candidate may come more than once.
    p : array_like, optional
        Probabilities, shape (n,); by default all the same.
    dtype : dtype
        Integer dtype of the result.

    Returns
    -------
    state, value : numpy.ndarray
        The state after the draw, and numbers of candidates of ``shape`` and ``dtype``.

    Raises
    ------
    ScanvizValueError
        If there are too few candidates (with probability above 0), or ``p`` is not ``n`` probabilities.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> sorted(choice(seed_state(1), (3,), 3, replace=False)[1].tolist())
    [0, 1, 2]
    """
    kind = whole_dtype("choice", dtype)
    count = size_of("choice", shape)
    weights = None if p is None else probabilities("choice", "p", p, ())
    if weights is not None and len(weights) != n:
        raise ScanvizValueError(
            "choice: `p` has the wrong length", expected=f"{n} probabilities", found=len(weights)
        )
    if count and n < 1:
        raise ScanvizValueError(
            "choice: there is nothing to choose from", expected="1 candidate or more", found=n
        )
    if replace and weights is not None:
        return categorical(state, shape, weights, kind)
    if replace:
        return integers(state, shape, 0, max(n, 1), kind)
    possible = n if weights is None else int(np.count_nonzero(weights))
    if count > possible:
        fix = "replace=True to let a candidate come again"
        what = "choice: too few candidates to choose without replacement"
        raise ScanvizValueError(what, expected=f"{count} or more (with `p` above 0)", found=possible, fix=fix)
    order = _random_order(state, n, weights)[:count]
    return advance(state, blocks_of_words(n)), order.reshape(shape).astype(kind, copy=False)


def _random_order(state: Words, n: int, weights: Doubles | None = None) -> npt.NDArray[np.int64]:
    keys: npt.NDArray[Any] = draw_words(state, n)
    if weights is not None:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            keys = np.where(weights > 0, -np.log(up_to_one(keys)) / weights, np.inf)
    return np.argsort(keys, kind="stable")


def permutation(state: Words, x: Parameter, dtype: DType = "int64") -> Drawn:
    """Return the numbers 0 to ``x - 1``, or the rows of the array ``x``, in a random order.

    Parameters
    ----------
    state : numpy.ndarray
        Generator state, uint64 of shape (4,).
    x : int or array_like
        How many, or an array of which the first axis is permuted.
    dtype : dtype
        Integer dtype of the result where ``x`` is an int; an array keeps its own.

    Returns
    -------
    state, value : numpy.ndarray
        The state after the draw and a new array.

    Raises
    ------
    ScanvizTypeError
        If ``x`` is a scalar and no integer.
    ScanvizValueError
        If it is negative, or ``dtype`` does not hold ``x - 1``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> sorted(permutation(seed_state(1), 4)[1].tolist())
    [0, 1, 2, 3]
    """
    array = np.asarray(x)
    if array.ndim:
        n = array.shape[0]
        return advance(state, blocks_of_words(n)), array[_random_order(state, n)]
    kind = whole_dtype("permutation", dtype)
    if array.dtype.kind not in "iu":
        raise ScanvizTypeError("permutation: a scalar `x` must be an integer", found=repr(x))
    n = int(array)
    if not 0 <= n <= np.iinfo(kind).max + 1:
        expected = f"0 to {np.iinfo(kind).max + 1}, for {kind}"
        raise ScanvizValueError("permutation: cannot permute that many numbers", expected=expected, found=n)
    return advance(state, blocks_of_words(n)), _random_order(state, n).astype(kind, copy=False)
