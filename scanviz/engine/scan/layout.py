"""The documents' flat views of a Scan, all derived from its loop variables.

Orders, as the internals documents give them:

- outer inputs: n_steps, sequences, mitmot, mitsot, sitsot, shared, nitsot lengths, non-sequences
- inner inputs: sequences, mitmot taps, mitsot taps, sitsot, shared, non-sequences
- inner outputs: mitmot taps, mitsot, sitsot, nitsot, shared, then the stop condition
- outer outputs: mitmot, mitsot, sitsot, nitsot, shared

("shared" are the carries; nitsot and shared swap places between inputs and outputs.)  Nitsot lengths are entries of
the documents only: here a loop has one length, so the entry is the number of steps.  Indices refer to these lists,
never to the inputs of the Apply.  Source: ``reference/001_scan_internals.txt`` and ``field/scan_features.md`` section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import accumulate

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    State,
    inner_inputs,
    inner_outputs,
    kind_of,
)

OUTER_INPUT_ORDER = ("sequence", "mitmot", "mitsot", "sitsot", "carry", "nitsot", "non_sequence")
INNER_INPUT_ORDER = ("sequence", "mitmot", "mitsot", "sitsot", "carry", "non_sequence")
OUTPUT_ORDER = ("mitmot", "mitsot", "sitsot", "nitsot", "carry")

Spans = dict[LoopVariable, range]
VarMapping = dict[int, int] | dict[int, list[int]]


class Layout:
    """The flat orders of a Scan and the mappings between them.

    Parameters
    ----------
    scan : Scan or Apply
        The loop; an Apply also gives the outer variables.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> total, updates = scanviz.scan(lambda x, s: s + x, sequences=T.vector("x"), outputs_info=T.constant(0.0))
    >>> Layout(total.owner).var_mappings["inner_inp_from_outer_inp"]
    {0: [], 1: [0], 2: [1]}
    """

    def __init__(self, scan: Scan | Apply) -> None:
        self.view = ScanView(scan) if isinstance(scan, Apply) else None
        self.op = self.view.op if self.view is not None else scan
        assert isinstance(self.op, Scan)
        self.scan: Scan = self.op

    def _sorted(self, order: Iterable[str]) -> list[LoopVariable]:
        return [variable for kind in order for variable in self.scan.variables if kind_of(variable) == kind]

    @staticmethod
    def _spans(variables: list[LoopVariable], width: Callable[[LoopVariable], int], start: int = 0) -> Spans:
        ends = list(accumulate((width(variable) for variable in variables), initial=start))
        return {variable: range(a, b) for variable, a, b in zip(variables, ends, ends[1:], strict=False)}

    @cached_property
    def outer_input_spans(self) -> Spans:
        """Loop variable → its indices among the outer inputs, where index 0 is n_steps."""
        return self._spans(self._sorted(OUTER_INPUT_ORDER), lambda _: 1, start=1)

    @cached_property
    def inner_input_spans(self) -> Spans:
        """Loop variable → its indices among the inner inputs."""
        return self._spans(self._sorted(INNER_INPUT_ORDER), lambda variable: len(inner_inputs(variable)))

    @cached_property
    def inner_output_spans(self) -> Spans:
        """Loop variable → its indices among the inner outputs."""
        return self._spans(self._sorted(OUTPUT_ORDER), lambda variable: len(inner_outputs(variable)))

    @cached_property
    def outer_output_spans(self) -> Spans:
        """Loop variable → its index among the outer outputs."""
        return self._spans(self._sorted(OUTPUT_ORDER), lambda _: 1)

    @cached_property
    def inner_inputs(self) -> list[Variable]:
        """The inner inputs in the documents' order."""
        return [inner for variable in self.inner_input_spans for inner in inner_inputs(variable)]

    @cached_property
    def inner_outputs(self) -> list[Variable]:
        """The inner outputs in the documents' order, the stop condition last."""
        results = [output for variable in self.inner_output_spans for output in inner_outputs(variable)]
        return [*results, self.scan.until.condition] if self.scan.until else results

    @cached_property
    def outer_inputs(self) -> list[Variable]:
        """The outer inputs in the documents' order; the entry of a nitsot's length is the number of steps."""
        view = self._bound()
        given = [view.outer_input(span) for span in self.outer_input_spans]
        return [view.n_steps, *(variable if variable is not None else view.n_steps for variable in given)]

    @cached_property
    def outer_outputs(self) -> list[Variable]:
        """The outer outputs in the documents' order."""
        view = self._bound()
        return [output for span in self.outer_output_spans if (output := view.outer_output(span)) is not None]

    def _bound(self) -> ScanView:
        if self.view is None:
            from scanviz.engine.errors import ScanvizValueError

            raise ScanvizValueError("a Scan op alone has no outer variables", fix="Layout(result.owner)")
        return self.view

    @cached_property
    def var_mappings(self) -> dict[str, VarMapping]:
        """The twelve maps between the four lists, by the documents' names.

        A map to inner variables gives lists (possibly empty); a map to outer ones gives an index, or -1 for none.
        ``n_steps`` has entries that lead nowhere; the stop condition has none.
        """
        lists = {
            "outer_inp": self.outer_input_spans,
            "inner_inp": self.inner_input_spans,
            "inner_out": self.inner_output_spans,
            "outer_out": self.outer_output_spans,
        }
        maps: dict[str, VarMapping] = {}
        for target, target_spans in lists.items():
            for source, source_spans in lists.items():
                if source == target:
                    continue
                maps[f"{target}_from_{source}"] = _mapping(source, source_spans, target, target_spans)
        return maps

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Return ``pattern[i][j]``: whether inner output j of one step depends on inner input i, condition excluded."""
        results = self.inner_outputs[: len(self.inner_outputs) - (self.scan.until is not None)]
        reached = [reaching_inputs(result, self.inner_inputs) for result in results]
        return [[variable in found for found in reached] for variable in self.inner_inputs]

    def connection_pattern(self) -> list[list[bool]]:
        """Return ``pattern[i][j]``: whether outer output j depends on outer input i over any number of steps.

        Rows of n_steps and of nitsot lengths are all False, as in the documents: they carry no gradient.
        """
        matrix = connection_matrix(self.scan)
        outputs = list(self.outer_output_spans)
        rows = [[False] * len(outputs)]
        rows += [[(source, target) in matrix for target in outputs] for source in self.outer_input_spans]
        return rows


def _mapping(source: str, source_spans: Spans, target: str, target_spans: Spans) -> VarMapping:
    """Return one map: index of a source entry → indices of the same loop variable in the target list."""
    single = target.startswith("outer")
    entries: dict[int, list[int]] = {0: []} if source == "outer_inp" else {}
    for variable, span in source_spans.items():
        found = list(target_spans.get(variable, ()))
        entries.update(dict.fromkeys(span, found))
    if single:
        return {index: (found[0] if found else -1) for index, found in sorted(entries.items())}
    return {index: list(found) for index, found in sorted(entries.items())}


def reaching_inputs(output: Variable, inputs: Collection[Variable]) -> set[Variable]:
    """Return which of ``inputs`` a variable of one step depends on; an inner loop connects by its own pattern."""
    found: dict[Variable, frozenset[Variable]] = {variable: frozenset((variable,)) for variable in inputs}
    for node in toposort([output], inputs):
        if isinstance(node.op, Scan):
            view, matrix = ScanView(node), connection_matrix(node.op)
            for variable in node.op.variables:
                given = view.outer_output(variable)
                if given is not None:
                    sources = [view.outer_input(source) for source, target in matrix if target is variable]
                    found.setdefault(
                        given, _union(found, [source for source in sources if source is not None])
                    )
        else:
            united = _union(found, node.inputs)
            for result in node.outputs:
                found.setdefault(result, united)
    return set(found.get(output, frozenset()))


def _union(found: dict[Variable, frozenset[Variable]], sources: Sequence[Variable]) -> frozenset[Variable]:
    united: frozenset[Variable] = frozenset()
    for source in sources:
        united |= found.get(source, frozenset())
    return united


def direct_connections(scan: Scan) -> set[tuple[LoopVariable, LoopVariable]]:
    """Return the pairs (read, given) of loop variables that one step connects.

    A state also connects its own initial rows to its result where a step may leave a row unwritten (mitmot), and
    always if a step passes it on.
    """
    owner = {inner: variable for variable in scan.variables for inner in inner_inputs(variable)}
    pairs: set[tuple[LoopVariable, LoopVariable]] = set()
    for target in scan.variables:
        for result in inner_outputs(target):
            pairs.update((owner[variable], target) for variable in reaching_inputs(result, owner.keys()))
        if isinstance(target, State) and target.kind == "mitmot":
            pairs.add((target, target))
        if isinstance(target, Carry):
            pairs.add((target, target))  # with no step done, the first value is the result
    return pairs


def connection_matrix(scan: Scan) -> set[tuple[LoopVariable, LoopVariable]]:
    """Return the pairs (read, given) of loop variables connected over any number of steps."""
    edges = direct_connections(scan)
    for middle in scan.variables:
        if isinstance(middle, State | Carry):
            sources = [a for a, b in edges if b is middle]
            targets = [b for a, b in edges if a is middle]
            edges |= {(a, b) for a in sources for b in targets}
    return edges
