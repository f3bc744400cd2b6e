"""A graph as data: the table of a record's nodes, and one version of the graph, for dumps and pictures.

Nodes stand in order of computation, so the same graph gives the same record in every process.
:mod:`scanviz.record.storage.codec` writes a snapshot as JSON data and reads it back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec import field

from scanviz.engine.scan.variables import VariableKind, step_name
from scanviz.engine.strict import Strict

_NUMBERED = re.compile(r"~\d+$")  # the number of an equal name in a graph


class ResultRecord(Strict, frozen=True, array_like=True):
    """A result of a node; in JSON a list of these fields.

    Attributes
    ----------
    key : str
        The name that it keeps through all rewrites, unique in its graph.
    name : str
        The user's name, or empty.
    type : str
        dtype and known shape.
    label : str
        Label of an input or constant: its name, its value if it is a small constant, else its type.
    """

    key: str
    name: str
    type: str
    label: str = ""


class LoopVariableRecord(Strict, frozen=True):
    """A loop variable: a value that the loop reads, carries or returns.

    Attributes
    ----------
    kind : str
        ``sequence``, ``mitmot``, ``mitsot``, ``sitsot``, ``nitsot``, ``carry`` or ``non_sequence``.
    name : str
        The user's name for it.
    reads : tuple of int
        Taps that a state reads; for a sequence, the tap it was cut for.
    writes : tuple of int
        Taps that a state writes.
    inner_inputs : tuple of str
        The step's variables that it gives a value to: their names; in a graph, their keys.
    inner_outputs : tuple of str
        The step's variables that it takes, likewise.
    outer_input : str or None
        The value that it reads around the loop, likewise.
    outer_output : str or None
        Its result around the loop, likewise; None where nothing uses it.
    type : str
        dtype and known shape of the step's variable; not in a graph.
    keep_last : int or None
        Rows of the result that are kept, the last ones; None for all of them.
    read_backwards : bool
        Whether the loop's gradient reads its rows; not in a graph.
    row_bytes : int
        The most that its rows took in one run; 0 where nothing was stored, and in a graph.
    """

    kind: VariableKind
    name: str
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    inner_inputs: tuple[str, ...] = ()
    inner_outputs: tuple[str, ...] = ()
    outer_input: str | None = None
    outer_output: str | None = None
    type: str = ""
    keep_last: int | None = None
    read_backwards: bool = False
    row_bytes: int = 0


class ScanRecord(Strict, frozen=True, array_like=True):
    """The loop of a Scan node.

    Attributes
    ----------
    name : str
        The user's name, or ``scan at file:line``.
    step : int
        The level of the nodes of its step.
    variables : tuple of LoopVariableRecord
        Its loop variables.
    until : str or None
        The value of the step that ends the loop.
    gradient_of : str or None
        Name of the loop that it is the back-propagation of.
    key : int or None
        Key of its LoopRecord in a profile, if it is run.
    """

    name: str
    step: int
    variables: tuple[LoopVariableRecord, ...]
    until: str | None = None
    gradient_of: str | None = None
    key: int | None = None


class NodeRecord(Strict, frozen=True, array_like=True):
    """A node, or an input, constant or shared variable that nodes read; in JSON a list like a Result.

    Attributes
    ----------
    level : int
        The graph that it is in: 0 the function's, others those of loops' steps.
    key : str
        The name that it keeps through all rewrites, unique in its graph (the same operation may be in several graphs).
    op : str
        The operation, as printed; empty for a value without an operation.
    place : int
        Position in reading order, after all of its inputs.
    results : tuple of ResultRecord
        Its results.
    inputs : tuple of str
        Keys of its inputs.
    source : str
        ``file:line`` of the user's line, or empty.
    role : str
        ``"computed"``; without an operation ``"input"``, ``"shared"``, ``"constant"``, or ``"parameter"`` for an
        input of a loop's step.
    loop : ScanRecord or None
        The loop that it is, if it is one.
    versions : tuple of int
        The version in which it came, that in which it went, that in which it came again, and so on.  A node that reads something
        else than before is another one with the same key.
    rule : str
        The rule, or ``gradient``, that made it; empty if the user did.
    parents : tuple of str
        Keys of the first results of the nodes that it was made from.
    operation : int or None
        Index of the operation that it became, in the function's program or in the loop around it; None if it became none.
    """

    level: int
    key: str
    op: str
    place: int
    results: tuple[ResultRecord, ...]
    inputs: tuple[str, ...] = ()
    source: str = ""
    role: str = "computed"
    loop: ScanRecord | None = None
    versions: tuple[int, ...] = (0,)
    rule: str = ""
    parents: tuple[str, ...] = ()
    operation: int | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Keys of the node's results."""
        return tuple(result.key for result in self.results)

    @property
    def op_name(self) -> str:
        """The name of the node's operation, without parameters.

        Examples
        --------
        >>> [NodeRecord(0, "y", op, 1, ()).op_name for op in ("index[-1]", "draw_normal{sizes=1}")]
        ['index', 'draw_normal']
        """
        return self.op.partition("{")[0].partition("[")[0]

    def is_in(self, version: int) -> bool:
        """Return whether a version contains the node.

        Examples
        --------
        >>> node = NodeRecord(0, "y", "exp", 1, (), versions=(2, 4))
        >>> [node.is_in(k) for k in range(5)]
        [False, False, True, True, False]
        """
        return bisect_right(self.versions, version) % 2 == 1


