"""Laws of ``Print`` and ``Assert``: printed lines and failing checks agree with a plain Python loop.

Random loops have prints or checks put between the operations of their steps.  Rules may do whatever they like with the rest.
"""

import io
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from msgspec import structs

from scanviz import tensor as T
from scanviz.engine.errors import AssertFailedError
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.testing.expressions import RandomExpression
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import random_loops
from scanviz.testing.operations import SPREAD, SPREAD_TRUTH, Operation
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import MODES, TIERS, built
from tests.laws.law import law
from tests.support.comparing import check_same


def _reads_values(case: LoopCase) -> bool:
    """Return whether the step reads values wherever it reads anything: what only a shape is read of is not computed."""
    expressions = [*(output.value for output in case.outputs), case.nested, case.update]
    steps = [step for expression in expressions if expression is not None for step in expression.steps]
    return not any(operation in (SPREAD, SPREAD_TRUTH) for operation, _ in steps)


LOOPS = random_loops(symbolic_steps=True, constants=True).filter(_reads_values)
SMOOTH = random_loops(dtypes=("float64",), smooth=True, updates=False, symbolic_steps=True).filter(
    _reads_values
)
READ = st.sampled_from([reading for reading in READINGS if reading.name != "the shape"])  # it needs no step
PLACES = st.lists(st.booleans(), min_size=1, max_size=5)
NESTED_STEPS = 3


def _with_looks(
    expression: RandomExpression, count: int, looks: Sequence[bool], look: Callable[[int], Operation]
) -> RandomExpression:
    """Return an expression with further operations after it, as chosen by ``looks``, and after its value."""
    steps: list[tuple[Operation, tuple[int, ...]]] = []
    moved = dict(enumerate(range(count)))
    for place, (operation, positions) in enumerate(expression.steps, start=count):
        steps.append((operation, tuple(moved[k] for k in positions)))
        moved[place] = count + len(steps) - 1
        if looks[place % len(looks)]:
            steps.append((look(place), (moved[place],)))
            moved[place] = count + len(steps) - 1
    steps.append((look(-1), (moved[expression.final],)))
    return RandomExpression(tuple(steps), count + len(steps) - 1)


def _looked_at(
    case: LoopCase, looks: Sequence[bool], look: Callable[[str], Callable[[int], Operation]]
) -> LoopCase:
    """Return a loop whose outputs, and the loop in its step, are looked at."""
    count = len(case.shapes())
    outputs = [
        structs.replace(output, value=_with_looks(output.value, count, looks, look(f"o{k}")))
        for k, output in enumerate(case.outputs)
    ]
    nested = None if case.nested is None else _with_looks(case.nested, 2, looks, look("inner"))
    return structs.replace(case, outputs=outputs, nested=nested)


def _printing(file: io.StringIO) -> Callable[[str], Callable[[int], Operation]]:
    def look(label: str) -> Callable[[int], Operation]:
        return lambda place: Operation(
            "print", 1, T.Print(f"{label}.{place}", file=file), lambda value: value
        )

    return look


def _expected_lines(case: LoopCase, done: int) -> Counter[str]:
    """Return the beginnings of the lines that a loop of so many steps prints."""
    found: Counter[str] = Counter()
    count = len(case.shapes())
    for k, output in enumerate(case.outputs):
        for place in _printed_places(output.value, count, f"o{k}"):
            found.update(f"looked step {t}: {place}" for t in range(done))
    if case.nested is not None and case.reads_nested():
        for place in _printed_places(case.nested, 2, "inner"):
            found.update(
                f"looked step {t}, nested step {j}: {place}" for t in range(done) for j in range(NESTED_STEPS)
            )
    return found


def _printed_places(expression: RandomExpression, count: int, label: str) -> list[str]:
    needed = expression.needed(count)
    return [
        operation.symbolic.message
        for place, (operation, _) in enumerate(expression.steps, start=count)
        if place in needed and isinstance(operation.symbolic, T.Print)
    ]


