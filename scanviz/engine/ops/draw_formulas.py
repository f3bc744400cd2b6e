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
from typing import NamedTuple

from scanviz.engine.ops.distributions import LEAST_LOG
from scanviz.engine.ops.formulas import larger
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.expression import (
    Expression,
    ScalarFunction,
    argument,
    carried,
    cast,
    constant,
    like,
    loop,
    primitive,
    select,
    table,
    when,
)

_WEYL = (0x9E3779B9, 0xBB67AE85)
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
ATTEMPTS = 2**32 - 1
INVERSION_BELOW, INVERSION_STEPS = 10.0, 128


def _philox() -> tuple[Expression, ...]:
    """Return the four words of a block, of two key words and four counter words."""
    key, words = [argument(0), argument(1)], [argument(k) for k in range(2, 6)]
    for turn in range(10):
        keys = [key[k] + constant(turn * _WEYL[k] & 0xFFFFFFFF, "uint32") for k in (0, 1)]
        high = [primitive("multiply_high", words[2 * k], _MULTIPLIERS[k]) for k in (0, 1)]
        low = [words[2 * k] * _MULTIPLIERS[k] for k in (0, 1)]
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
    return tuple(words)


PHILOX = ScalarFunction("philox", ("uint32",) * 6, _philox())


def _wide(low: Expression, high: Expression) -> Expression:
    return cast(low, "uint64") | cast(high, "uint64") << 32


def _block_at() -> tuple[Expression, ...]:
    """Return the block that lies an offset after a state's counter, in a lane: four words, and the two pairs of them."""
    key, counter = [argument(0), argument(1)], [argument(k) for k in range(2, 6)]
    offset, lane = argument(6), argument(7)
    low = _wide(counter[0], counter[1])
    there = low + offset
    high = _wide(counter[2], counter[3]) + cast(there < low, "uint64") + (cast(lane, "uint64") << 32)
    words = PHILOX(
        *key, *(cast(expression, "uint32") for expression in (there, there >> 32, high, high >> 32))
    )
    return (*words, _wide(words[0], words[1]), _wide(words[2], words[3]))


BLOCK_AT = ScalarFunction("philox_at", (*("uint32",) * 6, "uint64", "uint32"), _block_at())
STATE = tuple(argument(k) for k in range(6))
NUMBER = argument(6)


def block_at(number: Expression, lane: Expression | int) -> tuple[Expression, ...]:
    """Return words 0 to 3, and pairs 0 and 1, of an element's block in a lane."""
    return BLOCK_AT(*STATE, number, constant(lane, "uint32") if isinstance(lane, int) else lane)


def from_zero(word: Expression) -> Expression:
    """Return float64 in [0, 1) of a 64-bit word."""
    return cast(word >> 11, "float64") * 2.0**-53


def from_zero_single(word: Expression) -> Expression:
    """Return float32 in [0, 1) of a 32-bit word."""
    return cast(word >> 8, "float32") * 2.0**-24


def up_to_one(word: Expression) -> Expression:
    """Return float64 in (0, 1] of a 64-bit word."""
    return 1.0 - from_zero(word)


def up_to_one_single(word: Expression) -> Expression:
    """Return float32 in (0, 1] of a 32-bit word."""
    return cast(word, "float32") * 2.0**-32 + 2.0**-33


def inside(word: Expression) -> Expression:
    """Return float64 in (0, 1) of a 64-bit word, both ends left out."""
    return (cast(word >> 12, "float64") + 0.5) * 2.0**-52


def _log(value: Expression) -> Expression:
    return primitive("log", value)


def uniform(unit: Expression, low: Expression, high: Expression) -> Expression:
    """Return a number between two ends."""
    return (high - low) * unit + low


def normal_pair(unit: Expression, turn: Expression) -> tuple[Expression, Expression]:
    """Return two standard normals of a number in (0, 1] and one in [0, 1), by Box and Muller."""
    radius = primitive("sqrt", -2 * _log(unit))
    angle = turn * (2 * math.pi)
    return radius * primitive("cos", angle), radius * primitive("sin", angle)


