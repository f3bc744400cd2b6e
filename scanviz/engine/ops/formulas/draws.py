"""Draws in the scalar language: from the words of Philox to numbers, rejection included.

Everything here is an expression over words, parameters and, where an attempt may fail, the generator's state and the element's
number, with the generator in front (:func:`draw_block`), for backends that write code of their own.  NumPy's draws do the same
with arrays (:mod:`~scanviz.engine.ops.draws.distributions` and its neighbours), where sources and conventions stand too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine.ops.draws.parameters import Array
from scanviz.engine.ops.draws.philox import Words, advance, draw_words, scattered_blocks
from scanviz.engine.ops.draws.unit_interval import SHORT, Doubles
from scanviz.engine.ops.formulas.counts import binomial, poisson
from scanviz.engine.ops.formulas.elementwise import larger
from scanviz.engine.ops.formulas.words import (
    ATTEMPTS,
    BLOCK_AT,
    FIRST_PARAMETER,
    NUMBER,
    block_at,
    from_zero,
    from_zero_single,
    inside,
    natural_log,
    up_to_one,
    up_to_one_single,
)
from scanviz.engine.scalar.array_source import NUMPY, compiled
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.expression import (
    Expression,
    argument,
    carried,
    constant,
    like,
    loop,
    primitive,
    select,
    when,
)

LEAST_LOG = -8e307  # of a gamma: beyond, differences would not be numbers


def uniform(unit: Expression, low: Expression, high: Expression) -> Expression:
    """Return a number between two ends."""
    return (high - low) * unit + low


def normal_pair(unit: Expression, turn: Expression) -> tuple[Expression, Expression]:
    """Return two standard normals of a number in (0, 1] and one in [0, 1), by Box and Muller."""
    radius = primitive("sqrt", -2 * natural_log(unit))
    angle = turn * (2 * math.pi)
    return radius * primitive("cos", angle), radius * primitive("sin", angle)


def exponential(unit: Expression, scale: Expression) -> Expression:
    """Return an exponential of a number in (0, 1]."""
    return -natural_log(unit) * scale


def bernoulli(unit: Expression, chance: Expression) -> Expression:
    """Return whether a number in [0, 1) is below a chance."""
    return unit < chance


def below(word: Expression, number: Expression, place: int, span: Expression) -> Expression:
    """Return an integer in [0, span), by Lemire's multiplication: of a word, and of those in later lanes where it is unfair.

    ``number`` is the word's block and ``place`` which of its words it is.
    """
    product, rest = primitive("multiply_high", word, span), word * span
    unfair = primitive("remainder", 0 - span, span)  # 2**64 % span
    low, lane = carried("low"), carried("lane")
    again = block_at(number, lane)[place]
    start = {"high": product, "low": rest, "lane": constant(1, "uint64")}
    step = {"high": primitive("multiply_high", again, span), "low": again * span, "lane": lane + 1}
    found = loop(start, low < unfair, step, ATTEMPTS)["high"]
    return when(rest < span, found, product)  # the remainder is slow and seldom needed


def standard_gamma(concentration: Expression) -> Expression:
    """Return a gamma of scale 1, by Marsaglia and Tsang."""
    small, value = _large_gamma(concentration, NUMBER, "gamma")
    power = primitive("power", inside(block_at(NUMBER, 0)[0]), 1 / concentration)
    return when(small, value * power, value)


def gamma(concentration: Expression, scale: Expression) -> Expression:
    """Return a gamma."""
    return standard_gamma(concentration) * scale


def log_gamma(concentration: Expression, number: Expression = NUMBER, name: str = "gamma") -> Expression:
    """Return the logarithm of a gamma of scale 1, of the block ``number``: it does not underflow."""
    small, value = _large_gamma(concentration, number, name)
    logarithm = natural_log(value)
    rest = natural_log(inside(block_at(number, 0)[0])) / concentration
    return larger(when(small, logarithm + rest, logarithm), like(LEAST_LOG, logarithm))


def _large_gamma(concentration: Expression, number: Expression, name: str) -> tuple[Expression, Expression]:
    """Return whether a concentration is below 1, and a gamma of it, of one more if it is."""
    small = concentration < 1
    shifted = concentration + select(small, 1.0, 0.0) - 1 / 3
    spread = 1 / primitive("sqrt", 9 * shifted)
    lane = carried(f"{name}_lane")
    first, turn, deciding, _ = block_at(number, lane)
    radius = primitive("sqrt", -2 * natural_log(up_to_one(first)))
    normal = radius * primitive("cos", from_zero(turn) * (2 * math.pi))
    t = larger(spread * normal, like(-1.0, spread))
    root = 1 + t
    bound = 0.5 * normal * normal + shifted * (3 * primitive("log1p", t) - t * (3 + t * (3 + t)))
    accepted = natural_log(inside(deciding)) < bound
    start = {"tried": like(0.0, shifted), "done": constant(False, "bool"), "lane": constant(1, "uint64")}
    step = {"tried": shifted * (root * root * root), "done": accepted, "lane": lane + 1}
    found = loop(
        {f"{name}_{part}": expression for part, expression in start.items()},
        ~carried(f"{name}_done"),
        {f"{name}_{part}": expression for part, expression in step.items()},
        ATTEMPTS,
    )
    return small, found[f"{name}_tried"]


def lognormal(normal: Expression) -> Expression:
    """Return the exponential of a normal."""
    return primitive("exp", normal)


def laplace(unit: Expression, loc: Expression, scale: Expression) -> Expression:
    """Return a Laplace number of one in (0, 1), by its inverse: each half from the middle."""
    centred = unit - 0.5
    far = -primitive("log1p", -2 * primitive("absolute", centred))
    return select(centred < 0, -far, far) * scale + loc


def gumbel(unit: Expression, loc: Expression, scale: Expression) -> Expression:
    """Return a Gumbel number of one in (0, 1), by its inverse."""
    return loc - natural_log(-natural_log(unit)) * scale


def beta(a: Expression, b: Expression) -> Expression:
    """Return a beta number of two gammas, of the blocks 2 i and 2 i + 1 for element i, by their logarithms."""
    first, second = log_gamma(a, NUMBER * 2, "a"), log_gamma(b, NUMBER * 2 + 1, "b")
    return 1 / (primitive("exp", second - first) + 1)


def truncated_normal(loc: Expression, scale: Expression, low: Expression, high: Expression) -> Expression:
    """Return a normal between two ends, by rejection: from normals, from an exponential, or from a uniform."""
    left, right = (low - loc) / scale, (high - loc) / scale
    mirrored = right < 0
    a, b = select(mirrored, -right, left), select(mirrored, -left, right)
    nearest = larger(a, like(0.0, a))
    rate = select(nearest > 1e8, nearest, (nearest + primitive("sqrt", nearest * nearest + 4)) / 2)
    width = b - a
    normals, exponentials = (a <= 0) & (width > 2.5), (a > 0) & (width * rate > 1)
    lane = carried("lane")
    first, turn, deciding, _ = block_at(NUMBER, lane)
    unit = inside(first)
    logarithm = natural_log(unit)
    normal = primitive("sqrt", -2 * logarithm) * primitive("cos", from_zero(turn) * (2 * math.pi))
    z = select(normals, normal, select(exponentials, a - logarithm / rate, a + width * unit))
    by_rate, by_density = -0.5 * (z - rate) * (z - rate), -0.5 * (z - nearest) * (z + nearest)
    bound = select(normals, like(0.0, z), select(exponentials, by_rate, by_density))
    below = natural_log(inside(deciding)) < bound
    start = {"tried": like(0.0, loc), "done": constant(False, "bool"), "lane": constant(0, "uint64")}
    step = {"tried": z, "done": below & (z >= a) & (z <= b), "lane": lane + 1}
    found = loop(start, ~carried("done"), step, ATTEMPTS)["tried"]
    value = select(mirrored, -found, found) * scale + loc
    return select(value < low, low, select(value > high, high, value))


class Draw(NamedTuple):
    """A distribution as a block for backends that write code of their own.

    Attributes
    ----------
    block : Block
        Over what random numbers are made of, and then the parameters of each element that it gives, one element after the other.
    elements : int
        Number of elements that it gives: those from ``elements * number`` on.
    words : str or None
        Dtype of the words, where each element is made of one: the block begins with them.  None where the block makes words
        itself, of the four words of the state and the number of a Philox block or element (all uint64).
    """

    block: Block
    elements: int
    words: str | None

    @property
    def given(self) -> int:
        """Number of arguments before the parameters."""
        return FIRST_PARAMETER if self.words is None else self.elements


Whole = Callable[..., Expression]


def _parameters(first: int, count: int, elements: int) -> list[list[Expression]]:
    return [[argument(first + k * count + p) for p in range(count)] for k in range(elements)]


def _of_word(unit: Whole, transform: Whole, count: int) -> list[Expression]:
    return [transform(unit(argument(0)), *_parameters(1, count, 1)[0])]


def _normals(far: Whole, near: Whole, transform: Whole | None = None) -> list[Expression]:
    pair = normal_pair(far(argument(0)), near(argument(1)))
    numbers = [z * scale + loc for z, (loc, scale) in zip(pair, _parameters(2, 2, 2), strict=True)]
    return [transform(number) for number in numbers] if transform is not None else numbers


def _of_element(transform: Whole, count: int) -> list[Expression]:
    return [transform(*_parameters(FIRST_PARAMETER, count, 1)[0])]


def _integers() -> list[Expression]:
    words = block_at(NUMBER, 0)
    given = enumerate(zip(words, _parameters(FIRST_PARAMETER, 2, len(words)), strict=True))
    return [below(word, NUMBER, place, high - low) + low for place, (word, (low, high)) in given]


@cache
def draw_block(name: str, dtype: str = "float64") -> Draw | None:
    """Return a distribution for code of one's own, None for those that read arrays of weights or sort.

    Integers come as uint64 (modulo 2**64), counts as float64, bernoulli as truth values: the cast to the dtype that is wanted is
    left to do.  Parameters are float64, of float32 uniforms, normals, lognormals and exponentials float32, of integers uint64.  A
    state moves by the blocks read, and parameters are checked before.

    Examples
    --------
    >>> draw_block("normal", "float32").elements, draw_block("choice")
    (2, None)
    """
    single = dtype == "float32"
    far, near = (up_to_one_single, from_zero_single) if single else (up_to_one, from_zero)
    word = "uint32" if single else "uint64"
    rows: dict[str, tuple[Callable[[], Sequence[Expression]], int, str, str | None]] = {
        "unit": (lambda: [from_zero(argument(0))], 0, "float64", "uint64"),  # categories are picked by it
        "uniform": (partial(_of_word, near, uniform, 2), 2, dtype, word),
        "normal": (partial(_normals, far, near), 2, dtype, word),
        "exponential": (partial(_of_word, far, exponential, 1), 1, dtype, word),
        "bernoulli": (partial(_of_word, from_zero, bernoulli, 1), 1, "float64", "uint64"),
        "integers": (_integers, 2, "uint64", None),
        "lognormal": (partial(_normals, far, near, lognormal), 2, dtype, word),
        "laplace": (partial(_of_word, inside, laplace, 2), 2, "float64", "uint64"),
        "gumbel": (partial(_of_word, inside, gumbel, 2), 2, "float64", "uint64"),
        "beta": (partial(_of_element, beta, 2), 2, "float64", None),
        "truncated_normal": (partial(_of_element, truncated_normal, 4), 4, "float64", None),
        "gamma": (partial(_of_element, gamma, 2), 2, "float64", None),
        "log_gamma": (partial(_of_element, log_gamma, 1), 1, "float64", None),  # dirichlet is made of it
        "poisson": (partial(_of_element, poisson, 1), 1, "float64", None),
        "binomial": (partial(_of_element, binomial, 2), 2, "float64", None),
    }
    if name not in rows:
        return None
    results, count, kind, words = rows[name]
    made = results()
    before = ("uint64",) * FIRST_PARAMETER if words is None else (words,) * len(made)
    return Draw(typed(made, [*before, *(kind,) * (count * len(made))]), len(made), words)


def numbers_by_formula(name: str, state: Words, parameters: Sequence[Array]) -> Doubles:
    """Return the numbers of a distribution that NumPy has no faster way to draw, by its formula on arrays.

    ``parameters`` are vectors of one element a number.  Pieces of them are computed one after another, so that they fit the cache.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> numbers_by_formula("poisson", seed_state(3), [np.full(4, 2.0)])
    array([3., 4., 3., 1.])
    """
    draw, formula = _on_arrays(name)
    count = len(parameters[0])
    found = np.empty(count)
    for first in range(0, count, SHORT):
        piece = slice(first, min(count, first + SHORT))
        if draw.words is None:
            given = [*state, np.arange(piece.start, piece.stop, dtype=np.uint64)]
        else:
            given = [draw_words(advance(state, first // 4), piece.stop - first)]
        with np.errstate(all="ignore"):
            (found[piece],) = formula(*given, *(parameter[piece] for parameter in parameters))
    return found


@cache
def _on_arrays(name: str) -> tuple[Draw, Callable[..., tuple[Any, ...]]]:
    draw = draw_block(name)
    assert draw is not None
    return draw, compiled(draw.block, replace(NUMPY, intrinsics={BLOCK_AT.name: _blocks}))


def _blocks(key0: Any, key1: Any, low: Any, high: Any, offsets: Array, lane: Any) -> tuple[Any, ...]:
    """Return the words of blocks, as the formula of the generator does, in a lane that is the same for all."""
    index = int(low) | int(high) << 64
    return tuple(scattered_blocks((int(key0), int(key1)), index, offsets.astype(np.int64), int(lane)).T)
