"""Laws of plans: random loops run from their Program's bytes and their plans alone, with junk in all memory that is not in use."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz.engine.backends.numpy.emit import EMITS
from scanviz.engine.backends.registry import resolve
from scanviz.engine.graph.nodes import Array
from scanviz.engine.mode import Mode
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.plan import Emits, Grouping, Plan, chains, single
from scanviz.engine.program.plan.groups import is_elementwise
from scanviz.engine.program.plan.merging import may_raise
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import PLAIN, built
from tests.laws.law import law
from tests.laws.programs import compiled
from tests.support.arena import EVERYTHING, ArenaBackend
from tests.support.comparing import check_same
from tests.support.groupings import RandomGrouping

GROUPS = st.one_of(st.sampled_from([single, chains]), st.integers(0, 2**32 - 1).map(RandomGrouping))
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
    """A Program read from bytes and run in an arena, placed by its plan, agrees with a plain Python loop."""
    rows, expected_state = run_plainly(case)
    count = len(rows[0])
    f, given = compiled(case, rewrites, "reference", lambda variable: reading.of(variable, count))
    found = ArenaBackend(groups, emits).run(f.program, [spread(array, way) for array in given])
    expected = [reading.of(row, count) for row in rows]
    check_same(found, [*expected, *([] if expected_state is None else [expected_state])], case.dtype)


@law(sample=12, case=SMOOTH, rewrites=st.booleans(), groups=GROUPS, emits=EMITTERS, way=st.integers(0, 3))
def a_gradient_runs_from_its_bytes_and_its_plan_alone(
    case: LoopCase, rewrites: bool, groups: Grouping, emits: Emits, way: int
) -> None:
    """The gradient of a loop, run in an arena, agrees with the reference tier without rewrites."""
    loop = built(case)
    assume(loop.floats)
    pulled = loop.gradients()
    f, plain = (
        loop.function(pulled, mode) for mode in (Mode("reference", "all" if rewrites else "none"), PLAIN)
    )
    given = [np.asarray(value) for value in loop.values]
    found = ArenaBackend(groups, emits).run(f.program, [spread(array, way) for array in given])
    check_same(found, resolve("reference").compile(plain.program).run(given, None), case.dtype)


@law(sample=12, case=LOOPS, rewrites=st.booleans())
def only_unfusable_instructions_are_not_fused(case: LoopCase, rewrites: bool) -> None:
    """Groups hold elementwise instructions of one shape; two connected groups are fused unless an order would be lost."""
    f, given = compiled(case, rewrites, "reference")
    seen: list[tuple[Program, Plan]] = []
    ArenaBackend(chains, on_plan=lambda loop, plan: seen.append((loop.body, plan))).run(f.program, given)
    for program, plan in seen:
        group_of = {index: k for k, group in enumerate(plan.groups) for index in group}
        for group in plan.groups:
            made = [program.instructions[k] for k in group]
            known = [place.shape for place in plan.places]
            shapes = {known[instruction.outputs[0]] for instruction in made}
            alike = all(is_elementwise(instruction, known) for instruction in made)
            assert len(group) == 1 or (alike and len(shapes) == 1 and shapes != {()})
        for fusion in plan.fusions:
            one, other = group_of[fusion.first], group_of[fusion.second]
            assert (one == other) == (fusion.refusal is None), fusion
            if fusion.refusal is not None and "between" in fusion.refusal.why:
                assert _is_between(program, plan, one, other), fusion


def _is_between(program: Program, plan: Plan, one: int, other: int) -> bool:
    """Return whether a third group has to be done after one group and before another, by walking from reader to maker."""
    group_of = {index: k for k, group in enumerate(plan.groups) for index in group}
    makers = {
        number: k for k, instruction in enumerate(program.instructions) for number in instruction.outputs
    }
    last = -1  # what may raise an error is done in order
    needs: dict[int, set[int]] = {k: set() for k in range(len(plan.groups))}
    for index, instruction in enumerate(program.instructions):
        found = {makers[number] for number in instruction.inputs if number in makers}
        if may_raise(instruction, [place.shape for place in plan.places]):
            found |= {last} - {-1}
            last = index
        needs[group_of[index]] |= {group_of[k] for k in found}
    for near, far in ((one, other), (other, one)):
        todo, seen = list(needs[near] - {far}), set[int]()
        while todo:
            k = todo.pop()
            if k == far:
                return True
            todo += needs[k] - seen if k not in seen else ()
            seen.add(k)
    return False
