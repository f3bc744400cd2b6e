"""The typical step of a loop and its parts, which sum to it exactly, with what stamps cost taken off.

What a stamp costs is found in the loop itself.  Three kinds of steps are compared: *plain* ones, those with one stamp, and
those with one an operation.

- The *tick*, the one stamp of a step, costs what neighbouring blocks with and without it differ by (the median over pairs).  Where
  that is too uncertain it is taken from the calibration at start-up.
- The *typical step* is the median of the steps with one stamp less the tick: what a plain step takes.  Where there are loops inside
  it is the median over plain blocks, for recording the loops inside can take longer than they do: the tick holds it.  So it is of
  steps of few nanoseconds, several of which share a stamp, where plain blocks are so long that entering them is little.
  Where the usual code itself is timed by blocks, as strips are, it is the median over these, and there is no tick.
- The stamps of a step whose n operations are timed cost what the medians of its parts come to above that, a share of n + 2 each,
  and no more than the smallest part, which holds one; operations that are done as one hold one together, shared out as their time
  is; where there are loops inside, what stamps do not explain is what recording
  them costs, unless that were more than they took.  Where runs of these were timed in plain blocks, that is what they take, and
  the other parts have what they leave.
- A part is the median of its times less its stamp.  Parts smaller than their error are *below resolution* and reported as 0, unless
  they dominate the step.
  The others are scaled to sum to the typical step, in units of :data:`GRAIN`, which floating-point numbers add exactly.
- What a part takes of *all steps* is a sum over the steps whose operations were timed, each as often as it stands for others, less
  the same stamps and recording.  A part that would be negative is 0.

Medians of parts need not sum to the median of the whole; scaling shares the difference out.  Averages do sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from scanviz.profiler.recording.operations import StepTally
from scanviz.record.statistics import FINE, Histogram, median_of

GRAIN = 2.0**-10  # nanoseconds: parts are multiples of it
PRECISE_NS = 100  # and so are shorter steps; longer ones are whole nanoseconds
FEWEST = 3  # steps with timed operations that a division needs
FEWEST_STEPS = 8  # steps with one stamp, for their median to be a usual one
FEWEST_PAIRS = 3
FEWEST_PLAIN = 2  # plain blocks of a loop with loops inside
TICK = 0.5  # of a stamp among operations, what the one of a step costs about: it is read in C
ERROR = 0.02  # of a step, that the price of its stamp may be off by
DEAREST = 4.0  # times the calibrated price that a stamp may be found to cost


class Division(Struct, frozen=True):
    """A typical step and its parts, in nanoseconds.

    Attributes
    ----------
    typical_ns : float
        What a plain step takes.
    operations : tuple of float
        Its operations.
    copies, rest : float
        Storing rows, and taking slices and going round the loop.
    spreads : tuple of float
        The range of the middle half of each operation's times.
    tick_ns, stamp_ns : float
        What the one stamp of a step cost, and one of those among operations.
    timed_ns : float
        The median step whose operations were timed, as it was.
    timing_ns : float
        What timing its operations made such a step longer: stamps, and that one thread took it where several take others.
    in_place : bool
        Whether the tick is of this loop, not of the calibration.
    totals_ns : tuple of float
        Of the operations, of storing rows and of the rest, what they are of all steps together: in proportion to one another.
    added_ns : float
        What stamps and recording took of a step whose operations were timed.
    """

    typical_ns: float
    operations: tuple[float, ...]
    copies: float
    rest: float
    spreads: tuple[float, ...]
    tick_ns: float
    stamp_ns: float
    timed_ns: float
    timing_ns: float
    in_place: bool
    totals_ns: tuple[float, ...] = ()
    added_ns: float = 0.0


def tick_cost(pairs: Sequence[float], stamp_ns: float, step_ns: float = 0.0) -> tuple[float, bool]:
    """Return what the one stamp of a step costs, and whether that was seen in the loop.

    Parameters
    ----------
    pairs : sequence of float
        How much longer a step with one stamp took than a plain one.
    stamp_ns : float
        The calibrated price of a stamp among operations.
    step_ns : float
        The median of the steps with one stamp: an error that is a small part of it does no harm, and code without stamps may be
        another one, of which the stamp costs more than reading a clock.

    Examples
    --------
    >>> tick_cost([54.0, 60.0, 55.0, 57.0, 900.0], 110.0)
    (57.0, True)
    >>> tick_cost([-300.0, 200.0, 1000.0], 110.0)
    (55.0, False)
    >>> tick_cost([40.0, 44.0, 37.0], 8.0, 250.0)
    (40.0, True)
    """
    expected = TICK * stamp_ns
    if len(pairs) < FEWEST_PAIRS:
        return expected, False
    found = float(median_of(pairs))
    error = 1.86 * float(median_of(np.abs(np.array(pairs) - found))) / math.sqrt(len(pairs))
    if error > max(expected / 2, ERROR * step_ns):
        return expected, False
    return min(max(found, 0.0), max(DEAREST * expected, step_ns / 2)), True


def _typical(
    tally: StepTally, stepped: Histogram, fine_blocks: Histogram, stamp_ns: float, nested: Sequence[bool]
) -> tuple[float, float, bool]:
    """Return the typical step, the tick, and whether these are of the loop itself."""
    tick, in_place = tick_cost(tally.pairs, stamp_ns, stepped.median if stepped.count else 0.0)
    blocks_ns = fine_blocks.median / FINE
    if tally.is_plain:
        whole, tick, in_place = tally.plain_ns(), 0.0, True
    elif fine_blocks.count > stepped.count and (found := tally.long_plain_ns()) is not None:
        whole, in_place = found, True
        tick = max(0.0, blocks_ns - whole)
    elif any(nested) and len(tally.plain) >= FEWEST_PLAIN:
        whole, in_place = tally.plain_ns(), True
        tick = max(0.0, stepped.median - whole)
    elif stepped.count >= max(FEWEST_STEPS, fine_blocks.count):
        whole = stepped.median - tick
    elif fine_blocks.count:
        whole, tick = blocks_ns, 0.0
    else:
        *raw, timed = (tally.median(row) for row in range(len(nested) + 3))
        held = _held(tally, nested)
        whole, in_place = timed - sum(held) * min(stamp_ns, _smallest(raw, held)), False
    if whole <= 0:  # a difference of two disturbed times is meaningless
        whole, tick, in_place = stepped.median if stepped.count else blocks_ns, 0.0, False
    grain = GRAIN if whole < PRECISE_NS else 1
    return round(whole / grain) * grain, tick, in_place


def divided(
    tally: StepTally,
    stepped: Histogram,
    fine_blocks: Histogram,
    stamp_ns: float,
    nested: Sequence[bool],
    inside: Sequence[float | None] = (),
) -> Division | None:
    """Return the division of a loop's typical step; None where too few steps were timed, or the clock is too coarse.

    Parameters
    ----------
    tally : StepTally
        Times of parts.
    stepped, fine_blocks : Histogram
        Times of steps with one stamp; and of steps of blocks without any, in picoseconds.
    stamp_ns : float
        The calibrated price of a stamp.
    nested : sequence of bool
        Of each operation, whether loops are inside.
    inside : sequence of float or None
        Of each operation, what it takes in a plain step where that is known: of loops whose runs were timed there.
    """
    if tally.steps < FEWEST:
        return None
    held = _held(tally, nested)
    stamps, timed = sum(held), tally.median(len(nested) + 2)
    typical, tick, in_place = _typical(tally, stepped, fine_blocks, stamp_ns, nested)
    if typical <= 0:
        return None
    raw = [tally.median(row) for row in range(len(nested) + 2)]
    above = max(0.0, math.fsum(raw) - typical)
    inner = sum(time for time, is_nested in zip(raw, nested, strict=False) if is_nested)
    price, recording = _prices(raw, above, stamp_ns, sum(nested), inner, held)
    holds = [*nested, False, False]
    added = [
        price * held[row] + (recording * time / inner if holds[row] else 0.0) for row, time in enumerate(raw)
    ]
    # what holds no stamp, as a size that is known before the step, is not done in it: a histogram's least time is no time of its
    left = [time - more if stamp else 0.0 for time, more, stamp in zip(raw, added, held, strict=True)]
    weights = _weights(left, [_error(tally, row) for row in range(len(left))])
    known = _with_known(weights, typical, nested, inside)
    if known is not None:
        added = [time - share for time, share in zip(raw, known, strict=True)]
    *operations, copies, rest = known or apportioned(weights, typical)
    spreads = tuple(tally.quantile(row, 0.75) - tally.quantile(row, 0.25) for row in range(len(nested)))
    (*sums, _), steps = tally.totals.estimate()
    totals = tuple(max(0.0, ns - steps * more) for ns, more in zip(sums, added, strict=True))
    timing = stamps * price if any(nested) else max(stamps * price, timed - typical)
    return Division(
        typical,
        tuple(operations),
        copies,
        rest,
        spreads,
        tick,
        price,
        timed,
        timing,
        in_place,
        totals,
        math.fsum(added),
    )


def _prices(
    raw: Sequence[float], above: float, stamp_ns: float, loops: int, inner: float, holds: Sequence[float] = ()
) -> tuple[float, float]:
    """Return what a stamp cost, and what recording the loops inside did, of what parts come to above the typical step.

    Recording a loop can be no more than that loop took: where it would be, stamps are dearer than was measured.

    Examples
    --------
    >>> _prices([40.0, 30.0, 20.0, 20.0], 60.0, 10.0, 0, 0.0)
    (15.0, 0.0)
    >>> _prices([40.0, 900.0, 20.0, 20.0], 640.0, 10.0, 1, 900.0)
    (10.0, 600.0)
    >>> _prices([40.0, 90.0, 20.0, 20.0], 125.0, 5.0, 1, 90.0)
    (20.0, 45.0)
    >>> _prices([4.0, 36.0, 20.0, 20.0], 60.0, 10.0, 0, 0.0, holds=[0.1, 0.9, 1.0, 1.0])
    (20.0, 0.0)
    """
    holds = holds or [1.0] * len(raw)
    stamps = sum(holds)
    dearest = min(above / stamps, _smallest(raw, holds), DEAREST * stamp_ns)
    if not loops:
        return dearest, 0.0
    price = min(dearest, stamp_ns)
    if above - stamps * price >= inner - loops * price:
        price = dearest
    return price, max(0.0, above - stamps * price)


def _held(tally: StepTally, nested: Sequence[bool]) -> list[float]:
    """Return how many stamps each part holds: of a step with loops inside, which are found by what others leave, one each."""
    return [1.0] * (len(nested) + 2) if any(nested) else tally.stamps


def _smallest(raw: Sequence[float], holds: Sequence[float]) -> float:
    """Return what a stamp can cost at most, which no part is shorter than that holds one."""
    return min(time / held for time, held in zip(raw, holds, strict=True) if held)


def _with_known(
    weights: Sequence[float], typical: float, nested: Sequence[bool], inside: Sequence[float | None]
) -> tuple[float, ...] | None:
    """Return the parts of a typical step of which those with loops inside are known; None where they are not.

    In a step whose operations are timed, watching the loops inside leaves caches in which all else takes longer: so the others have
    what these leave, in proportion to their times.  Where that is nothing, all are in proportion.

    Examples
    --------
    >>> _with_known([100.0, 9000.0, 300.0], 1000.0, [False, True], [None, 800.0])
    (50.0, 800.0, 150.0)
    >>> _with_known([100.0, 9000.0, 300.0], 600.0, [False, True], [None, 800.0])
    (50.0, 400.0, 150.0)
    """
    known = [time for time, is_nested in zip(inside, nested, strict=False) if is_nested]
    if not known or None in known:
        return None
    fixed = {row: round((time or 0.0) / GRAIN) * GRAIN for row, time in enumerate(inside) if nested[row]}
    rest = typical - math.fsum(fixed.values())
    if rest <= 0:
        return apportioned([fixed.get(row, weight) for row, weight in enumerate(weights)], typical)
    others = apportioned([0.0 if row in fixed else weight for row, weight in enumerate(weights)], rest)
    return tuple(fixed.get(row, share) for row, share in enumerate(others))


def _weights(times: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Return the weights of the parts: their times, and 0 for parts smaller than their error.

    If such parts dominate the step, as in a step of very many operations below a nanosecond, they keep their times: the remaining
    parts would otherwise get the time of the whole step.

    Examples
    --------
    >>> _weights([40.0, 0.5, 3.0], [1.0, 1.0, 1.0])
    [40.0, 0.0, 3.0]
    >>> _weights([0.5, 0.4, 0.5, -0.1, 0.6, 1.1], [1.0] * 6)
    [0.5, 0.4, 0.5, 0.0, 0.6, 1.1]
    """
    resolved = [time if time > error else 0.0 for time, error in zip(times, errors, strict=True)]
    every = [max(0.0, time) for time in times]
    return resolved if 2 * math.fsum(resolved) >= math.fsum(every) else every


def _error(tally: StepTally, row: int) -> float:
    """Return the error of the median of a part, at least its share of what a clock of whole nanoseconds has."""
    below = tally.median(row) - tally.quantile(row, 0.25)  # above the median are disturbances
    return max(tally.share(row), 1.86 * below / math.sqrt(tally.parts.count))


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


__all__ = ["Division", "apportioned", "divided", "tick_cost"]
