"""Runs of loops that take the way they take when nobody watches, and are only counted.

A call that is passed over is made as if nobody watched, so that it takes what it takes alone: code that differs under
observation, such as that of a whole function, is not given up for it.  Of most such calls no times are taken but before and
after them.  Loops leave how many steps they took, for a record has every run and every step.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanviz.engine.runtime.events import Watch

MOST_RUNS = 4096  # of a call that are told one by one
# by thread, who is told of the call that it makes alone; empty while there is none
ALONE: dict[int, Watch] = {}


def told_alone() -> Watch | None:
    """Return who is told of the call that this thread makes alone, None where it makes none."""
    return ALONE.get(get_ident()) if ALONE else None


def together(runs: list[tuple[int, int, int, int, int, int]]) -> list[tuple[int, int, int, int, int, int]]:
    """Return runs counted together, loop by loop: a call that was thought to be short may have very many.

    Examples
    --------
    >>> together([(7, 1, 3, 3, 0, -1), (8, 1, 1, 1, 0, -1), (7, 1, 5, 5, 0, -1)])
    [(7, 2, 8, 5, 0, -1), (8, 1, 1, 1, 0, -1)]
    """
    found: dict[int, tuple[int, int, int, int, int, int]] = {}
    for loop, count, steps, longest, failed, _ in runs:
        _, counts, all_steps, most, failures, _ = found.get(loop, (loop, 0, 0, 0, 0, -1))
        found[loop] = loop, counts + count, all_steps + steps, max(most, longest), failures + failed, -1
    return list(found.values())
