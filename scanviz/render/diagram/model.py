"""A picture of a graph with loops: nodes with typed ports, clusters inside one another, edges with roles.

An open loop is a cluster.  It holds, from top to bottom, the ports of loop variables with outer inputs, the step's inputs,
operations and results, and the ports of loop variables with outer outputs.  A closed (folded) loop is one node whose ports are its
loop variables.  Ids consist of lasting names and places, so the same graph gives the same picture, byte for byte, in every process.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

NodeKind = Literal[
    "input",  # of the function
    "shared",  # a shared variable
    "constant",
    "operation",
    "output",  # of the function: what is asked for
    "loop",  # a loop that is closed
    "port",  # of an open loop: a loop variable as seen from around it
    "inner_input",  # of a step, such as h[t-1]
    "inner_output",  # of a step, such as h[t]
    "until",  # a step's stop condition
    "cell",  # a row of a buffer, in an unrolled picture
    "summary",  # stands for nodes that are not drawn
]
EdgeRole = Literal[
    "data",  # a value that an operation reads
    "enters",  # from a port of a loop to the step's input
    "leaves",  # from a step's result to a port of its loop
    "recurrence",  # from a step's result to the step's input that reads it later
    "accumulates",  # from an operation to a row of a buffer, to which it is added
    "connection",  # from an outer input to an outer output that it reaches
]
Change = Literal["", "added", "removed", "moved"]


class Port(Struct, frozen=True):
    """A loop variable's place at the edge of its loop.

    Attributes
    ----------
    id : str
        Unique in the picture.
    side : str
        ``"in"`` or ``"out"``.
    label : str
        Name of the loop variable, with its taps.
    kind : str
        ``"sequence"``, ``"sitsot"``, ``"mitsot"``, ``"mitmot"``, ``"carry"``, ``"nitsot"`` or ``"non_sequence"``; of the
        number of steps ``"n_steps"``.
    variable : int
        Index of the loop variable in its loop; -1 for the number of steps.
    """

    id: str
    side: Literal["in", "out"]
    label: str
    kind: str
    variable: int


class Node(Struct, frozen=True):
    """A drawn element: an operation, a value, a loop's port or a closed loop.

    Attributes
    ----------
    id : str
        Unique in the picture.
    kind : str
        Kind of its value, operation or loop.
    label : str
        Its text.
    cluster : str or None
        Id of the loop it is drawn in.
    type : str
        dtype and shape of its (first) value.
    loop_kind : str
        Kind of the loop variable that it belongs to, for ports and a step's inputs and results.
    variable : int or None
        Index of that loop variable in its loop.
    loop : int or None
        Key of the loop's record: of the loop that it is (``"loop"``) or belongs to.
    ports : tuple of Port
        Ports of a closed loop.
    source : str
        The user's line, ``file:line``.
    text : str
        The text of that line.
    time_ns : float or None
        Its total time in a profiled run; None if unknown.
    share : float or None
        The share of that time in the run, from 0 to 1.
    change : str
        In a picture of a difference: ``"added"``, ``"removed"``, ``"moved"``, else empty.
    key : str
        The name it keeps through rewrites.
    side : str
        ``"in"`` or ``"out"`` for a port, else empty.
    column, row : int or None
        Its place in a grid, for pictures in which time goes from left to right: odd columns are steps, even ones hold the rows that
        the step before them writes and the step after them reads.
    band : int or None
        In such a picture 0 for a part of the loop, 1 for its back-propagation.
    op : str
        The operation with its parameters, as the graph has it; empty of anything else.
    constants : tuple of str or None
        The text of each input of an operation that is a small constant; None for an input that an arrow brings.
    operations : int or None
        Number of drawn operations in a closed loop's step, inner loops included, or of operations in a formula;
        None for anything else.
    note : str
        Small text below the label.
    value : str
        Its value in a run, in short.
    hottest : float or None
        The largest ``share`` of a single operation in a closed loop.
    """

    id: str
    kind: NodeKind
    label: str
    cluster: str | None = None
    type: str = ""
    loop_kind: str = ""
    variable: int | None = None
    loop: int | None = None
    ports: tuple[Port, ...] = ()
    source: str = ""
    text: str = ""
    time_ns: float | None = None
    share: float | None = None
    change: Change = ""
    key: str = ""
    side: Literal["", "in", "out"] = ""
    column: int | None = None
    row: int | None = None
    band: int | None = None
    operations: int | None = None
    note: str = ""
    value: str = ""
    op: str = ""
    constants: tuple[str | None, ...] = ()
    hottest: float | None = None


class Cluster(Struct, frozen=True):
    """An open loop: a box around its ports and its step.

    Attributes
    ----------
    id : str
        Unique in the picture.
    label : str
        The loop's name, and a few facts about it.
    parent : str or None
        Id of the box around it.
    loop : int or None
        Key of the loop's record.
    gradient_of : str
        Name of the loop that it is the back-propagation of, or empty.
    time_ns, share, change
        As of a node.
    """

    id: str
    label: str
    parent: str | None = None
    loop: int | None = None
    gradient_of: str = ""
    time_ns: float | None = None
    share: float | None = None
    change: Change = ""


class Edge(Struct, frozen=True):
    """A line from one node (or port of a closed loop) to another.

    Attributes
    ----------
    source, target : str
        Ids of nodes, or of ports.
    role : str
        Its meaning.
    label : str
        The lag of a recurrence, such as ``"1 step"``; else empty or the operand's place.
    type : str
        dtype and shape of the value.
    change : str
        As of a node.
    place : int or None
        Position of the value among its target's operands, from 0.
    """

    source: str
    target: str
    role: EdgeRole = "data"
    label: str = ""
    type: str = ""
    change: Change = ""
    place: int | None = None


class Diagram(Struct, frozen=True):
    """A picture.

    Attributes
    ----------
    title : str
        Title.
    nodes, clusters, edges : tuple
        In order of computation; a cluster stands after the one around it.
    notes : tuple of str
        Sentences below the picture: its omissions, and the options to draw them.
    """

    title: str
    nodes: tuple[Node, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = ()
