"""Add floating-point operations and bytes per operation to the record, from the latest shapes of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from scanviz.engine.cost import Work
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.program.known_numbers import CallMet
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.program.planned import Plans
    from scanviz.record.operations import OperationRecord

    # by function and loop; None outside of loops
    AllWork = dict[tuple[int, int | None], list[Work | None]]


def work_of_function(
    key: int, program: Program, plans: Plans, met: CallMet | None, others: Sequence[Plans] = ()
) -> AllWork:
    """Return the work of each instruction of a function for the latest shapes, by the loop whose step contains it.

    The work is None if it is unknown, or differs for the earlier shapes of ``others``: times are not kept per shape.
    """
    from scanviz.engine.program.instructions import all_loops

    found: AllWork = {
        (key, loop.key): _alike(
            loop.body, [known[loop.key] for known in (plans, *others) if loop.key in known]
        )
        for loop, _ in all_loops(program)
        if loop.key in plans
    }
    return found if met is None else found | {(key, None): met.work()}


def _alike(step: Program, plans: Sequence[Plan]) -> list[Work | None]:
    """Return the work of each instruction of a step under the first plan; None if it differs under other plans."""
    from scanviz.engine.cost import same_work
    from scanviz.engine.program.work import work_of

    first, *others = plans
    distinct = [first, *(other for other in others if _shapes(other) != _shapes(first))]
    return same_work(*(_shared_out(work_of(step, plan), plan.groups) for plan in distinct))


def _shared_out(work: list[Work | None], groups: Sequence[Sequence[int]]) -> list[Work | None]:
    """Distribute the bytes of fused operations like their time, by floating-point operations.

    The operation that reads or writes memory would otherwise get all bytes in a few nanoseconds: an impossible bandwidth.
    """
    from scanviz.engine.cost import Work, weights_in

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
        operation if done is None else replace(operation, measures=operation.measures | _numbers(done))
        for operation, done in zip(operations, work, strict=True)
    )


def _numbers(work: Work) -> dict[str, float]:
    numbers = {
        "bytes": float(work.bytes),
        "flops": float(work.flops),
        "product_flops": float(work.product_flops),
    }
    return {name: number for name, number in numbers.items() if number}


__all__ = ["with_work", "work_of_function"]