def exponential(unit: Expression, scale: Expression) -> Expression:
    """Return an exponential of a number in (0, 1]."""
    return -_log(unit) * scale


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
    logarithm = _log(value)
    rest = _log(inside(block_at(number, 0)[4])) / concentration
    return larger(when(small, logarithm + rest, logarithm), like(LEAST_LOG, logarithm))


def _large_gamma(concentration: Expression, number: Expression, name: str) -> tuple[Expression, Expression]:
    """Return whether a concentration is below 1, and a gamma of it, of one more if it is."""
    small = concentration < 1
    shifted = concentration + select(small, 1.0, 0.0) - 1 / 3
    spread = 1 / primitive("sqrt", 9 * shifted)
    lane = carried(f"{name}_lane")
    _, _, turn, deciding, pair, _ = block_at(number, lane)
    radius = primitive("sqrt", -2 * _log(up_to_one(pair)))
    normal = radius * primitive("cos", cast(turn, "float64") * (2 * math.pi * 2.0**-32))
    t = larger(spread * normal, like(-1.0, spread))
    root = 1 + t
    bound = 0.5 * normal * normal + shifted * (3 * primitive("log1p", t) - t * (3 + t * (3 + t)))
    accepted = _log((cast(deciding, "float64") + 0.5) * 2.0**-32) < bound
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
    return loc - _log(-_log(unit)) * scale


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
    logarithm = _log(unit)
    normal = primitive("sqrt", -2 * logarithm) * primitive(
        "cos", cast(turn, "float64") * (2 * math.pi * 2.0**-32)
    )
    z = select(normals, normal, select(exponentials, a - logarithm / rate, a + width * unit))
    by_rate, by_density = -0.5 * (z - rate) * (z - rate), -0.5 * (z - nearest) * (z + nearest)
    bound = select(normals, like(0.0, z), select(exponentials, by_rate, by_density))
    below = _log((cast(deciding, "float64") + 0.5) * 2.0**-32) < bound
    start = {"tried": like(0.0, loc), "done": constant(False, "bool"), "lane": constant(0, "uint32")}
    step = {"tried": z, "done": below & (z >= a) & (z <= b), "lane": lane + 1}
    found = loop(start, ~carried("done"), step, ATTEMPTS)["tried"]
    value = select(mirrored, -found, found) * scale + loc
    return select(value < low, low, select(value > high, high, value))


def _inverted(
    unit: Expression, none: Expression, ratio: Callable[[Expression], Expression], name: str
) -> Expression:
    """Return the first count whose running sum of probabilities exceeds a number; ``ratio(k)`` is P(k) / P(k - 1)."""
    value, chance, total, k, going = (carried(f"{name}_{part}") for part in ("value", "p", "sum", "k", "on"))
    factor = ratio(k + 1)
    on = factor > 0  # past the last possible count, where only rounding of the sum can lead
    start = {"value": like(0.0, none), "p": none, "sum": none, "k": like(0.0, none), "on": unit >= none}
    step = {
        "value": select(on, k + 1, value),
        "p": chance * factor,
        "sum": total + chance * factor,
        "k": k + 1,
        "on": on & (unit >= total + chance * factor),
    }
    found = loop(
        {f"{name}_{part}": expression for part, expression in start.items()},
        going,
        {f"{name}_{part}": expression for part, expression in step.items()},
        INVERSION_STEPS,
    )
    return found[f"{name}_value"]


class _Hat(NamedTuple):
    """Hörmann's hat over the probabilities of counts, in his notation but for the names."""

    a: Expression
    b: Expression
    centre: Expression
    squeeze: Expression
    scale: Expression
    limit: Expression


