"""Advice about work that could leave a loop: what depends on non-sequences alone, and products of sequences.

The rules PushOutNonSeqScan and PushOutSeqScan do this by themselves; what is found here is what they refused or were not
allowed to do.  Only operations that were timed count, and those of a branch are left alone: a step may not take it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from scanviz.profiler.advice.item import Advice, SourcePlace, is_selected
from scanviz.profiler.report.units import amount, counted, duration, share
from scanviz.record.graph import GraphSnapshot, LoopSnapshot, NodeSnapshot
from scanviz.record.model import OperationRecord

_TAGS = ("push_out", "scan")
_PRODUCTS = ("dot", "matmul", "batched_dot", "tensordot")


def non_sequences(place: SourcePlace) -> Iterator[Advice]:
    """Give advice on work of non-sequences alone that is done again at every step."""
    loop = place.loop
    if place.snapshot is None:
        return
    nodes = _closure(place.snapshot, ("non_sequence",))
    found = _timed(place, nodes)
    times = max(loop.steps - loop.runs, 0)  # once a run it is needed anyway
    gain = _bounded(place, sum(operation.mean_ns for operation in found) * times)
    if not found or not place.is_worth(gain):
        return
    slowest = max(found, key=lambda operation: operation.mean_ns)
    yield Advice(
        "non_sequences",
        f"`{loop.name}` computes the same value again at every step",
        f"Compute {_labels(found)} before the loop and pass the result in non_sequences. {_why(place, 'PushOutNonSeqScan')}"
        f" Estimate: its time in all steps but the first of {_every(loop.runs)}.",
        f"{_spent(place, found)}; {_of(place, gain)}",
        slowest.source or loop.source,
        place.function.name,
        loop.name,
        gain,
    )


def sequence_products(place: SourcePlace) -> Iterator[Advice]:
    """Give advice on products of sequences, which one product of all rows could replace."""
    loop = place.loop
    if place.snapshot is None:
        return
    alone = {id(node) for node in _closure(place.snapshot, ("non_sequence",))}
    nodes = _closure(place.snapshot, ("non_sequence", "sequence"))
    products = [node for node in nodes if id(node) not in alone and _name(node.op) in _PRODUCTS]
    found = _timed(place, products)
    times = max(loop.steps - loop.runs, 0)
    gain = _bounded(place, sum(operation.mean_ns for operation in found) * times)
    if not found or not place.is_worth(gain):
        return
    slowest = max(found, key=lambda operation: operation.mean_ns)
    until = " The loop may end early: this pays where most of the rows are reached." if loop.has_until else ""
    yield Advice(
        "sequence_product",
        f"`{loop.name}` multiplies row by row what could be one product",
        f"Compute {_labels(found)} of all rows at once before the loop and pass the result as a sequence: a step needs nothing"
        f" for it but its row. {_why(place, 'PushOutSeqScan')}{until} Estimate: at most its time in all steps; the one large"
        " product takes a part of that.",
        f"{_spent(place, found)}; {_of(place, gain)}",
        slowest.source or loop.source,
        place.function.name,
        loop.name,
        gain,
    )


def _closure(loop: LoopSnapshot, kinds: Collection[str]) -> list[NodeSnapshot]:
    """Return the nodes of a step that depend on loop variables of some kinds, and on constants, alone."""
    step = loop.step
    given = {
        number for variable in loop.variables if variable.kind in kinds for number in variable.inner_inputs
    }
    known = given | {k for k, variable in enumerate(step.variables) if variable.role == "constant"}
    found = []
    for node in step.nodes:
        if node.inputs and all(number in known for number in node.inputs) and _name(node.op) != "dimension":
            found.append(node)
            known |= set(node.outputs)
    return [node for node in found if not _is_of_constants(node, step)]


def _is_of_constants(node: NodeSnapshot, step: GraphSnapshot) -> bool:
    size = len(step.variables)
    return all(0 <= number < size and step.variables[number].role == "constant" for number in node.inputs)


def _name(op: str) -> str:
    return op.partition("{")[0].partition("[")[0]


def _timed(place: SourcePlace, nodes: Sequence[NodeSnapshot]) -> list[OperationRecord]:
    found = {node.operation: place.operation(node.operation) for node in nodes}
    return [operation for operation in found.values() if operation is not None and operation.mean_ns > 0]


def _bounded(place: SourcePlace, nanoseconds: float) -> float:
    """Return an estimate that is no more than the operations of the loop took."""
    return min(nanoseconds, place.loop.body_ns * place.loop.steps, float(place.loop.total_ns))


def _labels(operations: Sequence[OperationRecord]) -> str:
    """Return the slowest operations, in the order of the step."""
    shown = sorted(
        sorted(operations, key=lambda operation: -operation.mean_ns)[:3],
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
    if "asked to run on the tier" in refusal.why:
        return f"{rule} left it: {refusal.why}, and nothing is moved out of such a loop; leaving out mode= of the scan does it too."
    return f"{rule} left it: {refusal.why}."


def _spent(place: SourcePlace, operations: Sequence[OperationRecord]) -> str:
    mean = sum(operation.mean_ns for operation in operations)
    part = share(mean, place.loop.body_ns)
    return f"{duration(mean)} of {duration(place.loop.body_ns)} a step ({part}), {amount(place.loop.steps)} steps"


def _of(place: SourcePlace, gain: float) -> str:
    return f"{duration(gain)} of the {duration(place.record.wall_ns)} of the run ({share(gain, place.record.wall_ns)})"


def _every(runs: int) -> str:
    return "the run" if runs == 1 else f"each of {amount(runs)} runs"


__all__ = ["non_sequences", "sequence_products"]
