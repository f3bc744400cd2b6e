"""Advice about work that could leave a loop: of non-sequences only, products of sequences, random draws.

The rules PushOutNonSeqScan, PushOutSeqScan and batch_draws do this; the advice covers work that they refused or that the mode
excludes.  Only timed operations outside branches count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from scanviz.profiler.advice.figures import operation_ns, whole_ns
from scanviz.profiler.advice.item import Advice, SourcePlace, advise, is_selected
from scanviz.profiler.report.units import amount, counted, duration, share
from scanviz.record.graphs.graph import GraphSnapshot, NodeRecord, ScanRecord
from scanviz.record.model import OperationRecord

_TAGS = ("push_out", "scan")
_PRODUCTS = ("dot", "matmul", "batched_dot", "tensordot")
# One product of all rows took 1 to 43 % of the time of one a row, for rows of 4 to 1,024 numbers (OpenBLAS, one thread).
_LARGE = 0.5
_CALL_NS = 200.0  # overhead of calling one product


def non_sequences(place: SourcePlace) -> Iterator[Advice]:
    """Advise on work of non-sequences only, which every step repeats."""
    loop = place.loop
    if place.snapshot is None or place.step is None:
        return
    found = timed(place, closure(place.step, given_by(place.snapshot, ("non_sequence",))))
    times = max(loop.steps - loop.runs, 0)  # once per run it is needed
    gain = bounded(place, sum(map(operation_ns, found)) * times)
    if not found or not place.is_worth(gain):
        return
    slowest = max(found, key=lambda operation: operation.typical_ns)
    yield advise(
        place,
        "non_sequences",
        f"`{loop.name}` computes the same value again at every step",
        f"Compute {labels(found)} before the loop and pass the result in non_sequences. {_why(place, 'PushOutNonSeqScan')}"
        f" Estimate: its time in all steps but the first of {every(loop.runs)}.",
        f"{spent(place, found)}; {of_run(place, gain)}",
        gain,
        source=slowest.source,
    )


def sequence_products(place: SourcePlace) -> Iterator[Advice]:
    """Advise on products of sequence rows that could be one product of all rows."""
    loop = place.loop
    step = place.step
    if place.snapshot is None or step is None:
        return
    alone = {id(node) for node in closure(step, given_by(place.snapshot, ("non_sequence",)))}
    nodes = closure(step, given_by(place.snapshot, ("non_sequence", "sequence")))
    products = [node for node in nodes if id(node) not in alone and node.op_name in _PRODUCTS]
    found = timed(place, products)
    times = max(loop.steps - loop.runs, 0)
    gain = bounded(place, sum(_saved(operation) for operation in found) * times)
    if not found or not place.is_worth(gain) or is_best_in_step(place, "PushOutSeqScan"):
        return
    slowest = max(found, key=lambda operation: operation.typical_ns)
    until = " The loop may end early: this pays where most of the rows are reached." if loop.has_until else ""
    yield advise(
        place,
        "sequence_product",
        f"`{loop.name}` multiplies row by row what could be one product",
        f"Compute {labels(found)} of all rows at once before the loop and pass the result as a sequence: a step needs nothing"
        f" for it but its row. {_why(place, 'PushOutSeqScan')}{until} Estimate: half of its time in all steps where a row is a"
        " vector, since the one large product takes less than the other half; of larger rows, the calls of it.",
        f"{spent(place, found)}; {of_run(place, gain)}",
        gain,
        source=slowest.source,
    )


def timed(place: SourcePlace, nodes: Sequence[NodeRecord]) -> list[OperationRecord]:
    """Return the timed operations of some nodes of a step."""
    found = {node.operation: place.operation(node.operation) for node in nodes}
    return [
        operation for operation in found.values() if operation is not None and operation_ns(operation) > 0
    ]


def bounded(place: SourcePlace, nanoseconds: float) -> float:
    """Return an estimate, limited to the time of the loop's operations."""
    return min(nanoseconds, place.loop.body_ns * place.loop.steps, float(place.loop.total_ns))


def labels(operations: Sequence[OperationRecord]) -> str:
    """Return the slowest operations, in the order of the step."""
    shown = sorted(
        sorted(operations, key=lambda operation: -operation.typical_ns)[:3],
        key=lambda operation: operation.index,
    )
    more = len(operations) - len(shown)
    return ", ".join(f"`{operation.label}`" for operation in shown) + (
        f" and {counted(more, 'other operation')}" if more else ""
    )


def _why(place: SourcePlace, rule: str) -> str:
    rewrites = place.function.rewrites
    if rewrites is None:
        return "The record does not say why it stayed in the loop."
    if not is_selected(rewrites.selection, rule, _TAGS):
        return (
            f'The rewrite that does this, {rule}, is left out by rewrites="{rewrites.selection}": select it instead, if'
            " nothing speaks against it."
        )
    refusal = place.refusal(rule)
    if refusal is None:
        return f"The record does not say why {rule} left it in the loop."
    return f"{rule} left it: {refusal.why}."


def is_best_in_step(place: SourcePlace, rule: str) -> bool:
    """Return whether a rule left work in a loop because it is fastest there, as machine code."""
    refusal = place.refusal(rule)
    return refusal is not None and refusal.why.startswith("machine code runs")


