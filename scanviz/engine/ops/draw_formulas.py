"""Draws in the scalar language: from the words of Philox to numbers, rejection included.

Everything here is an expression over words, parameters and, where an attempt may fail, the generator's state and the element's
number.  NumPy's draws (:mod:`~scanviz.engine.ops.distributions` and its neighbours) evaluate these expressions on arrays of words
that were made at once; :func:`draw_block` puts the generator in front of them, for backends that write code of their own.  Sources
and conventions stand with the distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.ops.distributions import LEAST_LOG
from scanviz.engine.ops.draw_counts import binomial, poisson
from scanviz.engine.ops.draw_words import (
    ATTEMPTS,
    NUMBER,
    block_at,
    from_zero,
    from_zero_single,
    inside,
    natural_log,
    up_to_one,
    up_to_one_single,
)
from scanviz.engine.ops.formulas import larger
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.expression import (
    Expression,
    argument,
    carried,
    cast,
    constant,
    like,
    loop,
    primitive,
    select,
    when,
)


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


def below(word: Expression, number: Expression, half: Expression, span: Expression) -> Expression:
    """Return an integer in [0, span), by Lemire's multiplication: of a word, and of those in later lanes where it is unfair.

    ``number`` is the word's block and ``half`` whether it is the second word there.
    """
    product, rest = primitive("multiply_high", word, span), word * span
    unfair = primitive("remainder", 0 - span, span)  # 2**64 % span
    low, lane = carried("low"), carried("lane")
    _, _, _, _, first, second = block_at(number, lane)
    again = select(half, second, first)
    start = {"high": product, "low": rest, "lane": constant(1, "uint32")}
    step = {"high": primitive("multiply_high", again, span), "low": again * span, "lane": lane + 1}
    found = loop(start, low < unfair, step, ATTEMPTS)["high"]
    return when(rest < span, found, product)  # the remainder is slow and seldom needed


def standard_gamma(concentration: Expression) -> Expression:
    """Return a gamma of scale 1, by Marsaglia and Tsang."""
    small, value = _large_gamma(concentration, NUMBER, "gamma")
    power = primitive("power", inside(block_at(NUMBER, 0)[4]), 1 / concentration)
    return when(small, value * power, value)


def _gamma_log(concentration: Expression, number: Expression, name: str) -> Expression:
    """Return the logarithm of a gamma of scale 1, of the block ``number``."""
    small, value = _large_gamma(concentration, number, name)
    logarithm = natural_log(value)
    rest = natural_log(inside(block_at(number, 0)[4])) / concentration
    return larger(when(small, logarithm + rest, logarithm), like(LEAST_LOG, logarithm))


def _large_gamma(concentration: Expression, number: Expression, name: str) -> tuple[Expression, Expression]:
    """Return whether a concentration is below 1, and a gamma of it, of one more if it is."""
    small = concentration < 1
    shifted = concentration + select(small, 1.0, 0.0) - 1 / 3
    spread = 1 / primitive("sqrt", 9 * shifted)
    lane = carried(f"{name}_lane")
    _, _, turn, deciding, pair, _ = block_at(number, lane)
    radius = primitive("sqrt", -2 * natural_log(up_to_one(pair)))
    normal = radius * primitive("cos", cast(turn, "float64") * (2 * math.pi * 2.0**-32))
    t = larger(spread * normal, like(-1.0, spread))
    root = 1 + t
    bound = 0.5 * normal * normal + shifted * (3 * primitive("log1p", t) - t * (3 + t * (3 + t)))
    accepted = natural_log((cast(deciding, "float64") + 0.5) * 2.0**-32) < bound
    start = {"tried": like(0.0, shifted), "done": constant(False, "bool"), "lane": constant(1, "uint32")}
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
    first, second = _gamma_log(a, NUMBER * 2, "a"), _gamma_log(b, NUMBER * 2 + 1, "b")
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
    _, _, turn, deciding, pair, _ = block_at(NUMBER, lane)
    unit = inside(pair)
    logarithm = natural_log(unit)
    normal = primitive("sqrt", -2 * logarithm) * primitive(
        "cos", cast(turn, "float64") * (2 * math.pi * 2.0**-32)
    )
    z = select(normals, normal, select(exponentials, a - logarithm / rate, a + width * unit))
    by_rate, by_density = -0.5 * (z - rate) * (z - rate), -0.5 * (z - nearest) * (z + nearest)
    bound = select(normals, like(0.0, z), select(exponentials, by_rate, by_density))
    below = natural_log((cast(deciding, "float64") + 0.5) * 2.0**-32) < bound
    start = {"tried": like(0.0, loc), "done": constant(False, "bool"), "lane": constant(0, "uint32")}
    step = {"tried": z, "done": below & (z >= a) & (z <= b), "lane": lane + 1}
    found = loop(start, ~carried("done"), step, ATTEMPTS)["tried"]
    value = select(mirrored, -found, found) * scale + loc
    return select(value < low, low, select(value > high, high, value))


class Draw(NamedTuple):
    """A distribution as a block for backends that write code of their own.

    Attributes
    ----------
    block : Block
        Over the six words of the state, the number of a Philox block or element (uint64), and the parameters of each element
        that it gives, one element after the other.
    elements : int
        How many elements it gives: numbers ``elements * number`` and following.
    """

    block: Block
    elements: int


Whole = Callable[..., Expression]


def _words(single: bool) -> tuple[Expression, ...]:
    block = block_at(NUMBER, 0)
    return block[:4] if single else block[4:]


def _parameters(count: int, elements: int) -> list[list[Expression]]:
    return [[argument(7 + k * count + p) for p in range(count)] for k in range(elements)]


def _of_words(unit: Whole, transform: Whole, count: int, single: bool) -> list[Expression]:
    words = _words(single)
    return [
        transform(unit(word), *given)
        for word, given in zip(words, _parameters(count, len(words)), strict=True)
    ]


def _normals(single: bool, transform: Whole | None = None) -> list[Expression]:
    words = _words(single)
    far, near = (up_to_one_single, from_zero_single) if single else (up_to_one, from_zero)
    found: list[Expression] = []
    for first, second in zip(words[::2], words[1::2], strict=True):
        found += normal_pair(far(first), near(second))
    numbers = [z * scale + loc for z, (loc, scale) in zip(found, _parameters(2, len(found)), strict=True)]
    return [transform(number) for number in numbers] if transform is not None else numbers


def _integers() -> list[Expression]:
    halves = zip(_words(False), (False, True), _parameters(2, 2), strict=True)
    return [
        below(word, NUMBER, constant(second, "bool"), high - low) + low
        for word, second, (low, high) in halves
    ]


@cache
def draw_block(name: str, dtype: str = "float64") -> Draw | None:
    """Return a distribution for code of one's own, None for those that read arrays of weights or sort.

    Integers come as uint64 (modulo 2**64), counts as float64, bernoulli as truth values: the cast to the dtype that is wanted is
    left to do.  Parameters are float64, of float32 uniforms, normals, lognormals and exponentials float32, of integers uint64.  A
    state moves by the blocks read, and parameters are checked before.

    Examples
    --------
    >>> draw_block("normal", "float32").elements, draw_block("choice")
    (4, None)
    """
    single = dtype == "float32"
    far, near = (up_to_one_single, from_zero_single) if single else (up_to_one, from_zero)
    rows: dict[str, tuple[Callable[[], Sequence[Expression]], int, str]] = {
        "unit": (
            lambda: [from_zero(word) for word in _words(False)],
            0,
            "float64",
        ),  # categories are picked by it
        "uniform": (partial(_of_words, near, uniform, 2, single), 2, dtype),
        "normal": (partial(_normals, single), 2, dtype),
        "exponential": (partial(_of_words, far, exponential, 1, single), 1, dtype),
        "bernoulli": (partial(_of_words, from_zero, bernoulli, 1, False), 1, "float64"),
        "integers": (_integers, 2, "uint64"),
        "lognormal": (partial(_normals, single, lognormal), 2, dtype),
        "laplace": (partial(_of_words, inside, laplace, 2, False), 2, "float64"),
        "gumbel": (partial(_of_words, inside, gumbel, 2, False), 2, "float64"),
        "beta": (lambda: [beta(argument(7), argument(8))], 2, "float64"),
        "truncated_normal": (lambda: [truncated_normal(*map(argument, range(7, 11)))], 4, "float64"),
        "gamma": (lambda: [standard_gamma(argument(7)) * argument(8)], 2, "float64"),
        "poisson": (lambda: [poisson(argument(7))], 1, "float64"),
        "binomial": (lambda: [binomial(argument(7), argument(8))], 2, "float64"),
    }
    if name not in rows:
        return None
    results, count, kind = rows[name]
    made = results()
    arguments = [*("uint32",) * 6, "uint64", *(kind,) * (count * len(made))]
    return Draw(typed(made, arguments), len(made))
