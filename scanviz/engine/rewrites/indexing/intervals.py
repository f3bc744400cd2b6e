"""Slices as intervals, for taking a slice or a row of a slice without knowing how many rows there are.

A bound of an interval is counted from the start, ``(False, 2)``, or back from the end, ``(True, 2)``.  A slice is the rows
between two bounds, walked up or down with a stride.  Each function gives None where the answer depends on how many rows
there are and ``rows`` (how many there surely are at least) does not decide it.
"""

from __future__ import annotations

from typing import NamedTuple

Bound = tuple[bool, int]  # whether it is counted back from the end, and how far
START: Bound = (False, 0)
END: Bound = (True, 0)


class RowInterval(NamedTuple):
    """The rows from ``low`` up to but without ``high``, from the first on, or from the last back if ``down``."""

    low: Bound = START
    high: Bound = END
    down: bool = False
    stride: int = 1


class RowIndex(NamedTuple):
    """One row of an interval.

    Attributes
    ----------
    place : int
        Its index in the whole.
    needs : int
        How many rows the whole must have for the row to exist in the interval; 0 where the index alone tells.
    """

    place: int
    needs: int


def interval_of(start: int | None, stop: int | None, step: int | None) -> RowInterval:
    """Return the interval of a slice.

    Examples
    --------
    >>> interval_of(1, None, None)
    RowInterval(low=(False, 1), high=(True, 0), down=False, stride=1)
    """
    if step is None or step > 0:
        low = START if start is None else _bound(start)
        high = END if stop is None else _bound(stop)
        return RowInterval(low, high, False, step or 1)
    high = END if start is None else _after(start)
    low = START if stop is None else _after(stop)
    return RowInterval(low, high, True, -step)


def _bound(number: int) -> Bound:
    return (False, number) if number >= 0 else (True, -number)


def _after(number: int) -> Bound:
    """Return the bound after a row."""
    return (False, number + 1) if number >= 0 else (True, -number - 1)


def slice_of(interval: RowInterval) -> tuple[int | None, int | None, int | None] | None:
    """Return start, stop and step of an interval; None for one that surely has no rows and no such slice.

    Examples
    --------
    >>> slice_of(RowInterval((False, 1), (True, 0), down=True))
    (None, 0, -1)
    """
    low, high, down, stride = interval
    if not down:
        start = None if low == START else -low[1] if low[0] else low[1]
        stop = None if high == END else -high[1] if high[0] else high[1]
        return None if low == END else (start, stop, None if stride == 1 else stride)
    if high == START:
        return None
    start = None if high == END else -high[1] - 1 if high[0] else high[1] - 1
    stop = None if low == START else -low[1] - 1 if low[0] else low[1] - 1
    return start, stop, -stride


def taken(inner: RowInterval, outer: RowInterval, rows: int) -> RowInterval | None:
    """Return the interval of an interval of an interval.

    Examples
    --------
    >>> taken(interval_of(1, None, None), interval_of(None, -2, None), 0)
    RowInterval(low=(False, 1), high=(True, 2), down=False, stride=1)
    """
    first, last = outer.low, outer.high
    if inner.down:
        first, last = _mirrored(last), _mirrored(first)
    if inner.stride != 1:
        if inner.down or outer.down or first[0] or (last[0] and last != END):
            return None
        if inner.low[0]:
            return None
    low = _larger(inner.low, _moved(inner, first, rows), rows)
    high = _smaller(inner.high, _moved(inner, last, rows), rows)
    if low is None or high is None:
        return None
    return RowInterval(low, high, inner.down != outer.down, inner.stride * outer.stride)


def row_of(inner: RowInterval, index: int, rows: int) -> RowIndex | None:
    """Return the row of an interval that has an index in it.

    Examples
    --------
    >>> row_of(interval_of(1, None, None), -1, 0), row_of(interval_of(None, None, -1), 0, 0)
    (RowIndex(place=-1, needs=2), RowIndex(place=-1, needs=0))
    """
    if inner.down:
        index = -index - 1
    if inner.stride != 1 and (inner.down or index < 0 or inner.low[0]):
        return None
    return _from_low(inner, index, rows) if index >= 0 else _from_high(inner, -index, rows)


def _from_low(inner: RowInterval, steps: int, rows: int) -> RowIndex | None:
    """Return the row so many steps above the first of an interval, None where there surely is none."""
    place = _moved(inner, (False, steps), rows)
    if place is None or (place[0] and rows < inner.low[1]):  # fewer rows: the interval begins at the start
        return None
    back, limit = inner.high
    if place[0]:
        return RowIndex(-place[1], 0) if back and place[1] > limit else None
    if back:
        return RowIndex(place[1], place[1] + limit + 1 if limit else 0)
    return RowIndex(place[1], 0) if place[1] < limit else None


def _from_high(inner: RowInterval, steps: int, rows: int) -> RowIndex | None:
    """Return the row so many steps below the end of an interval, None where there surely is none."""
    (back, far), (low_back, limit) = inner.high, inner.low
    if back:
        if low_back:
            return RowIndex(-far - steps, 0) if far + steps <= limit else None
        return RowIndex(-far - steps, far + steps + limit if limit else 0)
    found = far - steps
    return RowIndex(found, 0) if rows >= far and not low_back and found >= limit else None


def _mirrored(bound: Bound) -> Bound:
    return (not bound[0], bound[1])


def _moved(inner: RowInterval, bound: Bound, rows: int) -> Bound | None:
    """Return a bound within an interval as a bound of the whole."""
    from_end, distance = bound
    if not from_end:
        back, far = inner.low
        if not back:
            return (False, far + distance * inner.stride)
        if distance == 0:
            return inner.low
        return (True, max(far - distance, 0)) if rows >= far else None
    back, far = inner.high
    if back:
        return (True, far + distance)
    if distance == 0:
        return inner.high
    return (False, max(far - distance, 0)) if rows >= far else None


def _larger(first: Bound, second: Bound | None, rows: int) -> Bound | None:
    if second is None:
        return None
    if first == START or second == END:
        return second
    if second == START or first == END:
        return first
    if first[0] == second[0]:
        return (first[0], min(first[1], second[1]) if first[0] else max(first[1], second[1]))
    if rows >= first[1] + second[1]:
        return first if first[0] else second
    return None


def _smaller(first: Bound, second: Bound | None, rows: int) -> Bound | None:
    """Return the smaller bound: seen from the other end, the larger one."""
    found = _larger(_mirrored(first), None if second is None else _mirrored(second), rows)
    return None if found is None else _mirrored(found)
