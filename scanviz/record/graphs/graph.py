"""A graph as data: nodes, variables and loops, for dumps and pictures.

Variables and nodes stand in order of computation, so the same graph gives the same record in every process.
:mod:`scanviz.record.storage.codec` writes a snapshot as JSON data and reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanviz.engine.scan.variables import VariableKind
from scanviz.engine.strict import Strict


class VariableSnapshot(Strict, frozen=True):
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
        The name that it keeps through all rewrites, unique in its graph.
    """

    name: str
    label: str
    type: str
    role: str
    key: str


class NodeSnapshot(Strict, frozen=True):
    """An operation: its inputs and outputs are keys of variables.

    Attributes
    ----------
    op : str
        As printed.
    inputs : tuple of str
        Variables it reads.
    outputs : tuple of str
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
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str
    text: str
    loop: int | None = None
    key: str = ""
    operation: int | None = None


class LoopVariableRecord(Strict, frozen=True):
    """A loop variable: what the loop reads, carries or gives.

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
        What it reads around the loop, likewise.
    outer_output : str or None
        What it fills around the loop, likewise; None where nothing uses the result.
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


class LoopSnapshot(Strict, frozen=True):
    """A Scan.

    Attributes
    ----------
    name : str
        The user's name, or ``scan at file:line``.
    variables : tuple of LoopVariableRecord
        Its loop variables.
    step : GraphSnapshot
        The graph of its step.
    until : str or None
        The step's variable that ends the loop.
    gradient_of : str or None
        Name of the loop that it is the back-propagation of.
    key : int or None
        Key of its LoopRecord in a profile.
    """

    name: str
    variables: tuple[LoopVariableRecord, ...]
    step: GraphSnapshot
    until: str | None = None
    gradient_of: str | None = None
    key: int | None = None


class GraphSnapshot(Strict, frozen=True):
    """A graph.

    Attributes
    ----------
    title : str
        What it is the graph of.
    variables : dict of str to VariableSnapshot
        Its inputs, constants and values by their keys, in order of computation.
    nodes : tuple of NodeSnapshot
        Its operations, likewise.
    loops : tuple of LoopSnapshot
        Its loops, likewise.
    outputs : tuple of str
        Variables wanted of it.
    output_names : tuple of str
        What the outputs are called there, such as ``h[t]`` for a state.
    """

    title: str
    variables: dict[str, VariableSnapshot]
    nodes: tuple[NodeSnapshot, ...]
    loops: tuple[LoopSnapshot, ...]
    outputs: tuple[str, ...]
    output_names: tuple[str, ...]

    def all_loops(self) -> Iterator[tuple[LoopSnapshot, GraphSnapshot]]:
        """Yield each loop, a loop before those in its step, with the graph that it stands in."""
        for node in self.nodes:
            if node.loop is not None:
                loop = self.loops[node.loop]
                yield loop, self
                yield from loop.step.all_loops()
