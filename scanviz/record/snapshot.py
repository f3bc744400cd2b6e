"""Engine objects as records: ``snapshot(x)`` of a variable, several, a function, or a Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.function import Function
from scanviz.engine.function.names import with_distinct_names
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.scan.loop import Scan
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.graphs.reading import snapshot_of, step_of
from scanviz.record.graphs.writing import GraphWriter


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
        return _graph([*what.outputs, *what.updated_values], names, what.name)
    if isinstance(what, Variable):
        return _graph(with_distinct_names([what]), [""], describe(what))
    if isinstance(what, Apply):
        return _graph(with_distinct_names(what.outputs), [""] * len(what.outputs), str(what.op))
    if isinstance(what, Scan):
        return _step(what)
    if isinstance(what, list | tuple) and all(isinstance(variable, Variable) for variable in what):
        return _graph(with_distinct_names(what), [""] * len(what), f"{len(what)} variables")
    raise ScanvizTypeError(
        f"{type(what).__name__} has no graph", expected="a variable, a list of them, a function or a Scan"
    )


def _graph(outputs: Sequence[Variable], names: Sequence[str], title: str) -> GraphSnapshot:
    """Return the graph of outputs."""
    writer = GraphWriter(names, title)
    writer.begin(outputs)
    found = snapshot_of(writer.record(), 0)
    assert found is not None
    return found


def _step(op: Scan) -> GraphSnapshot:
    """Return the graph of a loop's step alone."""
    writer = GraphWriter()
    loop = writer.loop_only(op)
    return step_of(writer.record(), loop)
