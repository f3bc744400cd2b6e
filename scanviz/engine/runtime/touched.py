"""Pages of long rows, found by another thread while the code that will write them is compiled.

Memory that the system has just given has no pages: each is found and cleared when it is first written to.  The rows of a loop are
there before its code is, so the thread that LLVM keeps waiting has another one ask the system for these pages.  Nothing is written,
and nothing is asked for that steps will not write to: rows of a loop that may end early are left alone.  A run may be interrupted
or fail all the same, and rows may be longer than memory: of very long ones the first part is found ahead, and no more once nobody
has the rows, or the program ends.

Limits: Linux from 5.14 on can be asked so; elsewhere nothing happens.
"""

from __future__ import annotations

import mmap
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import ref

from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.beside import threads_allowed
from scanviz.engine.runtime.pages import HUGE

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array
    from scanviz.engine.program.instructions import LoopInstruction
    from scanviz.engine.runtime.rows import StateRows

MOST = 1 << 30  # bytes that are found ahead: what is compiled in the time this takes is a large loop
AT_ONCE = 1 << 23  # bytes: whoever wants other memory waits for as many, a millisecond
POPULATE_WRITE = 23  # as Linux calls it: find pages to write to, and change nothing
NAME = "scanviz: pages"


def touch_beside(loop: LoopInstruction, states: Sequence[StateRows]) -> None:
    """Have another thread find the pages of a loop's rows, where they are long and a processor is free for it."""
    if loop.until is not None or sys.platform != "linux":
        return
    rows = [state.array for state in states if not state.form.is_mitmot]
    long = [ref(array) for array in rows if array.nbytes >= HUGE and array.flags.c_contiguous]
    if long and threads_allowed() > 1:
        with suppress(RuntimeError):  # there is no thread to be had
            threading.Thread(target=_touch, args=(long,), name=NAME).start()


def _touch(rows: Sequence[ref[Array]]) -> None:
    import ctypes

    advise: Any = ctypes.CDLL(None).madvise  # other threads run meanwhile, which Python's own keeps waiting
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    left = MOST
    for held in rows:
        done = 0
        # the array is had for one piece at a time: after ctrl+c nobody else has it
        while left > 0 and threading.main_thread().is_alive() and (array := held()) is not None:
            start = -(-address(array) // mmap.PAGESIZE) * mmap.PAGESIZE + done
            end = (address(array) + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
            piece = min(AT_ONCE, left, end - start)
            if piece <= 0:
                break
            if advise(start, piece, POPULATE_WRITE):
                return  # an older system, or there is no memory: who writes meets it
            done, left = done + piece, left - piece
            del array


__all__ = ["touch_beside"]
