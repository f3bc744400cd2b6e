"""Divide the typical step of a loop into its parts, which sum to it exactly, without the cost of stamps.

- The *typical step* is the median plain step, from blocks of steps that run without stamps.  If stamps are cheap for such steps, or
  there are no plain blocks, it is the median step with one stamp, less the calibrated cost of that stamp.
- A *stamp among operations* costs the share of what the parts take together beyond the typical step, and no more than the smallest
  part that contains one.  Fused operations contain one stamp together, in proportion to their times.
- A *part* is the median of its times less its stamps.  Inner loops take what their runs took in plain blocks, if these were timed.
  Parts below the clock's resolution are 0, unless they dominate the step.  The parts are scaled to sum to the typical step, in
  units of :data:`GRAIN`, which floating-point numbers add exactly.
- The part of *all steps* is a sum over the steps with timed operations, each weighted by the steps it represents, less the same
  stamps.  A negative part is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from scanviz.profiler.recording.operations import StepTally
from scanviz.record.statistics import FINE, Histogram

GRAIN = 2.0**-10  # nanoseconds: parts are multiples of it
PRECISE_NS = 100  # and so are shorter steps; longer ones are whole nanoseconds
FEWEST = 3  # steps with timed operations that a division needs
FEWEST_STEPS = 8  # steps with one stamp that a median needs
TICK = 0.5  # cost of the one stamp of a step, in stamps among operations: it is read in C
CHEAP = 0.01  # share of a step that its one stamp may cost to need no comparison with plain steps
LARGEST_PRICE = 4.0  # most that a stamp may cost, in calibrated stamps


class Division(Struct, frozen=True):
    """A typical step and its parts, in nanoseconds.

    Attributes
    ----------
    typical_ns : float
        The plain step.
    operations : tuple of float
        Its operations.
    copies, rest : float
        Storing rows; taking slices and loop overhead.
    spreads : tuple of float
        The interquartile range of each operation.
    tick_ns, stamp_ns : float
        The cost of the one stamp of a step, and of a stamp among operations.
    timed_ns : float
        The median step with timed operations, as measured.
    in_place : bool
        Whether the tick was measured in this loop.
    totals_ns : tuple of float
        Proportions of the operations, of storing rows and of the rest in all steps together.
    added_ns : float
        The cost of the stamps of a step with timed operations.
    """

    typical_ns: float
    operations: tuple[float, ...]
    copies: float
    rest: float
    spreads: tuple[float, ...]
    tick_ns: float
    stamp_ns: float
    timed_ns: float
    in_place: bool
    totals_ns: tuple[float, ...]
    added_ns: float


def divided(tally: StepTally, stamp_ns: float, inside: Sequence[float | None] = ()) -> Division | None:
    """Divide a loop's typical step; return None if too few steps were timed, or the clock is too coarse.

    Parameters
    ----------
    tally : StepTally
        Times of the steps.
    stamp_ns : float
        The calibrated cost of a stamp.
    inside : sequence of float or None
        For each operation with inner loops whose runs were timed in plain blocks, their time in a plain step.
    """
    if tally.parts.count < FEWEST:
        return None
    *raw, timed = (tally.median(row) for row in range(len(tally.stamps) + 1))
    held = tally.stamps
    largest_price = min(time / count for time, count in zip(raw, held, strict=True) if count)
    seen, tick = _seen(tally.single, tally.fine_blocks, stamp_ns) or (
        timed,
        sum(held) * min(stamp_ns, largest_price),
    )
    typical, tick, in_place = _typical(tally.plain_ns(), seen, tick, any(inside))
    if typical <= 0:
        return None
    # recording inner loops takes time too: only the other parts show the cost of stamps
    others = [row for row in range(len(raw)) if row >= len(inside) or inside[row] is None]
    above = math.fsum(raw[row] for row in others) - max(0.0, typical - math.fsum(filter(None, inside)))
    price = min(max(0.0, above) / sum(held[row] for row in others), largest_price, LARGEST_PRICE * stamp_ns)
    added = [price * count for count in held]
    # a part without a stamp, such as a size known before the step, takes no time: a histogram's least time is not 0
    left = [time - more if count else 0.0 for time, more, count in zip(raw, added, held, strict=True)]
    weights = _weights(left, [tally.share(row) for row in range(len(left))])
    known = _with_known(weights, typical, inside)
    if known is not None:
        added = [time - share for time, share in zip(raw, known, strict=True)]
    *operations, copies, rest = known or apportioned(weights, typical)
    spreads = tuple(tally.quantile(row, 0.75) - tally.quantile(row, 0.25) for row in range(len(operations)))
    (*sums, _), steps = tally.totals.estimate()
    totals = tuple(max(0.0, ns - steps * more) for ns, more in zip(sums, added, strict=True))
    return Division(
        typical,
        tuple(operations),
        copies,
        rest,
        spreads,
        tick,
        price,
        timed,
        in_place,
        totals,
        math.fsum(added),
    )


def _seen(stepped: Histogram, fine_blocks: Histogram, stamp_ns: float) -> tuple[float, float] | None:
    """Return the median observed step and the calibrated cost of its stamp; None if only steps with timed operations were seen."""
    if stepped.count >= max(FEWEST_STEPS, fine_blocks.count):
        return stepped.median, TICK * stamp_ns
    return (fine_blocks.median / FINE, 0.0) if fine_blocks.count else None


def _typical(plain_ns: float | None, seen: float, tick: float, nested: bool) -> tuple[float, float, bool]:
    """Return the typical step, the cost of its stamp, and whether that was measured in the loop.

    Examples
    --------
    >>> _typical(940.0, 1000.0, 50.0, False), _typical(None, 1000.0, 50.0, False), _typical(24e3, 2e4, 50.0, False)
    ((940, 60.0, True), (950, 50.0, False), (19950, 50.0, False))
    """
    in_place = plain_ns is not None and (nested or not 0 < tick <= CHEAP * seen)
    if plain_ns is not None and in_place:
        whole, tick = plain_ns, max(0.0, seen - plain_ns)
    else:
        whole = seen - tick
    if whole <= 0:  # the difference of two disturbed times
        whole, tick = seen, 0.0
    grain = GRAIN if whole < PRECISE_NS else 1
    return round(whole / grain) * grain, tick, in_place


def _with_known(
    weights: Sequence[float], typical: float, inside: Sequence[float | None]
) -> tuple[float, ...] | None:
    """Return the parts of a typical step given the times of inner loops; None if there are none.

    Recording inner loops leaves cold caches, in which the other operations take longer: these share what the loops leave, in
    proportion to their times.  If the loops leave nothing, all parts are in proportion.

    Examples
    --------
    >>> _with_known([100.0, 9000.0, 300.0], 1000.0, [None, 800.0])
    (50.0, 800.0, 150.0)
    >>> _with_known([100.0, 9000.0, 300.0], 600.0, [None, 800.0])
    (50.0, 400.0, 150.0)
    """
    fixed = {row: round(time / GRAIN) * GRAIN for row, time in enumerate(inside) if time is not None}
    if not fixed:
        return None
    rest = typical - math.fsum(fixed.values())
    if rest <= 0:
        return apportioned([fixed.get(row, weight) for row, weight in enumerate(weights)], typical)
    others = apportioned([0.0 if row in fixed else weight for row, weight in enumerate(weights)], rest)
    return tuple(fixed.get(row, share) for row, share in enumerate(others))


def _weights(times: Sequence[float], units: Sequence[float]) -> list[float]:
    """Return the weights of the parts: their times, and 0 for parts below the clock's unit.

    If such parts dominate the step, as in a step of very many operations below a nanosecond, they keep their times: the remaining
    parts would otherwise get the time of the whole step.

    Examples
    --------
    >>> _weights([40.0, 0.5, 3.0], [1.0, 1.0, 1.0])
    [40.0, 0.0, 3.0]
    >>> _weights([0.5, 0.4, 0.5, -0.1, 0.6, 1.1], [1.0] * 6)
    [0.5, 0.4, 0.5, 0.0, 0.6, 1.1]
    """
    resolved = [time if time > unit else 0.0 for time, unit in zip(times, units, strict=True)]
    every = [max(0.0, time) for time in times]
    return resolved if 2 * math.fsum(resolved) >= math.fsum(every) else every


def apportioned(weights: Sequence[float], whole: float) -> tuple[float, ...]:
    """Return numbers in proportion to weights that sum to ``whole`` exactly, in any order: multiples of :data:`GRAIN`.

    Without any weight the last has it all.

    Examples
    --------
    >>> apportioned([1.0, 2.0, 0.0], 10)
    (3.3330078125, 6.6669921875, 0.0)
    >>> apportioned([0.0, 0.0], 7)
    (0.0, 7.0)
    """
    grains, total = round(whole / GRAIN), math.fsum(weights)
    if total <= 0:
        return (*([0.0] * (len(weights) - 1)), float(whole))
    shares = [math.floor(grains * (weight / total)) for weight in weights]
    most = max(range(len(weights)), key=weights.__getitem__)
    shares[most] += grains - sum(shares)
    return tuple(share * GRAIN for share in shares)
