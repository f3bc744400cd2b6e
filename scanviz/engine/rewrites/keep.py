"""ScanSaveMem: of a loop's result, keep only the rows that someone reads.

A result that is only ever read as ``out[-k]`` with known k (or as its last row, by an update) needs its last rows alone: the loop
then runs in a ring of them.  Loops inside the step are looked at first.  ``out[-k]`` stays ``out[-k]``: it is the number
of rows kept that changes, in the Scan, and never an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort, users
from scanviz.engine.ops.index import INDEX, LAST_ROW
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import Carry, Keep, LoopVariable, State, StepOutput, Until, inner_outputs

_NAME = "ScanSaveMem"


def save_memory(outputs: Sequence[Variable]) -> list[Variable]:
    """Return ``outputs`` with each loop keeping only the rows that are read."""
    wanted = list(outputs)
    readers = users(wanted)
    mapping: dict[Variable, Variable] = {}
    for node in toposort(wanted):
        if isinstance(node.op, Scan):
            op = _kept(node, node.op, readers, set(wanted))
            if op is not node.op:
                fresh = _rebuilt(node, op, mapping)
                mapping.update(zip(node.outputs, fresh.outputs, strict=True))
                continue
        if any(each in mapping for each in node.inputs):
            again = replace(node.outputs, mapping, check=False)
            mapping.update({old: new for old, new in zip(node.outputs, again, strict=True) if old is not new})
    return [mapping.get(each, each) for each in wanted]


def _rebuilt(node: Apply, op: Scan, mapping: dict[Variable, Variable]) -> Apply:
    inputs = [mapping.get(each, each) for each in node.inputs]
    with made_by(_NAME, node.provenance, (node.birth,)):
        return Apply(
            op, inputs, op.infer(inputs), birth=node.birth, names=[each.name for each in node.outputs]
        )


def _kept(
    node: Apply, op: Scan, readers: dict[Variable, list[tuple[Apply, int]]], wanted: set[Variable]
) -> Scan:
    """Return the loop with the rows to keep of each result set, and with its step's own loops treated too."""
    view = ScanView(node)
    inner = save_memory(op.inner_outputs)
    changed = any(new is not old for new, old in zip(inner, op.inner_outputs, strict=True))
    results = iter(inner)
    variables: list[LoopVariable] = []
    for variable in op.variables:
        given = [next(results) for _ in inner_outputs(variable)]
        keep = _rows_read(variable, view, readers, wanted)
        changed = changed or (keep is not None and keep != getattr(variable, "keep", keep))
        variables.append(_with(variable, given, keep))
    until = Until(next(results)) if op.until is not None else None
    return op.with_variables(variables, until) if changed else op


def _with(variable: LoopVariable, given: list[Variable], keep: Keep | None) -> LoopVariable:
    match variable:
        case State():
            writes = dict(zip(variable.writes, given, strict=True))
            return State(variable.name, variable.reads, writes, keep or variable.keep, variable.shared)
        case StepOutput():
            return StepOutput(variable.name, given[0], keep or variable.keep)
        case Carry():
            return Carry(variable.name, variable.read, given[0], variable.shared)
        case _:
            return variable


def _rows_read(
    variable: LoopVariable,
    view: ScanView,
    readers: dict[Variable, list[tuple[Apply, int]]],
    wanted: set[Variable],
) -> Keep | None:
    """Return how many last rows of a result are read; None where all are, or where it cannot be told."""
    if not isinstance(variable, State | StepOutput) or (
        isinstance(variable, State) and variable.kind == "mitmot"
    ):
        return None
    result = view.outer_output(variable)
    if result is None or result in wanted or variable.keep.last is not None or result not in readers:
        return None
    depths = [_depth(node, position) for node, position in readers[result]]
    known = [depth for depth in depths if depth is not None]
    return Keep(max(known)) if len(known) == len(depths) else None


def _depth(node: Apply, position: int) -> int | None:
    """Return how far from the end a reader looks, None if it looks elsewhere too."""
    if node.op.declaration is LAST_ROW and position == 0:
        return 1
    if node.op.declaration is not INDEX or position != 0:
        return None
    entries = [each for each in node.op.parameters.entries if each.kind != "newaxis"]
    first = entries[0] if entries else None
    if first is None or first.kind != "integer" or not isinstance(first.start, int) or first.start >= 0:
        return None
    return -first.start
