"""Discrete distributions of one word an element: integers, bernoulli and categorical; choices and permutations.

The conventions are those of :mod:`~scanviz.engine.ops.draws.distributions`.  Integers and bernoulli are equal on every backend
to the last bit.  Categorical draws compare a uniform with sums of probabilities, added from left to right in float64, and are
equal where these sums are.

integers
    D. Lemire, "Fast random integer generation in an interval" (2019), exactly unbiased.  Element i takes 64-bit word i and is
    ``low + (word * span >> 64)`` with ``span = high - low``.  If ``word * span % 2**64 < 2**64 % span`` (once in 2**64 / span
    elements), the word at the same place in the next lane is tried.
bernoulli
    ``u < p``, u in [0, 1) of 64-bit word i.
categorical
    How many of the running sums of the probabilities are at most ``u * total``; u in [0, 1) of 64-bit word i.
choice with replacement
    Integers from 0 to n - 1, or a categorical draw with ``p``.
permutation, choice without replacement
    One 64-bit word for each of the n candidates; their order by word is the permutation, a choice its first
    elements.  Two equal words (chance below ``n**2 / 2**65``) stay in the order of the candidates.
choice without replacement with p
    P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir" (2006): order by ``-log(u) / p``,
    u in (0, 1]; the same as drawing one after the other, each time among those left.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.draws.distributions import Drawn
from scanviz.engine.ops.draws.parameters import (
    Array,
    DType,
    Parameter,
    Shape,
    flat,
    probabilities,
    reals,
    require,
    size_of,
    whole_dtype,
    wholes,
)
from scanviz.engine.ops.draws.philox import (
    Words,
    advance,
    blocks_at,
    blocks_of_words,
    draw_words,
    first_word,
    readable_pieces,
)
from scanviz.engine.ops.draws.unit_interval import Doubles, draw_from_zero, up_to_one

_MASK32 = np.uint64(2**32 - 1)
_MASK64 = 2**64 - 1
_SHIFT = np.uint64(32)


def integers(state: Words, shape: Shape, low: Parameter, high: Parameter, dtype: DType = "int64") -> Drawn:
    """Draw integers from ``low`` up to, not including, ``high``, each equally likely.

    Parameters
    ----------
    state : numpy.ndarray
        Generator state, uint64 of shape (4,).
    shape : sequence of int
        Shape of the draw.
    low, high : array_like
        Integers that broadcast to ``shape``.
    dtype : dtype
        Any integer dtype that holds ``low`` and ``high - 1``.

    Returns
    -------
    state, value : numpy.ndarray
        The state after the draw, and an array of ``shape`` and ``dtype``.

    Raises
    ------
    ScanvizTypeError
        If an end is not an integer.
    ScanvizValueError
        If ``low >= high``, or the dtype does not hold the range.
    ShapeError
        If an end does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> state, dice = integers(seed_state(1), (600,), 1, 7)
    >>> int(dice.min()), int(dice.max())
    (1, 6)
    """
    kind = whole_dtype("integers", dtype)
    n = size_of("integers", shape)
    start, stop = wholes("integers", "low", low, shape), wholes("integers", "high", high, shape)
    limits = np.iinfo(kind)
    if not shape and limits.min <= int(start) < int(stop) <= limits.max + 1:
        return advance(state, 1), np.array(_one_integer(state, int(start), int(stop)), kind)
    if not np.all(start < stop):
        raise ScanvizValueError(
            "integers: the range is empty",
            expected="`low` below `high`",
            found=f"low = {start}, high = {stop}",
        )
    require(start >= limits.min, "integers", "low", start, f"at least {limits.min}, for {kind}")
    require(stop <= limits.max + 1, "integers", "high", stop, f"at most {limits.max + 1}, for {kind}")
    first = start.astype(np.uint64)  # modulo 2**64, as is what follows
    span = np.atleast_1d(np.subtract(stop.astype(np.uint64), first, dtype=np.uint64))
    offsets = _below(state, n, span if span.size == 1 else flat(span, shape)).reshape(shape)
    offsets += first
    value = offsets.view(kind) if kind.itemsize == offsets.itemsize else offsets.astype(kind)
    return advance(state, blocks_of_words(n)), value


def _one_integer(state: Words, low: int, high: int) -> int:
    """Return one integer: the same as below, without the cost of NumPy on tiny arrays."""
    span = high - low
    product = first_word(state) * span
    for lane in itertools.count(1):
        if product & _MASK64 >= span or product & _MASK64 >= 2**64 % span:
            break
        product = int(draw_words(state, 1, lane)[0]) * span
    return low + (product >> 64)


def _below(state: Words, n: int, span: Words) -> Words:
    """Return ``n`` integers in [0, span); ``span`` has shape (1,) or (n,), 0 in it is 2**64."""
    found = np.empty(n, np.uint64)
    for place, words in readable_pieces(state, n):
        part = span if len(span) == 1 else span[place]
        if not _write_fair(words, part, found[place]):
            found[place], low = _product(words, part)
            _try_again(state, low, part, place.start, found)
    return found


def _write_fair(words: Words, span: Words, out: Words) -> bool:
    """Write the high 64 bits of ``words * span`` and return whether surely no word is unfair, for spans below 2**32.

    The low 64 bits of a product with an unfair word are less than its span, so their high half is 0.
    """
    if span.max(initial=1) > _MASK32:
        return False
    low = words & _MASK32
    low *= span
    low >>= _SHIFT
    np.right_shift(words, _SHIFT, out=out)
    out *= span
    out += low  # 32 bits more than the high 64 bits: the high half of the low ones
    fair = not len(out) or bool((out & _MASK32).min())
    out >>= _SHIFT
    return fair


def _try_again(state: Words, low: Words, span: Words, start: int, found: Words) -> None:
    """Write integers from ``start`` on anew where ``low``, the low 64 bits of products, marks unfair words."""
    unfair = (~span + np.uint64(1)) % np.maximum(span, np.uint64(1))  # 2**64 % span
    pending = np.flatnonzero(low < unfair)
    for lane in itertools.count(1):
        if not len(pending):
            break
        element = start + pending
        words = blocks_at(state, element // 4, lane)[np.arange(len(pending)), element % 4]
        chosen = pending if len(span) > 1 else np.zeros_like(pending)
        found[element], low = _product(words, span[chosen])
        pending = pending[low < unfair[chosen]]


def _product(words: Words, span: Words) -> tuple[Words, Words]:
    """Return the high and the low 64 bits of ``words * span``; a span of 0 is 2**64."""
    words_low, words_high = words & _MASK32, words >> _SHIFT
    span_low, span_high = span & _MASK32, span >> _SHIFT
    middle = words_high * span_low + (words_low * span_low >> _SHIFT)
    other = words_low * span_high + (middle & _MASK32)
    high = words_high * span_high + (middle >> _SHIFT) + (other >> _SHIFT)
    return high if span.all() else np.where(span, high, words), words * span


def bernoulli(state: Words, shape: Shape = (), p: Parameter = 0.5, dtype: DType = "bool") -> Drawn:
    """Draw True (1) with probability ``p``, else False (0).

    Parameters and results are as for :func:`integers`; ``dtype`` may be any.

    Raises
    ------
    ScanvizValueError
        If ``p`` is NaN or outside of [0, 1].
    ShapeError
        If it does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> bernoulli(seed_state(1), (3,), p=1.0)[1]
    array([ True,  True,  True])
    """
    n = size_of("bernoulli", shape)
    chance = reals("bernoulli", "p", p, shape, allowed="0 to 1")
    value = draw_from_zero(state, n, np.dtype(np.float64)).reshape(shape) < chance
    return advance(state, blocks_of_words(n)), np.asarray(value).astype(dtype, copy=False)


def categorical(state: Words, shape: Shape, p: Parameter, dtype: DType = "int64") -> Drawn:
    """Draw the number of a category, with the probabilities on the last axis of ``p``.

    Parameters and results are as for :func:`integers`; ``p.shape[:-1]`` broadcasts to ``shape``, and each
    distribution is divided by its sum.

    Raises
    ------
    ScanvizValueError
        If a probability is NaN, negative or infinite, or a sum is further than 1e-4 from 1.
    ShapeError
        If there is no category, or the shapes do not fit.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> categorical(seed_state(1), (4,), [0.0, 1.0, 0.0])[1]
    array([1, 1, 1, 1])
    """
    kind = whole_dtype("categorical", dtype)
    n = size_of("categorical", shape)
    sums = np.cumsum(probabilities("categorical", "p", p, shape), axis=-1)
    if sums.shape[-1] - 1 > np.iinfo(kind).max:
        raise ScanvizValueError(
            f"categorical: {kind} does not hold the number of a category",
            found=f"{sums.shape[-1]} categories",
        )
    value = pick(sums, draw_from_zero(state, n, np.dtype(np.float64)).reshape(shape))
    return advance(state, blocks_of_words(n)), np.asarray(value).astype(kind, copy=False)


def pick(sums: Doubles, u: Array) -> Array:
    """Return how many of the running sums of each distribution are at most ``u`` times its total.

    ``u`` in [0, 1), shape (…); ``sums`` of shape (k,) or (…, k), broadcasting.  As ``u * total < total`` also
    after rounding, a category of probability 0 is never returned.
    """
    if sums.ndim == 1:
        return np.asarray(np.searchsorted(sums, u * sums[-1], side="right"))
    target = np.asarray(u * sums[..., -1])
    return np.asarray((sums <= target[..., None]).sum(axis=-1))


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
        Number of integers to permute, or an array to permute along its first axis.
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
