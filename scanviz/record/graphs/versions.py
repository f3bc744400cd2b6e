"""All versions of a function's graph as data: every node once, with the versions in which it came and went.

This is the one form in which a graph stands in a record.  Lines (:mod:`scanviz.record.graphs.lines`), pictures and diffs are made
of it, by whoever wants them, for any version.  Nodes of all graphs are in one table: those of the function's graph are at level 0,
those of a loop's step at a level of its own, which the loop's node names.  Nodes name one another by keys, which they keep through
all rewrites.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from scanviz.engine.strict import Strict
from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord


class ResultRecord(Strict, frozen=True, array_like=True):
    """What a node gives; in JSON a list of these.

    Attributes
    ----------
    key : str
        The name that it keeps through all rewrites, unique in its graph.
    name : str
        The user's name, or empty.
    type : str
        dtype and known shape.
    label : str
        What an input or constant is called: its name, its value if it is a small constant, else its type.
    """

    key: str
    name: str
    type: str
    label: str = ""


class LoopNodeRecord(Strict, frozen=True, array_like=True):
    """What a node is that is a loop.

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
        The operation, as printed; empty for what no operation gives.
    place : int
        Where it stands among the others as people read them, if all that it reads has come before.
    results : tuple of ResultRecord
        What it gives.
    inputs : tuple of str
        Keys of what it reads.
    source : str
        ``file:line`` of the user's line, or empty.
    role : str
        ``"computed"``; without an operation ``"input"``, ``"shared"``, ``"constant"``, or ``"parameter"`` for what a loop gives
        to its step.
    loop : LoopNodeRecord or None
        What it is, if it is a loop.
    versions : tuple of int
        The version in which it came, that in which it went, that in which it came again, and so on.  A node that reads something
        else than before is another one with the same key.
    rule : str
        The rule, or ``gradient``, that made it; empty if the user did.
    parents : tuple of str
        Keys of the first results of what it was made from.
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
    loop: LoopNodeRecord | None = None
    versions: tuple[int, ...] = (0,)
    rule: str = ""
    parents: tuple[str, ...] = ()
    operation: int | None = None

    def is_in(self, version: int) -> bool:
        """Return whether it is in a version.

        Examples
        --------
        >>> node = NodeRecord(0, "y", "exp", 1, (), versions=(2, 4))
        >>> [node.is_in(k) for k in range(5)]
        [False, False, True, True, False]
        """
        return bisect_right(self.versions, version) % 2 == 1


class WantedRecord(Strict, frozen=True, array_like=True):
    """What is wanted of a graph from a version on; in JSON a list like a Result.

    Attributes
    ----------
    since : int
        The version.
    outputs : tuple of str
        Keys.
    """

    since: int
    outputs: tuple[str, ...]


class VersionsRecord(Strict, frozen=True, dict=True):
    """The graph of a function as it was built and after each rewrite.

    Attributes
    ----------
    title : str
        What it is the graph of.
    first : int
        Number of the first version that is kept: 0 for the graph as it was built.
    last : int
        Number of the last one.  Rewrites after it are of the program, and leave the graph as it is.
    wanted : tuple of WantedRecord
        What is wanted of it, each as long as there is no later one.
    output_names : tuple of str
        What the outputs are called, empty for those without a name.
    nodes : tuple of NodeRecord
        All nodes that there ever were, in order of first appearance.
    texts : dict of str
        The users' lines: ``file:line`` → its text.
    """

    title: str = ""
    first: int = 0
    last: int = 0
    wanted: tuple[WantedRecord, ...] = ()
    output_names: tuple[str, ...] = ()
    nodes: tuple[NodeRecord, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    @cached_property
    def made(self) -> dict[int, GraphSnapshot]:
        """The first and the last version by their numbers, once they have been asked for."""
        return {}

    def version(self, number: int) -> GraphVersion | None:
        """Return what is in the graph after so many rewrites; None if that is not kept."""
        number = min(number, self.last)
        if number < self.first:
            return None
        outputs = next((found.outputs for found in reversed(self.wanted) if found.since <= number), ())
        return GraphVersion(number, [k for k, node in enumerate(self.nodes) if node.is_in(number)], outputs)

    def versions(self) -> Iterator[GraphVersion]:
        """Iterate over all versions."""
        for number in range(self.first, self.last + 1):
            found = self.version(number)
            assert found is not None
            yield found

    def live(self, number: int) -> list[int]:
        """Return the places in the table of the nodes after so many rewrites; none if that is not kept."""
        found = self.version(number)
        return [] if found is None else found.live

    def last_alone(self, number: int) -> VersionsRecord:
        """Return the last version, which is that after so many rewrites, without those before it."""
        last = self.version(self.last)
        assert last is not None
        nodes = tuple(replace(self.nodes[place], versions=(number,)) for place in last.live)
        sources = {node.source for node in nodes}
        texts = {name: text for name, text in self.texts.items() if name in sources}
        return VersionsRecord(
            self.title,
            number,
            number,
            (WantedRecord(number, last.outputs),),
            self.output_names,
            nodes,
            texts,
        )


class GraphVersion(Struct, frozen=True):
    """One version of a graph.

    Attributes
    ----------
    number : int
        After how many rewrites.
    live : list of int
        Its nodes, by their places in the table.
    outputs : tuple of str
        Keys of what is wanted of it.
    """

    number: int
    live: list[int]
    outputs: tuple[str, ...]