def _rejected(hat: _Hat, log_probability: Callable[[Expression], Expression], name: str) -> Expression:
    """Return an accepted count: most pairs are accepted by ``squeeze`` alone, the others by their probability."""
    lane = carried(f"{name}_lane")
    _, _, _, _, first, second = block_at(NUMBER, lane)
    u, v = inside(first) - 0.5, inside(second)
    edge = 0.5 - primitive("absolute", u)
    k = primitive("floor", (2 * hat.a / edge + hat.b) * u + hat.centre)
    quick = (edge >= 0.07) & (v <= hat.squeeze)
    tested = ~quick & (k >= 0) & (k <= hat.limit)
    bound = _log(v * hat.scale / (hat.a / (edge * edge) + hat.b))
    accepted = when(tested, bound <= log_probability(k), quick)
    found = loop(
        {
            f"{name}_count": like(0.0, hat.a),
            f"{name}_done": constant(False, "bool"),
            f"{name}_lane": constant(0, "uint32"),
        },
        ~carried(f"{name}_done"),
        {f"{name}_count": k, f"{name}_done": accepted, f"{name}_lane": lane + 1},
        ATTEMPTS,
    )
    return found[f"{name}_count"]


_SMALL_RESTS = (0.0, *(math.lgamma(k + 1) - k * math.log(k) + k for k in range(1, 16)))


def _log_factorial_rest(k: Expression) -> Expression:
    """Return ``log(k!) - k log(k) + k``: Stirling's series from 16 on, a table below."""
    series = larger(k, like(16.0, k))
    square = 1 / (series * series)
    correction = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / series
    small = table(cast(select(k <= 15.0, k, 15.0), "int64"), _SMALL_RESTS, "float64")
    return select(k < 16, small, 0.5 * _log(2 * math.pi * series) + correction)


def _deviance(k: Expression, mean: Expression) -> Expression:
    """Return ``k log(k / mean) + mean - k`` without cancellation near ``k = mean``."""
    positive = select(k > 0, (k - mean) / mean, 0.0)
    logarithm = primitive("log1p", positive)
    return select(k > 0, mean * ((1 + positive) * logarithm - positive), mean)


def poisson(mean: Expression) -> Expression:
    """Return a Poisson count, a float64: by inversion where few are expected, else by rejection."""
    few = mean < INVERSION_BELOW
    unit = from_zero(block_at(NUMBER, 0)[4])
    counted = _inverted(unit, primitive("exp", -mean), lambda k: mean / k, "few")
    value = when(few, counted, like(0.0, mean))
    root = primitive("sqrt", mean)
    b = 0.931 + 2.53 * root
    hat = _Hat(
        -0.059 + 0.02483 * b,
        b,
        mean + 0.43,
        0.9277 - 3.6224 / (b - 2),
        1.1239 + 1.1328 / (b - 3.4),
        like(math.inf, mean),
    )
    many = _rejected(hat, lambda k: -_deviance(k, mean) - _log_factorial_rest(k), "many")
    return when(~few, many, value)


def binomial(trials: Expression, chance: Expression) -> Expression:
    """Return a binomial count, a float64: by inversion where few are expected, else by rejection; of failures above a half."""
    flipped = chance > 0.5
    p = select(flipped, 1 - chance, chance)
    expected = trials * p
    few = expected < INVERSION_BELOW
    unit, odds = from_zero(block_at(NUMBER, 0)[4]), p / (1 - p)
    none = primitive("exp", trials * primitive("log1p", -p))
    counted = _inverted(unit, none, lambda k: odds * (trials - k + 1) / k, "few")
    value = when(few, counted, like(0.0, trials))
    found = when(~few, _rejected_binomial(trials, p), value)
    return select(flipped, trials - found, found)


def _rejected_binomial(n: Expression, p: Expression) -> Expression:
    spread = primitive("sqrt", n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    hat = _Hat(a, b, n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread, n)

    def log_probability(k: Expression) -> Expression:
        failures = n - k
        successes = _log_factorial_rest(k) + _deviance(k, n * p)
        return -successes - _log_factorial_rest(failures) - _deviance(failures, n * (1 - p))

    highest = log_probability(primitive("floor", (n + 1) * p))
    return _rejected(hat, lambda k: log_probability(k) - highest, "many")


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
