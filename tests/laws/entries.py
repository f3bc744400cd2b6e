"""Laws of loops that are entered without an arena: only the time differs."""

from collections.abc import Sequence
from math import inf
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.config import config
from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Array
from scanviz.engine.mode import Mode
from scanviz.engine.runtime import specialised
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import built, modes
from tests.laws.law import law
from tests.laws.plans import spread
from tests.support.comparing import check_same

CALLS = 4


def _calls(f: Function, given: Sequence[Any], way: int) -> list[list[Array]]:
    """Return what some calls of a function give: runs of its loops make an arena in the first, later none where that can be."""
    with (
        mock.patch.object(specialised, "ENTERED", 1),
        mock.patch.object(config.native, "pays_after", inf),
    ):
        return [f(*(spread(np.asarray(value), way) for value in given)) for _ in range(CALLS)]


@law(
    sample=15,
    case=random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
    | random_loops(smooth=True, dtypes=("float64",), updates=False, longest=6),
    reading=st.sampled_from(READINGS),
    mode=modes("numpy", "auto", "native"),
    way=st.integers(0, 3),
    slopes=st.booleans(),
)
def a_loop_has_the_same_result_for_every_way_of_entry(
    case: LoopCase, reading: Reading, mode: Mode, way: int, slopes: bool
) -> None:
    """Every call agrees with a plain Python loop and leaves results of earlier calls unchanged.

    Gradients are drawn, not always there: they keep all rows of a state, so a loop beside them has no rings.
    """
    rows, _ = run_plainly(case)
    count, loop = len(rows[0]), built(case)
    read = [reading.of(result, count) for result in loop.results]
    f = loop.function([*read, *(loop.gradients() if slopes and case.dtype == "float64" else [])], mode)
    expected = [reading.of(row, count) for row in rows]
    calls = _calls(f, loop.values, way)
    for found in calls:
        check_same(found[: len(rows)], expected, case.dtype)
        for one, other in zip(found[len(rows) :], calls[0][len(rows) :], strict=True):
            np.testing.assert_array_equal(one, other)