def _saved(product: OperationRecord) -> float:
    """Return the certain gain per step from one product of all rows."""
    time = operation_ns(product)
    is_vector = product.output.count("[") == 1 and "," not in product.output
    return _LARGE * time if is_vector else min(_CALL_NS, _LARGE * time)


def spent(place: SourcePlace, operations: Sequence[OperationRecord]) -> str:
    """Return the share of operations in a typical step, in words."""
    time, whole = sum(map(operation_ns, operations)), place.loop.body_ns
    return f"{duration(time)} of {duration(whole)} a step ({share(time, whole)}), {amount(place.loop.steps)} steps"


def of_run(place: SourcePlace, gain: float) -> str:
    """Return the share of a time in the run, in words."""
    whole = whole_ns(place.record)
    return f"{duration(gain)} of the {duration(whole)} of the run ({share(gain, whole)})"


def every(runs: int) -> str:
    """Return "the run", or "each of N runs"."""
    return "the run" if runs == 1 else f"each of {amount(runs)} runs"


def given_by(loop: ScanRecord, kinds: Collection[str]) -> set[str]:
    """Return the inputs of a step from loop variables of some kinds."""
    return {key for variable in loop.variables if variable.kind in kinds for key in variable.inner_inputs}


def closure(graph: GraphSnapshot, given: Iterable[str]) -> list[NodeRecord]:
    """Return the nodes that depend only on some variables and constants, without sizes and nodes of constants alone."""
    constants = {key for key, leaf in graph.leaves.items() if leaf.role == "constant"}
    known, found = constants | set(given), []
    for node in graph.nodes:
        if node.inputs and known.issuperset(node.inputs) and node.op_name != "dimension":
            known |= set(node.outputs)
            if not constants.issuperset(node.inputs):
                found.append(node)
    return found


# Random draws that could leave a loop.  A draw of a few numbers is mostly the call of it (40 to 110 µs for any distribution); a
# number of a large draw takes 22 to 320 ns.

_PREFIX = "draw_"
_NUMBER_NS = 350.0
_SHAPE = re.compile(r"\[([\d, ]*)\]$")


def draws(place: SourcePlace) -> Iterator[Advice]:
    """Advise on draws whose parameters and size are the same in every step."""
    loop, snapshot, step = place.loop, place.snapshot, place.step
    if snapshot is None or step is None or loop.gradient_of is not None or not loop.runs:
        return
    states = given_by(snapshot, ("carry",))
    fixed = given_by(snapshot, ("non_sequence",))
    known = fixed | {key for key, leaf in step.leaves.items() if leaf.role == "constant"}
    known |= {key for node in closure(step, fixed) for key in node.outputs}
    movable: dict[int | None, NodeRecord] = {}
    for node in step.nodes:
        if node.op_name.startswith(_PREFIX) and node.inputs and node.inputs[0] in states:
            states.add(node.outputs[0])  # a later draw may continue from its state
            of_one_set = (
                "permutation" in node.op or "replace=False" in node.op
            )  # numbers of one draw depend on one another
            if known.issuperset(node.inputs[1:]) and not of_one_set:
                movable[node.operation] = node
    found = timed(place, list(movable.values()))
    sizes = {one.index: _size(step.variables[movable[one.index].outputs[-1]].type) for one in found}
    saved = sum(max(0.0, operation_ns(one) - _NUMBER_NS * (sizes[one.index] or 0)) for one in found) * max(
        loop.steps - loop.runs, 0
    )
    gain, unsized = bounded(place, saved), None in sizes.values()
    if not found or not place.is_worth(gain) or is_best_in_step(place, "batch_draws"):
        return
    until = (
        " The loop may end early: draws of steps that it does not reach are wasted." if loop.has_until else ""
    )
    how = "Estimate: its time in all steps, less what as many numbers take in one draw, at most"
    refusal = place.refusal("batch_draws")
    why = "" if refusal is None else f"; the rewrite left them there: {refusal.why}"
    yield advise(
        place,
        "draws",
        f"`{loop.name}` draws at every step what could be drawn before it",
        f"Draw {labels(found)} for all steps at once before the loop, with the number of steps as the first of its size, and pass"
        f" the result as a sequence. The numbers are other ones of the same distribution, and all of them are kept.{until} "
        + (
            "Its size is not in the record: it pays where that is small."
            if unsized
            else f"Estimate: its time in all steps, {how}."
        ),
        f"{spent(place, found)}; {of_run(place, sum(map(operation_ns, found)) * loop.steps)}{why}",
        None if unsized else gain,
        source=max(found, key=lambda operation: operation_ns(operation)).source,
        most_ns=gain if unsized else None,
    )


def _size(output: str) -> int | None:
    """Return the number of elements of a printed type; None if its shape is unknown.

    Examples
    --------
    >>> _size("float64[3, 4]"), _size("float64[]"), _size("float64[?, 4]")
    (12, 1, None)
    """
    shape = _SHAPE.search(output)
    return math.prod(int(size) for size in shape.group(1).split(",") if size.strip()) if shape else None
