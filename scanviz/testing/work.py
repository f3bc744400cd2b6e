"""Work counted instead of timed: the lines of scanviz that an action runs, the same on every machine and at every load."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import scanviz

_PACKAGE = str(Path(scanviz.__file__).parent)


def lines_run(action: Callable[[], object]) -> Counter[str]:
    """Run an action and return how many lines each function of scanviz ran.

    Parameters
    ----------
    action : callable
        Called once, without arguments.

    Returns
    -------
    Counter
        ``"engine/graph/traversal.py toposort"`` → lines run in it, loops counted as often as they went round.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> few = lines_run(lambda: scanviz.function([x], T.tanh(x))).total()
    >>> few < lines_run(lambda: scanviz.function([x], T.tanh(T.exp(T.tanh(x))))).total()
    True
    """
    found: Counter[str] = Counter()
    names: dict[Any, str | None] = {}

    def entered(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code not in names:
            inside = code.co_filename.startswith(_PACKAGE)
            names[code] = f"{code.co_filename[len(_PACKAGE) + 1 :]} {code.co_qualname}" if inside else None
        name = names[code]
        if name is None:
            return None

        def line(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line":
                found[name] += 1
            return line

        return line

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        action()
    finally:
        sys.settrace(before)
    return found


def grown(small: Counter[str], large: Counter[str], times: float, least: int = 2_000) -> dict[str, float]:
    """Return the functions that did more than ``times`` as much work, with how much more, of those that did any to speak of.

    Examples
    --------
    >>> grown(Counter(a=5_000, b=5_000), Counter(a=10_000, b=20_000), 2.4)
    {'b': 4.0}
    """
    return {
        name: count / max(small[name], least / times)
        for name, count in large.items()
        if count > least and count > times * max(small[name], least / times)
    }
