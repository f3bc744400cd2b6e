"""A law of gradients of single rows: where the cost looks at few rows, rewrites know what arrives at all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import grad
from scanviz import tensor as T
from scanviz.engine.function import function
from scanviz.engine.mode import Mode
from scanviz.testing.comparing import check_same
from scanviz.testing.laws.law import law
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from scanviz.testing.plain import run_plainly


@law(
    sample=12,
    case=random_loops(smooth=True, dtypes=("float64",), updates=False, longest=6),
    places=st.lists(st.integers(-3, 2), min_size=1, max_size=2, unique=True),
    result=st.integers(0, 5),
    tier=st.sampled_from(["numpy", "reference"]),
)
def the_gradient_of_a_row_is_that_which_nothing_rewrote(
    case: LoopCase, places: list[int], result: int, tier: str
) -> None:
    """Costs of the last row, of another one or of two have the gradients that the reference tier finds without rewrites."""
    rows, _ = run_plainly(case)
    count = len(rows[0])
    assume(all(-count <= place < count for place in places))
    results, _, inputs, _ = case.build()
    given = [variable for variable, _ in inputs]
    read = results[result % len(results)]
    cost: Any = sum(T.sum(T.sin(read[place])) for place in places)
    slopes = grad(cost, given, disconnected_inputs="ignore")
    values = [np.asarray(value) for _, value in inputs]
    found, expected = (
        function(given, slopes, mode=mode, on_unused_input="ignore")(*values)
        for mode in (Mode(tier, "all"), Mode("reference", "none"))
    )
    check_same(found, expected, case.dtype, f"{places} of {count} rows")


__all__ = ["the_gradient_of_a_row_is_that_which_nothing_rewrote"]
