"""Whether a graph in a record makes sense: its keys are those of its own variables, and values are made before they are read."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import pairwise

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord
from scanviz.record.graphs.reading import snapshot_of
from scanviz.record.graphs.versions import VersionsRecord


def check_versions(graphs: VersionsRecord) -> None:
    """Refuse versions of a graph of which the last is none, or in which nodes go before they come.

    Raises
    ------
    ScanvizValueError
        If it is so.

    Examples
    --------
    >>> check_versions(VersionsRecord())
    """
    if not 0 <= graphs.first <= graphs.last:
        raise _refused("is after a negative number of rewrites")
    for node in graphs.nodes:
        if not node.versions or node.versions[0] < 0 or any(a >= b for a, b in pairwise(node.versions)):
            raise _refused("has a node that goes before it comes")
        if node.operation is not None and node.operation < 0:
            raise _refused("names an operation that there is not")
    numbers = [
        variable.keep_last
        for node in graphs.nodes
        if node.loop is not None
        for variable in node.loop.variables
    ]
    if any(number is not None and number < 0 for number in numbers):
        raise _refused("keeps a negative number of rows")
    last = snapshot_of(graphs, graphs.last)
    assert last is not None
    check_graph(last)


def check_graph(graph: GraphSnapshot) -> None:
    """Refuse a graph whose parts do not fit together.

    Raises
    ------
    ScanvizValueError
        If a key is not that of a variable, a value is made twice, or is read before it is made.

    Examples
    --------
    >>> check_graph(GraphSnapshot("f", {}, (), (), (), ()))
    """
    made = {key for key, variable in graph.variables.items() if variable.role != "computed"}
    loops: set[int] = set()
    for node in graph.nodes:
        _known(node.inputs, made, "reads a value that is not made yet")
        for output in node.outputs:
            if output in made or output not in graph.variables:
                raise _refused("makes a value twice, or one that is not there")
            made.add(output)
        if node.loop is not None:
            if node.loop in loops or not 0 <= node.loop < len(graph.loops):
                raise _refused("names a loop twice, or one that is not there")
            loops.add(node.loop)
    _known(graph.outputs, made, "gives a value that is not made")
    if len(loops) != len(graph.loops) or len(graph.output_names) != len(graph.outputs):
        raise _refused("has loops that are nowhere, or outputs without names")
    for loop in graph.loops:
        check_graph(loop.step)
        inner = loop.step.variables
        for variable in loop.variables:
            _check_variable(variable, made, inner)
        _known(() if loop.until is None else (loop.until,), inner, "ends by a value that is not there")


def _check_variable(variable: LoopVariableRecord, outer: Container[str], inner: Container[str]) -> None:
    _known(
        (*variable.inner_inputs, *variable.inner_outputs),
        inner,
        "has a loop variable that is not in its step",
    )
    if variable.keep_last is not None and variable.keep_last < 0:
        raise _refused("keeps a negative number of rows")
    around = [key for key in (variable.outer_input, variable.outer_output) if key is not None]
    _known(around, outer, "has a loop variable that is not around its loop")


def _known(keys: Iterable[str], known: Container[str], what: str) -> None:
    if not all(key in known for key in keys):
        raise _refused(what)


def _refused(what: str) -> ScanvizValueError:
    return ScanvizValueError(f"a graph of the profile {what}")
