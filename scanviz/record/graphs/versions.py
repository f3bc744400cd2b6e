"""All versions of a function's graph as data: every node once, with its first and last version.

This is the one form in which a graph stands in a record.  Lines (:mod:`scanviz.record.graphs.lines`), pictures and diffs are made
of it, for any version.  Nodes of all graphs are in one table: those of the function's graph are at level 0,
those of a loop's step at a level of its own, which the loop's node names.  Nodes name one another by keys, which they keep through
all rewrites.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from scanviz.engine.strict import Strict
from scanviz.record.graphs.graph import GraphSnapshot, NodeRecord


class WantedRecord(Strict, frozen=True, array_like=True):
    """The outputs of a graph from a version on; in JSON a list of these fields.

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
        Name of the function.
    first : int
        Number of the first version that is kept: 0 for the graph as it was built.
    last : int
        Number of the last one.  Rewrites after it are of the program, and leave the graph as it is.
    wanted : tuple of WantedRecord
        Its outputs, each entry as long as there is no later one.
    output_names : tuple of str
        Names of the outputs, empty for those without.
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
        """The first and the last version by number, once they have been requested."""
        return {}

    def version(self, number: int) -> GraphVersion | None:
        """Return the graph after k rewrites; None if it was not kept."""
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
        """Return the table places of the nodes after k rewrites; none if that version was not kept."""
        found = self.version(number)
        return [] if found is None else found.live

    def last_only(self, number: int) -> VersionsRecord:
        """Return the last version, after k rewrites, without those before it."""
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
        Keys of its outputs.
    """

    number: int
    live: list[int]
    outputs: tuple[str, ...]
