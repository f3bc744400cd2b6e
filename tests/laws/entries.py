"""Laws of loops that are entered without an arena: nobody can tell but by the time it takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from scanviz import grad
from scanviz.engine.config import config
from scanviz.engine.function import Function, function
from scanviz.engine.graph.nodes import Array
from scanviz.engine.mode import Mode
from scanviz.engine.runtime import specialised
from scanviz.testing.comparing import check_same
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.law import law
from tests.laws.loop_gradients import cost_of
from tests.laws.plans import spread

CALLS = 4
TIERS = st.sampled_from(["numpy", "auto", "native"])


def _calls(f: Function, given: Sequence[Any], way: int) -> list[list[Array]]:
    """Return what some calls of a function give: runs of its loops make an arena in the first, later none where that can be."""
    with (
        mock.patch.object(specialised, "ENTERED", 1),
        mock.patch.object(config.native, "pays_after", inf),
    ):
        return [f(*(spread(np.asarray(value), way) for value in given)) for _ in range(CALLS)]


@law(
    sample=15,
    case=random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True),
    rewrites=st.booleans(),
    reading=st.sampled_from(READINGS),
    tier=TIERS,
    way=st.integers(0, 3),
)
def a_loop_gives_the_same_however_it_is_entered(
    case: LoopCase, rewrites: bool, reading: Reading, tier: str, way: int
) -> None:
    """Every call gives what a plain Python loop gives, and leaves what calls before it gave as it was."""
    rows, _ = run_plainly(case)
    count = len(rows[0])
    results, _, inputs, _ = case.build()
    f = function(
        [variable for variable, _ in inputs],
        [reading.of(result, count) for result in results],
        mode=Mode(tier, "all" if rewrites else "none"),
        on_unused_input="ignore",
        no_default_updates=True,
    )
    expected = [reading.of(row, count) for row in rows]
    for found in _calls(f, [value for _, value in inputs], way):
        check_same(found, expected, case.dtype)


@law(
    sample=10,
    case=random_loops(smooth=True, dtypes=("float64",), updates=False, longest=6),
    rewrites=st.booleans(),
    tier=TIERS,
    way=st.integers(0, 3),
)
def a_gradient_is_the_same_however_its_loops_are_entered(
    case: LoopCase, rewrites: bool, tier: str, way: int
) -> None:
    """The value of a function of a loop and its gradients are bit for bit the same in every call."""
    results, _, inputs, _ = case.build()
    given = [variable for variable, _ in inputs]
    cost = cost_of(results, None)
    slopes = grad(cost, given, disconnected_inputs="ignore")
    f = function(
        given,
        [cost, *slopes],
        mode=Mode(tier, "all" if rewrites else "none"),
        on_unused_input="ignore",
    )
    first, *others = _calls(f, [value for _, value in inputs], way)
    for found in others:
        for one, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(one, other)


__all__ = [
    "a_gradient_is_the_same_however_its_loops_are_entered",
    "a_loop_gives_the_same_however_it_is_entered",
]
