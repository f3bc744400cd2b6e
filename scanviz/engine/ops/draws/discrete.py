"""Discrete distributions by one look at a number each: integers, bernoulli and categorical.

The conventions are those of :mod:`~scanviz.engine.ops.draws.distributions`.  Integers and bernoulli are equal on
every backend to the last bit; categorical draws compare a uniform with sums of probabilities, added from left
to right in float64, and are equal where these sums are.

integers
    D. Lemire, "Fast random integer generation in an interval" (2019), exactly unbiased: element i takes
    64-bit word i; with ``span = high - low`` it is ``low + (word * span >> 64)``, unless ``word * span %
    2**64 < 2**64 % span``, when the word at the same place in the next lane is tried (once in 2**64 / span
    elements).
bernoulli
    ``u < p``, u in [0, 1) of 64-bit word i.
categorical
    How many of the running sums of the probabilities are at most ``u * total``; u in [0, 1) of 64-bit word i.
"""

from __future__ import annotations

import itertools

import numpy as np

from scanviz.engine.errors import ScanvizValueError
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
from scanviz.engine.ops.draws.unit_interval import Doubles, draw_from_zero

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
            "integers: there is none to draw",
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
    """Write integers from ``start`` on anew where ``low``, the low 64 bits of products, says that words are unfair."""
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
    chance = reals("bernoulli", "p", p, shape)
    require((chance >= 0) & (chance <= 1), "bernoulli", "p", chance, "0 to 1")
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
