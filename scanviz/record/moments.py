"""The graphs of one function's history as rows (:mod:`scanviz.record.graph_rows`), by the names that its lines have.

A node's rows are written once: a later moment mostly holds the same nodes, and a loop that no rule touched is taken whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import LoopVariable, inner_inputs, inner_outputs, kind_of, taps_of
from scanviz.record.graph_lines import GraphLines
from scanviz.record.graph_rows import written
from scanviz.record.snapshot import leaf_role, output_names


class Moments:
    """Writes graphs as rows.

    Parameters
    ----------
    names : GraphLines
        Gives variables the names that they keep; it has written the lines of a graph before its rows are.
    title : str
        What the graphs are of.
    """

    def __init__(self, names: GraphLines, title: str) -> None:
        self.names, self.title = names, title
        self.sources: dict[str, SourceLine] = {}
        self._constants: dict[Constant, str] = {}
        self._blocks: dict[tuple[Apply, int], tuple[str, ...]] = {}
        self._steps: dict[tuple[int, int], tuple[Scan, list[str]]] = {}  # of loops as ops
        self._leaves: dict[tuple[Variable, int, str], str] = {}
        self._places: dict[SourceLine, str] = {}
        self._renamed = 0

    def rows(self, outputs: Sequence[Variable]) -> list[str]:
        """Return the rows of a graph."""
        if self.names.renamed != self._renamed:
            self._renamed = self.names.renamed
            self._blocks.clear()  # some hold the name of before
            self._steps.clear()
        names = [*self.names.output_names, *[""] * len(outputs)][: len(outputs)]
        return self._graph(outputs, (), names, self.title, 0)

    def key(self, variable: Variable) -> str:
        """Return the name that a variable keeps; constants have one too."""
        if not isinstance(variable, Constant) or variable.name:
            return self.names.name(variable)
        known = self._constants.get(variable)
        if known is None:
            known = self._constants[variable] = f"{self.names.name(variable)}#{len(self._constants) + 1}"
        return known

    def _graph(
        self,
        outputs: Sequence[Variable],
        inputs: Sequence[Variable],
        names: Sequence[str],
        title: str,
        depth: int,
    ) -> list[str]:
        found = [self._leaf(each, depth, "parameter") for each in inputs]
        inside = frozenset(inputs)
        leaves: dict[Variable, None] = {}
        nodes = toposort(outputs, inputs)
        for node in nodes:
            leaves.update((each, None) for each in node.inputs if each.owner is None and each not in inside)
        leaves.update((each, None) for each in outputs if each.owner is None and each not in inside)
        found += [self._leaf(each, depth, leaf_role(each)) for each in leaves]
        for node in sorted(nodes, key=self.names.number):
            block = self._blocks.get((node, depth))
            if block is None:
                block = self._blocks[node, depth] = tuple(self._node(node, depth))
            found += block
        found.append(written([depth, "o", [self.key(each) for each in outputs], list(names), title]))
        return found

    def _leaf(self, variable: Variable, depth: int, role: str) -> str:
        row = self._leaves.get((variable, depth, role))
        if row is None:
            named = variable.name or ""
            label = named if role == "parameter" and named else describe(variable)
            parts = [depth, "v", self.key(variable), named, label, str(variable.type), role]
            row = self._leaves[variable, depth, role] = written(parts)
        return row

    def _node(self, node: Apply, depth: int) -> list[str]:
        source = self._place(node.provenance.source)
        results = [[self.key(each), each.name or "", str(each.type)] for each in node.outputs]
        given = [self.key(each) for each in node.inputs]
        found = [written([depth, "n", self.names.key(node), str(node.op), given, results, source])]
        return [*found, *self._loop(ScanView(node), depth)] if isinstance(node.op, Scan) else found

    def _place(self, source: SourceLine | None) -> str:
        """Return a line as ``file:line``, which takes a while to be written and is often asked for."""
        if source is None:
            return ""
        known = self._places.get(source)
        if known is None:
            known = self._places[source] = str(source)
            self.sources.setdefault(known, source)
        return known

    def _loop(self, view: ScanView, depth: int) -> list[str]:
        op = view.op
        until = self.key(op.until.condition) if op.until is not None else None
        forward = op.settings.gradient_of
        head = written([depth, "l", op.scan_name, forward.name if forward is not None else None, until])
        variables = [self._variable(each, view, depth) for each in op.variables]
        return [head, *variables, *self._step(op, depth + 1)]

    def _step(self, op: Scan, depth: int) -> list[str]:
        """Return the rows of a step, which a loop that is only rebuilt over other inputs has too."""
        known = self._steps.get((id(op), depth))
        if known is None:
            rows = self._graph(op.inner_outputs, op.inner_inputs, output_names(op), op.scan_name, depth)
            known = self._steps[id(op), depth] = (
                op,
                rows,
            )  # the op stays alive as long as its id stands for it
        return known[1]

    def _variable(self, variable: LoopVariable, view: ScanView, depth: int) -> str:
        outer, result = view.outer_input(variable), view.outer_output(variable)
        keep = getattr(variable, "keep", None)
        return written(
            [
                depth,
                "s",
                kind_of(variable),
                variable.name,
                *map(list, taps_of(variable)),
                [self.key(each) for each in inner_inputs(variable)],
                [self.key(each) for each in inner_outputs(variable)],
                self.key(outer) if outer is not None else None,
                self.key(result) if result is not None else None,
                keep.last if keep is not None else None,
            ]
        )
