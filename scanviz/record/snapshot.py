"""Engine objects as records: ``snapshot(x)`` of a variable, several, a function, or a Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.function import Function
from scanviz.engine.function.names import told_apart
from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import (
    LoopVariable,
    State,
    inner_inputs,
    inner_outputs,
    kind_of,
    step_name,
    taps_of,
)
from scanviz.record.graph import (
    GraphSnapshot,
    LoopSnapshot,
    LoopVariableSnapshot,
    NodeSnapshot,
    VariableSnapshot,
)


def snapshot(what: Any) -> GraphSnapshot:
    """Return a graph as data.

    Parameters
    ----------
    what : Variable, list of Variable, Function, Apply or Scan
        A function gives its graph as rewritten; a Scan or its Apply gives the loop.

    Raises
    ------
    ScanvizTypeError
        If it is none of these.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> [node.op for node in snapshot(T.tanh(T.scalar("x") + 1)).nodes]
    ['add', 'tanh']
    """
    if isinstance(what, Function):
        names = [*[""] * len(what.outputs), *what.updated_names]
        return _Builder(what.name).graph([*what.outputs, *what.updated_values], names)
    if isinstance(what, Variable):
        return _Builder(describe(what)).graph(told_apart([what]), [""])
    if isinstance(what, Apply):
        return _Builder(str(what.op)).graph(told_apart(what.outputs), [""] * len(what.outputs))
    if isinstance(what, Scan):
        return _step(what)
    if isinstance(what, list | tuple) and all(isinstance(each, Variable) for each in what):
        return _Builder(f"{len(what)} variables").graph(told_apart(what), [""] * len(what))
    raise ScanvizTypeError(
        f"{type(what).__name__} has no graph", expected="a variable, a list of them, a function or a Scan"
    )


class _Builder:
    """Collects one graph."""

    def __init__(self, title: str, inputs: Sequence[Variable] = ()) -> None:
        self.title, self.inputs = title, frozenset(inputs)
        self.number: dict[Variable, int] = {}
        self.variables: list[VariableSnapshot] = []
        self.nodes: list[NodeSnapshot] = []
        self.loops: list[LoopSnapshot] = []
        for each in inputs:
            self.place(each)

    def place(self, variable: Variable) -> int:
        """Return the number of a variable."""
        known = self.number.get(variable)
        if known is None:
            known = self.number[variable] = len(self.number)
            role = (
                "computed"
                if variable.owner is not None and variable not in self.inputs
                else leaf_role(variable)
            )
            label = describe(variable) if role != "computed" else variable.name or ""
            self.variables.append(VariableSnapshot(variable.name or "", label, str(variable.type), role))
        return known

    def graph(self, outputs: Sequence[Variable], names: Sequence[str]) -> GraphSnapshot:
        """Return the graph of outputs."""
        for node in toposort(outputs, self.inputs):
            self.node(node)
        wanted = tuple(self.place(each) for each in outputs)
        return GraphSnapshot(
            self.title, tuple(self.variables), tuple(self.nodes), tuple(self.loops), wanted, tuple(names)
        )

    def node(self, node: Apply) -> None:
        """Add an operation, and its loop if it is one."""
        inputs = tuple(self.place(each) for each in node.inputs)
        outputs = tuple(self.place(each) for each in node.outputs)
        source = node.provenance.source
        place, text = (str(source), source.text()) if source is not None else ("", "")
        loop = None
        if isinstance(node.op, Scan):
            loop = len(self.loops)
            self.loops.append(self.loop(ScanView(node)))
        self.nodes.append(NodeSnapshot(str(node.op), inputs, outputs, place, text, loop))

    def loop(self, view: ScanView) -> LoopSnapshot:
        """Return the record of a loop."""
        step = _Builder(view.op.scan_name, view.op.inner_inputs)
        graph = step.graph(view.op.inner_outputs, output_names(view.op))
        variables = tuple(self.loop_variable(each, view, step) for each in view.op.variables)
        until = step.number[view.op.until.condition] if view.op.until is not None else None
        forward = view.op.settings.gradient_of
        return LoopSnapshot(
            view.op.scan_name, variables, graph, until, forward.name if forward is not None else None
        )

    def loop_variable(self, variable: LoopVariable, view: ScanView, step: _Builder) -> LoopVariableSnapshot:
        """Return the record of a loop variable, with both sides' numbers."""
        outer_input, outer_output = view.outer_input(variable), view.outer_output(variable)
        reads, writes = taps_of(variable)
        keep = getattr(variable, "keep", None)
        return LoopVariableSnapshot(
            kind_of(variable),
            variable.name,
            reads,
            writes,
            tuple(step.number[each] for each in inner_inputs(variable)),
            tuple(step.number[each] for each in inner_outputs(variable)),
            self.number[outer_input] if outer_input is not None else None,
            self.number[outer_output] if outer_output is not None else None,
            keep.last if keep is not None else None,
        )


def output_names(op: Scan) -> list[str]:
    """Return what the results of a loop's step are called, in order."""
    names: list[str] = []
    for variable in op.variables:
        taps = list(variable.writes) if isinstance(variable, State) else [0] * len(inner_outputs(variable))
        names.extend(step_name(variable.name, tap) for tap in taps)
    return [*names, "until"] if op.until is not None else names


def leaf_role(variable: Variable) -> str:
    """Return what a variable is that no operation gives."""
    if isinstance(variable, Constant):
        return "constant"
    return "shared" if isinstance(variable, SharedVariable) else "input"


def _step(op: Scan) -> GraphSnapshot:
    """Return the graph of a loop's step alone."""
    return _Builder(op.scan_name, op.inner_inputs).graph(op.inner_outputs, output_names(op))
