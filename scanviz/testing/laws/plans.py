"""Laws of plans: random loops run from their Program's bytes and their plans alone, with junk in all memory that is not in use."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import grad
from scanviz import tensor as T
from scanviz.engine.backends.numpy.emit import EMITS
from scanviz.engine.backends.registry import resolve
from scanviz.engine.function import function
from scanviz.engine.graph.nodes import Array
from scanviz.engine.mode import Mode
from scanviz.engine.program.plan import Emits, chains, single
from scanviz.engine.program.plan.location import Grouping
from scanviz.testing.arena import EVERYTHING, ArenaBackend
from scanviz.testing.comparing import check_same
from scanviz.testing.laws.law import law
from scanviz.testing.laws.programs import compiled
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.plain import run_plainly
from scanviz.testing.readings import READINGS, Reading

GROUPS = st.sampled_from([single, chains])
EMITTERS = st.sampled_from([EVERYTHING, EMITS])
LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
SMOOTH = random_loops(dtypes=("float64",), smooth=True, updates=False, symbolic_steps=True)


def spread(array: Array, way: int) -> Array:
    """Return the same elements otherwise in memory: in C order, every other one, backwards or in Fortran order."""
    if way == 1:
        return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    if way == 2:
        return np.ascontiguousarray(array[::-1])[::-1] if array.ndim else array
    if way == 3:
        return np.array(array, order="F")
    return np.array(array)


@law(
    sample=12,
    case=LOOPS,
    rewrites=st.booleans(),
    reading=st.sampled_from(READINGS),
    groups=GROUPS,
    emits=EMITTERS,
    way=st.integers(0, 3),
)
def a_loop_runs_from_its_bytes_and_its_plan_alone(
    case: LoopCase, rewrites: bool, reading: Reading, groups: Grouping, emits: Emits, way: int
) -> None:
    """A Program that was read from bytes gives in an arena, placed as planned, what the plain Python loop gives."""
    rows, expected_state = run_plainly(case)
    count = len(rows[0])
    f, given = compiled(case, rewrites, "reference", lambda each: reading.of(each, count))
    found = ArenaBackend(groups, emits).run(f.program, [spread(each, way) for each in given])
    expected = [reading.of(each, count) for each in rows]
    check_same(found, [*expected, *([] if expected_state is None else [expected_state])], case.dtype)


@law(sample=12, case=SMOOTH, rewrites=st.booleans(), groups=GROUPS, emits=EMITTERS, way=st.integers(0, 3))
def a_gradient_runs_from_its_bytes_and_its_plan_alone(
    case: LoopCase, rewrites: bool, groups: Grouping, emits: Emits, way: int
) -> None:
    """The gradient of a loop gives in an arena what the reference tier gives without rewrites: mitmots are rows in memory too."""
    results, _, inputs, _ = case.build()
    variables = [variable for variable, _ in inputs]
    wanted = [each for each in variables if getattr(each.type, "dtype", "") == case.dtype]
    assume(wanted)
    cost: Any = sum(T.sum(each) for each in results)
    pulled = grad(cost, wanted, disconnected_inputs="ignore")
    f, plain = (
        function(variables, pulled, mode=Mode("reference", which), on_unused_input="ignore")
        for which in ("all" if rewrites else "none", "none")
    )
    given = [np.asarray(value) for _, value in inputs]
    found = ArenaBackend(groups, emits).run(f.program, [spread(each, way) for each in given])
    check_same(found, resolve("reference").compile(plain.program).run(given, None), case.dtype)


__all__ = ["spread"]
