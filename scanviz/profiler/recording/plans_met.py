"""The plans and shapes of a function's calls: plans show the memory rules' effects, shapes give numbers to costs."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from msgspec.structs import replace

from scanviz.engine.cost import Work, same_work, weights_in
from scanviz.engine.function import Function
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import Program, all_loops
from scanviz.engine.program.known_numbers import MOST_OTHERS, CallMet
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.planned import Plans
from scanviz.engine.program.work import work_of
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.graphs.rewrites_snapshot import SymbolicCosts, with_numbers, with_planned
from scanviz.record.operations import OperationRecord

# by the key of the loop; None outside of loops
AllWork = dict[int | None, list[Work | None]]


class PlansMet:
    """The latest plans and shapes of one function, which is not kept alive; it may have been called before the recording.

    Attributes
    ----------
    program : Program
        The function's Program.
    costs : SymbolicCosts or None
        The symbolic costs of the versions of the function's graph, if its rewrites are recorded.
    code_made : bool
        Whether code was compiled for new shapes in a call that has not ended.
    """

    def __init__(self, event: CompiledFunction) -> None:
        self._function, self.program = weakref.ref(event.function), event.program
        self._plans: Plans = event.function.memory_plans()
        self._met: CallMet | None = event.function.call_met()
        if self._met is not None:
            self._met.begin()
        self._others: list[Plans] = []  # earlier plans of observed calls
        self._called = self.code_made = False  # whether the plans are of an observed call
        self.costs: SymbolicCosts | None = None

    def function(self) -> Function | None:
        """Return the function if it is still there."""
        return self._function()

    def call_ended(self) -> None:
        """Update the plans at the end of a call that compiled code."""
        function = self._function() if self.code_made else None
        if function is not None:
            if self._called and len(self._others) < MOST_OTHERS:
                self._others.append(self._plans)
            self._plans = function.memory_plans()
        self._called, self.code_made = True, False

    def work(self) -> AllWork:
        """Return the work of each instruction for the latest shapes."""
        return work_of_function(self.program, self._plans, self._met, self._others)

    def rewrites(self, record: RewritesRecord | None) -> RewritesRecord | None:
        """Return a record of rewrites with the planned ones, and with costs for the latest shapes."""
        if record is None:
            return None

        if self.costs is not None and self._met is not None and self._met.shapes is not None:
            record = with_numbers(record, *self.costs.numbers(self._met))
        return with_planned(record, self.program, self._plans) if self._plans else record


def work_of_function(
    program: Program, plans: Plans, met: CallMet | None, others: Sequence[Plans] = ()
) -> AllWork:
    """Return the work of each instruction of a function for the latest shapes, by the loop whose step contains it.

    The work is None if it is unknown, or differs for the earlier shapes of ``others``: times are not kept per shape.
    """
    found: AllWork = {
        loop.key: _alike(loop.body, [known[loop.key] for known in (plans, *others) if loop.key in known])
        for loop, _ in all_loops(program)
        if loop.key in plans
    }
    return found if met is None else found | {None: met.work()}


def _alike(step: Program, plans: Sequence[Plan]) -> list[Work | None]:
    """Return the work of each instruction of a step under the first plan; None if it differs under other plans."""
    first, *others = plans
    distinct = [first, *(other for other in others if _shapes(other) != _shapes(first))]
    return same_work(*(_shared_out(work_of(step, plan), plan.groups) for plan in distinct))


def _shared_out(work: list[Work | None], groups: Sequence[Sequence[int]]) -> list[Work | None]:
    """Distribute the bytes of fused operations like their time, by floating-point operations.

    The operation that reads or writes memory would otherwise get all bytes in a few nanoseconds: an impossible bandwidth.
    """
    found = list(work)
    for group in groups:
        known = [(index, done) for index in group if (done := work[index]) is not None]
        if len(known) < 2:
            continue
        weights = weights_in([index for index, _ in known], work)
        left, weighing = sum(done.bytes for _, done in known), sum(weights.values())
        for index, done in known:
            part = left * weights[index] // weighing
            found[index] = Work(done.flops, done.product_flops, part)
            left, weighing = left - part, weighing - weights[index]
    return found


def _shapes(plan: Plan) -> list[tuple[int, ...] | None]:
    return [place.shape for place in plan.places]


def with_work(
    operations: tuple[OperationRecord, ...], work: Sequence[Work | None] | None
) -> tuple[OperationRecord, ...]:
    """Return the operations with their work as declared measures, if known."""
    if work is None or len(work) != len(operations):
        return operations
    return tuple(
        replace(operation, measures=operation.measures | _numbers(done))
        for operation, done in zip(operations, work, strict=True)
    )


def _numbers(done: Work | None) -> dict[str, float]:
    if done is None:
        return {}
    numbers = {"bytes": done.bytes, "flops": done.flops, "product_flops": done.product_flops}
    return {name: float(number) for name, number in numbers.items() if number}
