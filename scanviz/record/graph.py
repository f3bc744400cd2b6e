"""A graph as data: nodes, variables and loops, for dumps and pictures.

Variables and nodes are numbered in order of computation, so the same graph gives the same record in every process.
:mod:`scanviz.record.codec` writes a snapshot as JSON data and reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class VariableSnapshot(Struct, frozen=True):
    """A variable.

    Attributes
    ----------
    name : str
        The user's name, or empty.
    label : str
        What to call it: its name, its value if it is a small constant, else its type.
    type : str
        dtype and known shape.
    role : str
        ``"input"``, ``"shared"``, ``"constant"`` or ``"computed"``.
    key : str
        The name that it keeps through all rewrites, unique in its graph; empty outside of a function.
    """

    name: str
    label: str
    type: str
    role: str
    key: str = ""


class NodeSnapshot(Struct, frozen=True):
    """An operation: its inputs and outputs are numbers of variables.

    Attributes
    ----------
    op : str
        As printed.
    inputs : tuple of int
        Variables it reads.
    outputs : tuple of int
        Variables it gives.
    source : str
        ``file:line`` of the user's line, or empty.
    text : str
        That line.
    loop : int or None
        Number of its loop in ``GraphSnapshot.loops``, for a Scan.
    key : str
        The name that it keeps through all rewrites, unique in its graph (not with the steps of its loops, which may hold the
        same operation); empty outside of a function.
    operation : int or None
        Index of the operation that it became in the program around it; None if it is no operation of its own.
    """

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    source: str
    text: str
    loop: int | None = None
    key: str = ""
    operation: int | None = None


class LoopVariableSnapshot(Struct, frozen=True):
    """A loop variable of a Scan: numbers of inner variables count in the step's graph, outer ones around the loop.

    Attributes
    ----------
    kind : str
        ``"sequence"``, ``"sitsot"``, ``"mitsot"``, ``"mitmot"``, ``"carry"``, ``"nitsot"`` or ``"non_sequence"``.
    name : str
        What the user calls it.
    reads : tuple of int
        Steps it is read at, relative to t.
    writes : tuple of int
        Steps it is written at, relative to t.
    inner_inputs : tuple of int
        Variables of the step that it gives a value to.
    inner_outputs : tuple of int
        Variables of the step that it takes.
    outer_input : int or None
        What it starts from around the loop.
    outer_output : int or None
        What the loop gives for it.
    keep_last : int or None
        How many rows are kept, None for all.
    """

    kind: str
    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    inner_inputs: tuple[int, ...]
    inner_outputs: tuple[int, ...]
    outer_input: int | None
    outer_output: int | None
    keep_last: int | None = None


class LoopSnapshot(Struct, frozen=True):
    """A Scan.

    Attributes
    ----------
    name : str
        The user's name, or ``scan at file:line``.
    variables : tuple of LoopVariableSnapshot
        Its loop variables.
    step : GraphSnapshot
        The graph of its step.
    until : int or None
        Number of the step's variable that ends the loop.
    gradient_of : str or None
        Name of the loop that it is the back-propagation of.
    key : int or None
        Key of its LoopRecord in a profile.
    """

    name: str
    variables: tuple[LoopVariableSnapshot, ...]
    step: GraphSnapshot
    until: int | None = None
    gradient_of: str | None = None
    key: int | None = None


class GraphSnapshot(Struct, frozen=True):
    """A graph.

    Attributes
    ----------
    title : str
        What it is the graph of.
    variables : tuple of VariableSnapshot
        Its inputs, constants and values, in order of computation.
    nodes : tuple of NodeSnapshot
        Its operations, likewise.
    loops : tuple of LoopSnapshot
        Its loops, likewise.
    outputs : tuple of int
        Variables wanted of it.
    output_names : tuple of str
        What the outputs are called there, such as ``h[t]`` for a state.
    """

    title: str
    variables: tuple[VariableSnapshot, ...]
    nodes: tuple[NodeSnapshot, ...]
    loops: tuple[LoopSnapshot, ...]
    outputs: tuple[int, ...]
    output_names: tuple[str, ...]

    def all_loops(self) -> Iterator[tuple[LoopSnapshot, GraphSnapshot]]:
        """Yield each loop, a loop before those in its step, with the graph that it stands in."""
        for node in self.nodes:
            if node.loop is not None:
                loop = self.loops[node.loop]
                yield loop, self
                yield from loop.step.all_loops()
