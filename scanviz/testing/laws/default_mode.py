"""A law of the default mode: compiling a loop between two calls changes last bits alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
from hypothesis import strategies as st

from scanviz.engine import observe
from scanviz.engine.config import config
from scanviz.engine.function.build import function
from scanviz.engine.graph.nodes import Array
from scanviz.profiler.recording.recorder import Recorder
from scanviz.testing.comparing import check_same
from scanviz.testing.laws.law import law
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.plain import run_plainly

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
CALLS = 4
AFTER = st.sampled_from(
    [0.0, 1e-6, 1e-5, 3e-5]
)  # seconds: from the first call on, from a later one, or never


@contextmanager
def _pays_after(seconds: float) -> Iterator[None]:
    before, config.native.pays_after = config.native.pays_after, seconds
    try:
        yield
    finally:
        config.native.pays_after = before


def _calls(case: LoopCase, watched: bool) -> list[list[Array]]:
    """Return what some calls of one function give, each from the same state of the shared variable."""
    results, updates, inputs, state = case.build(name="law")
    f = function(
        [each for each, _ in inputs], results, updates=updates, mode="auto", on_unused_input="ignore"
    )
    found = []
    with observe.observed_by(Recorder()) if watched else nullcontext():
        for _ in range(CALLS):
            if state is not None:
                state.set_value(np.array(case.shared_start))
            rows = f(*(values for _, values in inputs))
            found.append([*rows, *([] if state is None else [state.get_value()])])
    return found


@law(sample=8, case=LOOPS, after=AFTER)
def the_default_mode_gives_in_every_call_what_a_plain_python_loop_gives(case: LoopCase, after: float) -> None:
    """Calls before and after a loop is compiled give what a plain loop gives, watched or not."""
    rows, expected_state = run_plainly(case)
    expected = [*rows, *([] if expected_state is None else [expected_state])]
    with _pays_after(after):
        for watched in (False, True):
            for number, found in enumerate(_calls(case, watched)):
                check_same(found, expected, case.dtype, f"call {number}{', watched' * watched}")


__all__ = ["the_default_mode_gives_in_every_call_what_a_plain_python_loop_gives"]
