"""The order in which a picture is read as rows: computation as it goes, loops whole, and inputs just before what reads them first.

What stands long before it is read would be a long line beside everything in between.  So inputs, constants, and a step's inputs
with their ports come late; all else keeps its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from scanviz.render.diagram.model import Diagram, Node

_LATE = ("input", "shared", "constant", "inner_input")


def reading_order(diagram: Diagram, reads: Mapping[str, Sequence[str]]) -> list[Node]:
    """Return the nodes of a picture as they are read.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    reads : mapping of str to sequence of str
        Id of a node → ids of the nodes that it reads, without what it reads of earlier steps.

    Examples
    --------
    >>> nodes = (Node("a", "input", "a"), Node("b", "input", "b"), Node("c", "operation", "c"), Node("d", "operation", "d"))
    >>> [node.id for node in reading_order(Diagram("f", nodes), {"c": ["a"], "d": ["b", "c"]})]
    ['a', 'c', 'b', 'd']
    """
    return list(_Order(diagram, reads).level(None))


class _Order:
    def __init__(self, diagram: Diagram, reads: Mapping[str, Sequence[str]]) -> None:
        self.nodes = {node.id: node for node in diagram.nodes}
        boxes = {cluster.id for cluster in diagram.clusters}
        self.around: dict[str, str | None] = {
            cluster.id: cluster.parent if cluster.parent in boxes else None for cluster in diagram.clusters
        }
        self.around |= {node.id: node.cluster if node.cluster in boxes else None for node in diagram.nodes}
        self.inside: dict[str | None, list[str]] = defaultdict(list)
        for part, box in self.around.items():
            self.inside[box].append(part)
        self.readers: dict[str, list[str]] = defaultdict(list)
        for reader, sources in reads.items():
            for source in sources:
                self.readers[source].append(reader)
        self.first: dict[str, int] = {}
        for place, node in enumerate(diagram.nodes):
            for part in self.way(node.id):
                self.first.setdefault(part, place)  # a box begins where its first node stands
        self.known: dict[str, int] = {}

    def way(self, part: str) -> Iterator[str]:
        """Iterate over something and the boxes around it, from the inside."""
        here: str | None = part
        while here is not None:
            yield here
            here = self.around.get(here)

    def level(self, box: str | None) -> Iterator[Node]:
        """Iterate over what stands in a box, and in the boxes in it."""
        for part in sorted(
            self.inside[box], key=lambda text: (self.place(text), self.rank(text), self.first.get(text, 0))
        ):
            node = self.nodes.get(part)
            if node is None:
                yield from self.level(part)
            else:
                yield node

    def is_late(self, part: str) -> bool:
        """Return whether something comes just before what reads it."""
        node = self.nodes.get(part)
        return node is not None and (node.kind in _LATE or (node.kind == "port" and node.side == "in"))

    def rank(self, part: str) -> int:
        """Return what comes first of those that have one place: ports, then a step's inputs, then what reads them."""
        node = self.nodes.get(part)
        return 2 if node is None or not self.is_late(part) else int(node.kind == "inner_input")

    def place(self, part: str) -> int:
        """Return the place of something in its box."""
        if part not in self.known:
            self.known[part] = self.first.get(
                part, 0
            )  # also while it is being found, should a picture have a cycle
            if self.is_late(part):
                wanted = [self.place(text) for text in self.beside(part)]
                self.known[part] = min(wanted, default=self.known[part])
        return self.known[part]

    def beside(self, part: str) -> Iterator[str]:
        """Iterate over what reads something, or the box beside it which that is in."""
        for reader in self.readers[part]:
            for here in self.way(reader):
                if self.around.get(here) == self.around[part]:
                    yield here
                    break
