"""Work counted instead of timed: the lines of scanviz that an action runs, the same on every machine and at every load."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import scanviz

_PACKAGE = f"{Path(scanviz.__file__).parent}{os.sep}"


def lines_run(action: Callable[[], object], inside: str = "") -> Counter[str]:
    """Run an action and return how many lines each function of scanviz ran.

    Parameters
    ----------
    action : callable
        Called once, without arguments.
    inside : str
        Only functions of this file or folder are counted, which is quicker: ``"engine/rewrites/cost.py"``.

    Returns
    -------
    Counter
        ``"engine/graph/traversal.py toposort"`` → lines run in it, loops counted as often as they went round.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> first = scanviz.function([x], T.tanh(x))  # does what is done once
    >>> few = lines_run(lambda: scanviz.function([x], T.tanh(x))).total()
    >>> few < lines_run(lambda: scanviz.function([x], T.tanh(T.exp(T.tanh(x))))).total()
    True
    """
    counters: dict[CodeType, _Lines | None] = {}

    def entered(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        code = frame.f_code
        if code not in counters:
            counted = code.co_filename.startswith(f"{_PACKAGE}{inside}")
            counters[code] = _Lines() if counted else None
        counter = counters[code]
        return None if counter is None else counter.seen

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        action()
    finally:
        sys.settrace(before)
    found: Counter[str] = Counter()
    for code, counter in counters.items():
        if counter is not None and counter.count:
            found[f"{code.co_filename[len(_PACKAGE) :]} {code.co_qualname}"] += counter.count
    return found


class _Lines:
    """Lines run by one function; its references are bound once, since there are millions of events."""

    __slots__ = ("count", "seen")

    def __init__(self) -> None:
        self.count = 0
        self.seen = self._seen

    def _seen(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if event == "line":
            self.count += 1
        return self.seen


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
