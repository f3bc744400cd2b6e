"""Laws of whole random loops: every tier, with rewrites and without, gives what a plain Python loop gives."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.mode import Mode
from scanviz.testing.laws.law import law
from scanviz.testing.loops import LoopCase, random_loops
from scanviz.testing.plain import run_plainly


@law(sample=25, case=random_loops(), tier=st.sampled_from(["numpy", "reference"]), rewrites=st.booleans())
def a_loop_gives_what_a_plain_python_loop_gives(case: LoopCase, tier: str, rewrites: bool) -> None:
    """A loop gives on every tier, rewritten or not, what a plain Python loop gives."""
    found, state = case.compute(Mode(tier, "all" if rewrites else "none"))
    expected, expected_state = run_plainly(case)
    tolerance = 1e-4 if case.dtype == "float32" else 1e-9
    for mine, theirs in zip([*found, state], [*expected, expected_state], strict=True):
        if mine is None or theirs is None:
            assert mine is theirs
            continue
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, (mine.shape, theirs.shape)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
