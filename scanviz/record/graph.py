"""A graph as data: nodes, variables and loops, for dumps and pictures.

Variables and nodes are numbered in order of computation, so the same graph gives the same record in every process.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class VariableSnapshot:
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
    """

    name: str
    label: str
    type: str
    role: str


@dataclass(slots=True)
class NodeSnapshot:
    """An operation: its inputs and outputs are numbers of variables.

    Attributes
    ----------
    op : str
        As printed.
    inputs, outputs : list of int
        Variables it reads and gives.
    source : str
        ``file:line`` of the user's line, or empty.
    text : str
        That line.
    loop : int or None
        Number of its loop in ``GraphSnapshot.loops``, for a Scan.
    """

    op: str
    inputs: list[int]
    outputs: list[int]
    source: str
    text: str
    loop: int | None = None


@dataclass(slots=True)
class LoopVariableSnapshot:
    """A loop variable of a Scan: numbers of inner variables count in the step's graph, outer ones around the loop."""

    kind: str
    name: str
    reads: list[int]
    writes: list[int]
    inner_inputs: list[int]
    inner_outputs: list[int]
    outer_input: int | None
    outer_output: int | None
    keep_last: int | None = None


@dataclass(slots=True)
class LoopSnapshot:
    """A Scan: its name, loop variables and the graph of its step."""

    name: str
    variables: list[LoopVariableSnapshot]
    step: GraphSnapshot
    until: int | None = None


@dataclass(slots=True)
class GraphSnapshot:
    """A graph.

    Attributes
    ----------
    title : str
        What it is the graph of.
    variables, nodes, loops : list
        Its parts, in order of computation.
    outputs : list of int
        Variables wanted of it.
    output_names : list of str
        What the outputs are called there, such as ``h[t]`` for a state.
    """

    title: str
    variables: list[VariableSnapshot] = field(default_factory=list)
    nodes: list[NodeSnapshot] = field(default_factory=list)
    loops: list[LoopSnapshot] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)
