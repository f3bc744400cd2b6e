"""Advice about random draws that could leave a loop, where the rewrite that takes them out (``batch_draws``) did not.

A draw of a few numbers is mostly the call of it (40 to 110 µs where it was measured, for any distribution); a number takes
nanoseconds.  A draw can leave where its parameters and its size are of non-sequences and constants alone.  The numbers are other
ones then, of the same distribution: the counters of the generator are taken in another order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from scanviz.profiler.advice.closures import closure, given_by, name_of
from scanviz.profiler.advice.figures import operation_ns
from scanviz.profiler.advice.item import Advice, SourcePlace
from scanviz.profiler.advice.moving import bounded, labels, of_run, spent, timed, together
from scanviz.record.graph import GraphSnapshot, NodeSnapshot

_PREFIX = "draw_"
# Nanoseconds of a number in a large draw, at most: 22 to 51 were measured for these, up to 320 for the others, which repeat some.
_SIMPLE = ("bernoulli", "exponential", "gumbel", "integers", "laplace", "lognormal", "normal", "uniform")
_SIMPLE_NS, _OTHER_NS = 60.0, 350.0
_SHAPE = re.compile(r"\[([\d, ]*)\]$")


def draws(place: SourcePlace) -> Iterator[Advice]:
    """Give advice on draws of which the step decides nothing."""
    loop, snapshot = place.loop, place.snapshot
    if snapshot is None or loop.gradient_of is not None or not loop.runs:
        return
    step = snapshot.step
    states = given_by(snapshot, ("carry",))
    fixed = given_by(snapshot, ("non_sequence",))
    known = fixed | {k for k, variable in enumerate(step.variables) if variable.role == "constant"}
    known |= {number for node in closure(step, fixed) for number in node.outputs}
    movable: dict[int | None, NodeSnapshot] = {}
    for node in step.nodes:
        if name_of(node.op).startswith(_PREFIX) and node.inputs and node.inputs[0] in states:
            states.add(node.outputs[0])  # a draw after it may go on with its state
            if known.issuperset(node.inputs[1:]) and not _is_of_one_set(node.op):
                movable[node.operation] = node
    found = timed(place, list(movable.values()))
    left = {operation.index: _in_one_draw(movable[operation.index], step) for operation in found}
    saved = sum(max(0.0, operation_ns(loop, one) - (left[one.index] or 0.0)) for one in found)
    gain = bounded(place, saved * max(loop.steps - loop.runs, 0))
    spending = together(place, found) * loop.steps
    if not found or not place.is_worth(gain):
        return
    unsized = None in left.values()
    until = (
        " The loop may end early: numbers of steps that it does not reach are drawn for nothing."
        if loop.has_until
        else ""
    )
    slowest = max(found, key=lambda operation: operation_ns(loop, operation))
    yield Advice(
        "draws",
        f"`{loop.name}` draws at every step what could be drawn before it",
        f"Draw {labels(found)} for all steps at once before the loop, with the number of steps as the first of its size, and pass"
        f" the result as a sequence. The numbers are other ones of the same distribution, and all of them are kept.{until} "
        + (
            "Its size is not in the record: it pays where that is small."
            if unsized
            else "Estimate: its time in all steps, less what as many numbers take in one draw, at most."
        ),
        f"{spent(place, found)}; {of_run(place, spending)}{_why_there(place)}",
        slowest.source or loop.source,
        place.function.name,
        loop.name,
        None if unsized else gain,
        None,
        gain if unsized else None,
    )


def _why_there(place: SourcePlace) -> str:
    """Return why the rewrite left the draws in the loop, where that was recorded."""
    refusal = place.refusal("batch_draws")
    return "" if refusal is None else f"; the rewrite left them there: {refusal.why}"


def _is_of_one_set(op: str) -> bool:
    """Return whether the numbers of one draw depend on one another, so that a larger draw is another thing."""
    return "permutation" in op or "replace=False" in op


def _in_one_draw(node: NodeSnapshot, step: GraphSnapshot) -> float | None:
    """Return the nanoseconds that a draw's numbers take at most as a part of a large draw; None where there is no telling."""
    count = numbers(step.variables[node.outputs[1]].type) if len(node.outputs) == 2 else None
    distribution = name_of(node.op).removeprefix(_PREFIX)
    return None if count is None else count * (_SIMPLE_NS if distribution in _SIMPLE else _OTHER_NS)


def numbers(output: str) -> int | None:
    """Return how many numbers a printed type has; None where its shape is not known.

    Examples
    --------
    >>> numbers("float64[3, 4]"), numbers("float64[]"), numbers("float64[?, 4]")
    (12, 1, None)
    """
    shape = _SHAPE.search(output)
    return math.prod(int(size) for size in shape.group(1).split(",") if size.strip()) if shape else None


__all__ = ["draws", "numbers"]
