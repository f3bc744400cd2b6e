"""Titles of the tabs, cut to as many letters as there are columns for."""

from __future__ import annotations

from collections.abc import Sequence

SHORTEST = 3  # letters of a title that is cut


def fitted(titles: Sequence[str], width: int, apart: int) -> list[str]:
    """Return numbered titles that fit beside one another: whole, else all of them cut to the same length.

    Examples
    --------
    >>> fitted(["Profile", "Steps"], 40, 2), fitted(["Profile", "Steps"], 15, 1)
    (['1 Profile', '2 Steps'], ['1 Prof', '2 Step'])
    """
    for letters in range(max(map(len, titles)), SHORTEST - 1, -1):
        found = [f"{number} {title[:letters]}" for number, title in enumerate(titles, 1)]
        if sum(map(len, found)) + apart * len(found) <= width:
            break
    return found


__all__ = ["fitted"]