class GraphSnapshot(Strict, frozen=True, dict=True):
    """One version of a graph: its nodes in order, from a record's table.

    Attributes
    ----------
    title : str
        Name of the function, variable or loop.
    leaves : dict of str to NodeRecord
        Inputs, constants and shared variables by their keys, as they are first read.
    nodes : tuple of NodeRecord
        Its operations, each after all that it reads.
    steps : dict of int to GraphSnapshot
        The graphs of its loops' steps, by their levels.
    outputs : tuple of str
        Variables wanted of it.
    output_names : tuple of str
        Names of the outputs there, such as ``h[t]`` for a state.
    texts : dict of str
        The users' lines: ``file:line`` → its text.
    """

    title: str
    leaves: dict[str, NodeRecord] = field(default_factory=dict)
    nodes: tuple[NodeRecord, ...] = ()
    steps: dict[int, GraphSnapshot] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    @cached_property
    def variables(self) -> dict[str, ResultRecord]:
        """Results of leaves and operations, by key."""
        return {given.key: given for node in (*self.leaves.values(), *self.nodes) for given in node.results}

    def role(self, key: str) -> str:
        """Return the role of a variable's node."""
        return self.leaves[key].role if key in self.leaves else "computed"

    def text(self, node: NodeRecord) -> str:
        """Return the user's line of a node, or nothing."""
        return self.texts.get(node.source, "")

    @property
    def loops(self) -> tuple[ScanRecord, ...]:
        """Loops of the graph, in the order of its nodes."""
        return tuple(node.loop for node in self.nodes if node.loop is not None)

    def step(self, loop: ScanRecord) -> GraphSnapshot:
        """Return the step of one of the graph's loops."""
        return self.steps[loop.step]

    def all_loops(self) -> Iterator[PlacedScan]:
        """Yield each loop, outer before inner."""
        for loop in self.loops:
            step = self.step(loop)
            yield PlacedScan(loop, step, self)
            yield from step.all_loops()


class PlacedScan(NamedTuple):
    """A loop in a graph, the graph of its step, and the graph around it."""

    loop: ScanRecord
    step: GraphSnapshot
    around: GraphSnapshot


def cell_name(name: str, tap: int, reads: Iterable[tuple[int, str]]) -> str:
    """Return the name, in a step, of a tap's row: the same in every view.

    A loop of back-propagation goes through its buffers in its own time, and names their rows in the time of its forward loop:
    its own tap +1 is the row ``∂h[t-1]``.  Rows that it writes have the names of rows that it reads.

    Parameters
    ----------
    name : str
        The loop variable's name.
    tap : int
        The row's number, in the loop's own time.
    reads : iterable of (int, str)
        The taps that it reads, with the names that the step has for these rows.

    Examples
    --------
    >>> cell_name("h", 0, [(-1, "h[t-1]")])
    'h[t]'
    >>> cell_name("g", 3, [(0, "g[t]"), (1, "g[t-1]")])
    'g[t-3]'
    """
    known = {read: _NUMBERED.sub("", text) for read, text in reads}
    if known.get(tap):
        return known[tap]
    return step_name(name, -tap if goes_backwards(known.items()) else tap)


def goes_backwards(reads: Iterable[tuple[int, str]]) -> bool:
    """Return whether taps and row names show that a loop runs backwards through another's time.

    Examples
    --------
    >>> goes_backwards([(0, "g[t]"), (1, "g[t-1]")]), goes_backwards([(-1, "h[t-1]")])
    (True, False)
    """
    return any(tap and _NUMBERED.sub("", text).endswith(step_name("", -tap)) for tap, text in reads)
