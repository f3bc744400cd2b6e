"""Running things at once: each in a thread of its own, with threads changing places as often as Python can."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

HURRY = 1e-6  # seconds a thread may run before another one has its turn


@contextmanager
def hurried(seconds: float = HURRY) -> Iterator[None]:
    """Let threads change places after ``seconds`` in the block, so that a race that is there is soon seen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def at_once(works: Sequence[Callable[[], Any]], patience: float = 120.0) -> list[Any]:
    """Do all works at once, each in a thread of its own, and return what they gave, in order.

    Parameters
    ----------
    works : sequence of callable
        Called without arguments, all after all threads have started.
    patience : float
        Seconds after which they are taken to wait for one another; the error then shows where.

    Raises
    ------
    BaseException
        The first exception of the works, in their order.
    TimeoutError
        If some have not ended.

    Examples
    --------
    >>> at_once([lambda: 1, lambda: 2])
    [1, 2]
    """
    gate = threading.Barrier(len(works))
    found: list[Any] = [None] * len(works)
    failed: list[BaseException | None] = [None] * len(works)

    def do(k: int) -> None:
        try:
            gate.wait()
            found[k] = works[k]()
        except BaseException as error:  # any exception belongs to the thread that waits for the result
            failed[k] = error

    threads = [threading.Thread(target=do, args=(k,), daemon=True) for k in range(len(works))]
    with hurried():
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + patience
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
    if left := {thread.ident for thread in threads if thread.is_alive()}:
        frames = [frame for thread, frame in sys._current_frames().items() if thread in left]
        places = "\n".join("".join(traceback.format_stack(frame)) for frame in frames)
        raise TimeoutError(
            f"threads have not ended after {patience:.0f} s: do they wait for one another?\n{places}"
        )
    for error in failed:
        if error is not None:
            raise error
    return found