@law(sample=25, case=LOOPS, looks=PLACES, mode=MODES, reading=READ)
def a_loop_prints_every_value_once(case: LoopCase, looks: list[bool], mode: Mode, reading: Reading) -> None:
    """Each step prints each value once, on every tier, under any rewrites and reads; values are unchanged."""
    written = io.StringIO()
    printing = _looked_at(case, looks, _printing(written))
    rows, expected_state = run_plainly(case)
    count = len(rows[0])
    found, state = printing.compute(mode, reading, count, name="looked")
    expected = [reading.of(row, count) for row in rows]
    check_same([*found, state], [*expected, expected_state], case.dtype)
    lines = [line.partition(" = ")[0] for line in written.getvalue().splitlines()]
    assert Counter(lines) == _expected_lines(printing, count)


@law(sample=10, case=SMOOTH, looks=PLACES, tier=TIERS)
def a_gradient_repeats_no_step_that_prints(case: LoopCase, looks: list[bool], tier: str) -> None:
    """A rewritten function of results and gradient prints once per step; prints do not change the gradient."""
    written = io.StringIO()
    expected, _ = _with_gradient(case, tier)
    found, inputs = _with_gradient(_looked_at(case, looks, _printing(written)), tier)
    check_same(found, expected, case.dtype)
    printing = _looked_at(case, looks, _printing(written))
    lines = [line.partition(" = ")[0] for line in written.getvalue().splitlines()]
    assert Counter(lines) == _expected_lines(printing, len(run_plainly(case)[0][0])), inputs


def _with_gradient(case: LoopCase, tier: str) -> tuple[list[Array], list[Variable]]:
    loop = built(case, name="looked")
    f = loop.function([*loop.results, *loop.gradients()], Mode(tier, "all"), updates=loop.updates)
    return f(*loop.values), loop.floats


class _FailedError(Exception):
    """A check of the plain loop failed."""


def _sum_of(value: Any) -> float:
    return float(np.sum(value, dtype="float64"))


@law(
    sample=20,
    case=LOOPS,
    looks=PLACES,
    mode=MODES,
    reading=READ,
    which=st.integers(0, 60),
)
def a_check_fails_at_the_step_of_a_plain_loop(
    case: LoopCase, looks: list[bool], mode: Mode, reading: Reading, which: int
) -> None:
    """A check fails at the same step as in a plain loop, and only if it fails there."""
    looks = [*looks, False]
    sums: list[float] = []

    def noted(value: Any) -> Any:
        sums.append(_sum_of(value))
        return value

    look = Operation("note", 1, lambda v: v, noted)
    rows, _ = run_plainly(_looked_at(case, looks, lambda label: lambda place: look))
    count = len(rows[0])
    bounds = sorted({number + 0.25 for number in sums if np.isfinite(number)}) or [0.25]
    bound = bounds[which % len(bounds)]
    assume(all(abs(number - bound) > 1e-2 for number in sums))

    def checked(value: Any) -> Any:
        if _sum_of(value) > bound:
            raise _FailedError
        return value

    def check(value: Variable) -> Variable:
        return T.Assert("the sum is too large")(value, ~(T.sum(T.cast(value, "float64")) > bound))

    asserting = _looked_at(case, looks, lambda label: lambda place: Operation("check", 1, check, checked))
    step = _failing_step(asserting, count)
    try:
        found, _ = asserting.compute(mode, reading, count)
    except AssertFailedError as error:
        assert step is not None and "the sum is too large" in error.what, (error, step)
        assert error.step == step or count == 1, (error, step)  # one step known when building is no loop
        return
    assert step is None, f"no check failed, and that of step {step} should"
    check_same(found, [reading.of(row, count) for row in rows], case.dtype)


def _failing_step(case: LoopCase, count: int) -> int | None:
    """Return the first step at which a plain loop of at most ``count`` steps fails a check."""
    for steps in range(1, count + 1):
        try:
            run_plainly(structs.replace(case, n_steps=steps))
        except _FailedError:
            return steps - 1
    return None
