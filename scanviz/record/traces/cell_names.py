"""Names of the rows of a state's buffer in a step: one name in every view.

A loop of back-propagation goes through its buffers in its own time, and names their rows in the time of the loop that it is the
gradient of: its own tap +1 is the row ``∂h[t-1]``.  Rows that it writes have the names of rows that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scanviz.engine.scan.variables import step_name

_NUMBERED = re.compile(r"~\d+$")  # the number of an equal name in a graph


def cell_name(name: str, tap: int, reads: Iterable[tuple[int, str]]) -> str:
    """Return the name, in a step, of the row of a tap.

    Parameters
    ----------
    name : str
        The loop variable's name.
    tap : int
        Which row, in the loop's own time.
    reads : iterable of (int, str)
        The taps that it reads, with the names that the step has for these rows.

    Examples
    --------
    >>> cell_name("h", 0, [(-1, "h[t-1]")])
    'h[t]'
    >>> cell_name("g", 3, [(0, "g[t]"), (1, "g[t-1]")])
    'g[t-3]'
    """
    known = {read: _NUMBERED.sub("", text) for read, text in reads}
    if known.get(tap):
        return known[tap]
    return step_name(name, -tap if goes_backwards(known.items()) else tap)


def goes_backwards(reads: Iterable[tuple[int, str]]) -> bool:
    """Return whether taps and the names of their rows show that a loop goes back through another's time.

    Examples
    --------
    >>> goes_backwards([(0, "g[t]"), (1, "g[t-1]")]), goes_backwards([(-1, "h[t-1]")])
    (True, False)
    """
    return any(tap and _NUMBERED.sub("", text).endswith(step_name("", -tap)) for tap, text in reads)
