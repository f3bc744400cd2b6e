"""Whether two places of an array surely have nothing in common, whatever the array's size is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.ops.index_pattern import IndexEntry
from scanviz.engine.rewrites.places import as_slice, has_row

LARGEST = 12  # numbers in patterns; places far apart are not compared


def surely_elsewhere(read: Sequence[IndexEntry], written: Sequence[IndexEntry], shape: Sequence[Any]) -> bool:
    """Return whether what is read is surely no part of what is written, and the place that is written surely there.

    All parts are integers and slices with known numbers, one an axis.

    Examples
    --------
    >>> first, last = IndexEntry("integer", 0), IndexEntry("integer", -1)
    >>> from scanviz import tensor as T
    >>> n = T.vector("x").shape[0]
    >>> surely_elsewhere([IndexEntry("integer", 1)], [first], [n]), surely_elsewhere([last], [first], [n])
    (True, False)
    """
    apart = False
    for reads, writes, size in zip(read, written, shape, strict=True):
        sizes = _sizes(reads, writes, size)
        surely_there = writes.kind == "slice" or has_row(size, int(writes.start or 0))
        if not surely_there and not _both_errors(reads, writes, sizes):
            return False
        if not apart and sizes is not None:
            apart = all(_apart(_rows(reads, n), _rows(writes, n)) for n in sizes)
    return apart


def _both_errors(reads: IndexEntry, writes: IndexEntry, sizes: Sequence[int] | None) -> bool:
    """Return whether what is read does not exist wherever what is written does not."""
    return sizes is not None and all(_rows(writes, n) is not None or _rows(reads, n) is None for n in sizes)


def _sizes(first: IndexEntry, second: IndexEntry, size: Any) -> Sequence[int] | None:
    """Return sizes to try: beyond all numbers of the patterns nothing new happens, as bounds move alike."""
    if isinstance(size, int):
        return [size] if size <= 1000 else None
    numbers = [
        abs(number) for entry in (first, second) for number in entry.numbers() if isinstance(number, int)
    ]
    if any(number > LARGEST for number in numbers):
        return None
    period = 1
    for entry in (first, second):
        period *= abs(entry.step) if isinstance(entry.step, int) else 1
    return range(2 * LARGEST + 2 * period + 2)


def _rows(entry: IndexEntry, size: int) -> range | None:
    """Return the rows that a part picks, None for an error."""
    if entry.kind == "slice":
        return range(size)[as_slice(entry)]
    index = int(entry.start or 0)
    if not -size <= index < size:
        return None
    place = index % size
    return range(place, place + 1)


def _apart(first: range | None, second: range | None) -> bool:
    return first is None or second is None or not set(first) & set(second)
