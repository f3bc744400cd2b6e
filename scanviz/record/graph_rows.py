"""A graph as rows of text: one JSON list a node, loop or loop variable, by keys that stay.

Two moments of a graph differ in the rows of what changed and in no other, so a history keeps the rows of its beginning and the
edits that followed.  Rows stand in no order of computation: reading sorts them, which is why a node that moves costs nothing.

=================  =====================================================================================================
row                meaning
=================  =====================================================================================================
``[d, "v", …]``    leaf at depth d: key, name, label, type, role
``[d, "n", …]``    node: key, operation, keys of inputs, results (key, name, type), the user's line
``[d, "l", …]``    the node before it is a loop: name, name of the loop that it is the back-propagation of, key of ``until``
``[d, "s", …]``    a loop variable of that loop, then, at depth d + 1, its step
``[d, "o", …]``    end of a graph: keys of outputs, their names, title
=================  =====================================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.graph import (
    GraphSnapshot,
    LoopSnapshot,
    LoopVariableSnapshot,
    NodeSnapshot,
    VariableSnapshot,
)

DEEPEST = 50  # loops in loops that are read

Row = list[Any]  # plain JSON data, whose form is checked where it is read


def written(row: Sequence[Any]) -> str:
    """Return a row as text."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)


def graph_of_rows(rows: Sequence[str], lines: Mapping[str, str] | None = None) -> GraphSnapshot:
    """Return the graph that rows describe, with nodes in an order of computation.

    Parameters
    ----------
    rows : sequence of str
        As :func:`written` gives them.
    lines : mapping of str, optional
        Text of the users' lines by ``file:line``.

    Raises
    ------
    ScanvizValueError
        If they describe no graph.

    Examples
    --------
    >>> rows = [
    ...     '[0,"v","x","x","x","float64 (?)","input"]',
    ...     '[0,"n","v1","exp",["x"],[["v1","","float64 (?)"]],"rnn.py:3"]',
    ...     '[0,"o",["v1"],[""],"f"]',
    ... ]
    >>> graph = graph_of_rows(rows)
    >>> graph.nodes[0].op, [graph.variables[k].label for k in graph.nodes[0].inputs]
    ('exp', ['x'])
    """
    try:
        reader = _Reader([json.loads(each) for each in rows], dict(lines or {}))
        return reader.graph(0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ScanvizValueError(
            "a graph of the profile makes no sense", found=f"{type(error).__name__}: {str(error)[:80]}"
        ) from None


class _Reader:
    """Reads rows one graph after the other."""

    def __init__(self, rows: list[Row], lines: dict[str, str]) -> None:
        self.rows, self.lines, self.place = rows, lines, 0

    def next(self, depth: int, kinds: str) -> Row | None:
        """Return what a row holds if it is of one of the kinds at this depth; None leaves it where it is."""
        row = self.rows[self.place]
        if row[0] != depth or row[1] not in kinds:
            return None
        self.place += 1
        return row[1:]

    def graph(self, depth: int) -> GraphSnapshot:
        """Return the graph that begins here."""
        if depth > DEEPEST:
            raise ValueError("too many loops in one another")
        graph = _Graph(self.lines)
        while (row := self.next(depth, "o")) is None:
            self.part(graph, depth)
        return graph.finished(*row[1:])

    def part(self, graph: _Graph, depth: int) -> None:
        """Read a leaf, or a node with its loop."""
        leaf = self.next(depth, "v")
        if leaf is not None:
            graph.leaf(*leaf[1:])
            return
        node = self.next(depth, "n")
        if node is None:
            raise ValueError("a row stands where it does not belong")
        graph.nodes[node[1]] = node[1:]
        loop = self.next(depth, "l") if self.place < len(self.rows) else None
        if loop is not None:
            variables = []
            while (row := self.next(depth, "s")) is not None:
                variables.append(row[1:])
            graph.loops[node[1]] = (loop[1:], variables, self.graph(depth + 1))


class _Graph:
    """Collects one graph by keys, and numbers it in the end."""

    def __init__(self, lines: dict[str, str]) -> None:
        self.lines = lines
        self.leaves: dict[str, VariableSnapshot] = {}
        self.nodes: dict[str, Row] = {}
        self.loops: dict[str, tuple[Row, list[Row], GraphSnapshot]] = {}
        self.number: dict[str, int] = {}
        self.variables: list[VariableSnapshot] = []

    def leaf(self, key: str, name: str, label: str, kind: str, role: str) -> None:
        """Add an input, a constant or a shared variable."""
        parameter = role == "parameter"  # an input of a step: it has its place even if nothing reads it
        found = VariableSnapshot(
            _text(name), _text(label), _text(kind), "input" if parameter else _text(role), _text(key)
        )
        if parameter:
            self.add(found)
        else:
            self.leaves[key] = found

    def add(self, variable: VariableSnapshot) -> int:
        """Number a variable."""
        number = self.number[variable.key] = len(self.variables)
        self.variables.append(variable)
        return number

    def of(self, key: str) -> int:
        """Return the number of a variable that is known by now."""
        known = self.number.get(key)
        return known if known is not None else self.add(self.leaves[key])

    def finished(self, outputs: list[str], names: list[str], title: str) -> GraphSnapshot:
        """Return the graph."""
        nodes: list[NodeSnapshot] = []
        loops: list[LoopSnapshot] = []
        for key in self.ordered():
            _, op, inputs, results, source = self.nodes[key]
            read = tuple(self.of(each) for each in inputs)
            given = tuple(
                self.add(VariableSnapshot(_text(name), name, _text(kind), "computed", _text(made)))
                for made, name, kind in results
            )
            loop = None
            if key in self.loops:
                loop = len(loops)
                loops.append(self.loop(*self.loops[key]))
            text = self.lines.get(_text(source), "")
            nodes.append(NodeSnapshot(_text(op), read, given, source, text, loop, _text(key)))
        wanted = tuple(self.of(each) for each in outputs)
        called = tuple(map(_text, names))
        return GraphSnapshot(_text(title), tuple(self.variables), tuple(nodes), tuple(loops), wanted, called)

    def ordered(self) -> Iterator[str]:
        """Iterate over keys of nodes in an order of computation: that of their rows, but inputs first."""
        maker = {result[0]: key for key, node in self.nodes.items() for result in node[3]}
        done: set[str] = set()
        for first in self.nodes:
            waiting = [first]
            opened: set[str] = set()
            while waiting:
                key = waiting[-1]
                before = [maker[each] for each in self.nodes[key][2] if each in maker]
                missing = [each for each in before if each not in done]
                if key in done or not missing:
                    waiting.pop()
                    if key not in done:
                        done.add(key)
                        yield key
                elif key in opened:
                    raise ValueError("an operation needs its own result")
                else:
                    opened.add(key)
                    waiting += reversed(missing)

    def loop(self, head: Row, variables: list[Row], step: GraphSnapshot) -> LoopSnapshot:
        """Return a loop."""
        name, forward, until = head
        inner = {each.key: k for k, each in enumerate(step.variables)}
        return LoopSnapshot(
            _text(name),
            tuple(self.loop_variable(each, inner) for each in variables),
            step,
            inner[until] if until is not None else None,
            _text(forward) if forward is not None else None,
        )

    def loop_variable(self, row: Row, inner: dict[str, int]) -> LoopVariableSnapshot:
        """Return a loop variable."""
        kind, name, reads, writes, inputs, outputs, outer_input, outer_output, keep = row
        return LoopVariableSnapshot(
            _text(kind),
            _text(name),
            tuple(map(int, reads)),
            tuple(map(int, writes)),
            tuple(inner[each] for each in inputs),
            tuple(inner[each] for each in outputs),
            self.of(outer_input) if outer_input is not None else None,
            self.of(outer_output) if outer_output is not None else None,
            int(keep) if keep is not None else None,
        )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    return value
