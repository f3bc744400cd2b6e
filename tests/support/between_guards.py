"""Memory between guards, to see whether machine code writes beyond its arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from scanviz.engine.backends.native.run import whole_function
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.plan.location import ALIGNMENT
from scanviz.engine.runtime.address import address

GUARD, MARK = 4096, 0xA5


@contextmanager
def between_guards() -> Iterator[None]:
    """Let functions that are compiled whole meanwhile work between guards, and look at these afterwards.

    Raises
    ------
    AssertionError
        If something was written there.
    """
    made: list[tuple[Array, int, int]] = []

    def room(size: int) -> Array:
        memory = np.full(size + 2 * GUARD + ALIGNMENT, MARK, np.uint8)
        start = GUARD + -address(memory) % ALIGNMENT
        made.append((memory, start, start + size))
        return memory[start : start + size]

    with patch.object(whole_function, "lent_bytes", room):
        yield
    for memory, start, end in made:
        outside = np.concatenate([memory[:start], memory[end:]])
        assert (outside == MARK).all(), f"machine code wrote beyond {end - start} bytes"
