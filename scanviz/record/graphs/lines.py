"""Versions of a graph as lines of text, one operation a line, and the lines that each rewrite changed.

Nodes keep their names from the first version to the last, so the differing lines of two versions are the change.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence

from msgspec import Struct

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord, ScanRecord
from scanviz.record.graphs.reading import graph_of, taken
from scanviz.record.graphs.versions import GraphVersion, VersionsRecord

INDENT = "    "


class LineEdit(Struct, frozen=True):
    """A replacement of consecutive lines.

    Attributes
    ----------
    start : int
        The first line that goes, counted from 0.
    stop : int
        The first line that stays.
    lines : tuple of str
        Their replacement.
    """

    start: int
    stop: int
    lines: tuple[str, ...] = ()


def version_lines(record: VersionsRecord, version: GraphVersion) -> list[str]:
    """Return a version as lines; for an invalid graph one line with the reason."""
    try:
        graph = graph_of(record, version)
    except ScanvizValueError as refused:
        return [f"this graph cannot be read: {refused.found or refused.what}"]
    named = [
        f"{name} = {_shown(graph, key)}" if name else _shown(graph, key)
        for name, key in zip(graph.output_names, graph.outputs, strict=True)
    ]
    return [*_nodes(graph, ""), f"return {', '.join(named)}"]


def edits_of_versions(record: VersionsRecord) -> Iterator[list[LineEdit]]:
    """Iterate over the edits of the lines by each rewrite, the last edit of each first."""
    lines = (version_lines(record, version) for version in record.versions())
    return (line_edits(before, after) for before, after in itertools.pairwise(lines))


def _nodes(graph: GraphSnapshot, indent: str) -> Iterator[str]:
    """Iterate over the lines of the operations of a graph."""
    for node in graph.nodes:
        results = ", ".join(node.outputs)
        read = [_shown(graph, key) for key in node.inputs]
        if node.loop is None:
            yield f"{indent}{results} = {node.op}({', '.join(read)})"
        else:
            yield f"{indent}{results} = loop {node.loop.name}, {', '.join(read[:1])} steps:"
            yield from _loop(node.loop, graph, indent + INDENT)


def _loop(loop: ScanRecord, around: GraphSnapshot, indent: str) -> Iterator[str]:
    """Iterate over the lines of a loop: its variables, its step, its results."""
    inner = around.step(loop)
    for variable in loop.variables:
        yield f"{indent}{_variable(variable, inner, around)}"
    yield from _nodes(inner, indent)
    for variable in loop.variables:
        for name, key in taken(variable):
            yield f"{indent}{variable.name if variable.kind == 'nitsot' else name} := {_shown(inner, key)}"
    if loop.until is not None:
        yield f"{indent}until {_shown(inner, loop.until)}"


def _variable(variable: LoopVariableRecord, inner: GraphSnapshot, around: GraphSnapshot) -> str:
    """Return the line of a loop variable: its kind, its value around the loop, its result."""
    rows = ", ".join(_shown(inner, text) for text in variable.inner_inputs)
    outer, result = variable.outer_input, variable.outer_output
    kept = f" (last {variable.keep_last})" if variable.keep_last is not None else ""
    source = f" {rows} ← {_shown(around, outer)}" if outer is not None else ""
    gives = f" gives {_shown(around, result)}{kept}" if result is not None else ""
    return f"{variable.kind}{source}{gives}"


def _shown(graph: GraphSnapshot, key: str) -> str:
    """Return the name of a value in a line: a constant without a name is its value."""
    leaf = graph.leaves.get(key)
    if leaf is not None and leaf.role == "constant" and not leaf.results[0].name:
        return leaf.results[0].label
    return key


def line_edits(before: Sequence[str], after: Sequence[str]) -> list[LineEdit]:
    """Return the edits that turn one list of lines into another, the last edit first.

    Examples
    --------
    >>> line_edits(["a", "b", "c"], ["a", "d", "c"])
    [LineEdit(start=1, stop=2, lines=('d',))]
    """
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    edits = (LineEdit(a, b, tuple(after[c:d])) for kind, a, b, c, d in changes if kind != "equal")
    return [*edits][::-1]
