"""Lines beside rows: a lane for each value, from the row of its operation to its last reader.

Lanes are found once, so all frames of a film have the same lanes.  The idea of lines beside rows is that of ``git log --graph``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from scanviz.render.diagram.model import Diagram, Node

# The order of a picture's rows: order of computation, loops whole, and inputs just before their first readers.
#
# An input far above its reader would be a long line beside everything in between.  So inputs, constants, and a step's inputs
# with their ports come late; all else keeps its place.

_LATE = ("input", "shared", "constant", "inner_input")


def reading_order(diagram: Diagram, reads: Mapping[str, Sequence[str]]) -> list[Node]:
    """Return the nodes of a picture in reading order.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    reads : mapping of str to sequence of str
        Id of a node → ids of its inputs, without those of earlier steps.

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
        """Iterate over a node and the boxes around it, from the inside."""
        here: str | None = part
        while here is not None:
            yield here
            here = self.around.get(here)

    def level(self, box: str | None) -> Iterator[Node]:
        """Iterate over the nodes of a box and its inner boxes."""
        for part in sorted(
            self.inside[box], key=lambda text: (self.place(text), self.rank(text), self.first.get(text, 0))
        ):
            node = self.nodes.get(part)
            if node is None:
                yield from self.level(part)
            else:
                yield node

    def is_late(self, part: str) -> bool:
        """Return whether a part stands directly before its first reader."""
        node = self.nodes.get(part)
        return node is not None and (node.kind in _LATE or (node.kind == "port" and node.side == "in"))

    def rank(self, part: str) -> int:
        """Return the rank of a part at one place: ports, then a step's inputs, then their readers."""
        node = self.nodes.get(part)
        return 2 if node is None or not self.is_late(part) else int(node.kind == "inner_input")

    def place(self, part: str) -> int:
        """Return the position of a part in its box."""
        if part not in self.known:
            self.known[part] = self.first.get(
                part, 0
            )  # also while it is being found, should a picture have a cycle
            if self.is_late(part):
                wanted = [self.place(text) for text in self.beside(part)]
                self.known[part] = min(wanted, default=self.known[part])
        return self.known[part]

    def beside(self, part: str) -> Iterator[str]:
        """Iterate over the readers of a part in its box, or the boxes beside it that hold them."""
        for reader in self.readers[part]:
            for here in self.way(reader):
                if self.around.get(here) == self.around[part]:
                    yield here
                    break


Reads = Mapping[str, Sequence[str]]  # row → names of the rows above it that it reads


def last_reads(order: Sequence[str], reads: Reads) -> dict[str, int]:
    """Return the last row that reads each value.

    Examples
    --------
    >>> last_reads(["a", "b", "c"], {"b": ["a"], "c": ["a"]})
    {'a': 2}
    """
    return {source: k for k, name in enumerate(order) for source in reads.get(name, ())}


def lanes_of(
    order: Sequence[str], reads: Reads, may_take: Callable[[str, str], bool] = lambda ended, name: True
) -> dict[str, int]:
    """Return the lane of each row.

    Parameters
    ----------
    order : sequence of str
        Rows, by their names.
    reads : mapping of str to sequence of str
        Inputs of rows.
    may_take : callable
        Whether a row may take the lane of a value that it is the last to read.

    Examples
    --------
    >>> lanes_of(["x", "y", "s"], {"s": ["x", "y"]})
    {'x': 0, 'y': 1, 's': 0}
    """
    last = last_reads(order, reads)
    lanes: list[str | None] = []
    unread: int | None = None  # the lane of the row above, if nothing reads it: a row below it would seem to
    found: dict[str, int] = {}
    for k, name in enumerate(order):
        wanted = set(reads.get(name, ()))
        ended = [place for place, lane in enumerate(lanes) if lane in wanted and last[lane or ""] <= k]
        own = next((place for place in ended if may_take(lanes[place] or "", name)), None)
        if own is None:
            free = (place for place, lane in enumerate(lanes) if lane is None and place != unread)
            own = next(free, len(lanes) + (len(lanes) == unread))
        lanes += [None] * (own + 1 - len(lanes))
        found[name] = own
        for place in ended:
            lanes[place] = None
        lanes[own] = name if last.get(name, -1) > k else None
        unread = own if lanes[own] is None else None
        while lanes and lanes[-1] is None:
            lanes.pop()
    return found


def fitting(order: Sequence[str], reads: Reads, most: int) -> frozenset[str]:
    """Return the values to draw without a line, so that at most ``most`` lanes (at least two) remain: those with the longest lines.

    Examples
    --------
    >>> sorted(fitting(["a", "b", "c", "d", "e"], {"d": ["b", "c"], "e": ["a", "d"]}, 2))
    ['a']
    """
    named: set[str] = set()
    while True:
        drawn = without(reads, named)
        over = max(lanes_of(order, drawn).values(), default=0) + 1 - most
        if over <= 0:
            return frozenset(named)
        rows, last = {name: k for k, name in enumerate(order)}, last_reads(order, drawn)
        if not last:  # rows that nothing joins stand on two lanes in turn
            return frozenset(named)
        longest = sorted(last, key=lambda name: rows[name] - last[name])
        named.update(longest[: max(1, over // 2)])


def without(reads: Reads, named: Collection[str]) -> dict[str, list[str]]:
    """Return the sources of rows, without some values."""
    return {name: [source for source in sources if source not in named] for name, sources in reads.items()}


def rail_rows(
    order: Sequence[str],
    reads: Reads,
    lanes: Mapping[str, int],
    signs: Mapping[str, str],
    close: bool = False,
) -> Iterator[tuple[str, str]]:
    """Iterate over the lines above each row, and the row itself with its sign.

    Parameters
    ----------
    order, reads, lanes
        Rows, their inputs, and their lanes.
    signs : mapping of str to str
        Signs of rows; a row without one is not there.
    close : bool
        Whether lanes stand side by side, instead of a column apart.

    Examples
    --------
    >>> order, reads = ["x", "y", "s"], {"s": ["x", "y"]}
    >>> for above, row in rail_rows(order, reads, lanes_of(order, reads), {"x": "o", "y": "o", "s": "*"}):
    ...     print(row)
    o
    │ o
    *─╯
    """
    last = last_reads(order, reads)
    live: dict[int, str] = {}
    for k, name in enumerate(order):
        above = ("" if close else " ").join(
            "│" if place in live else " " for place in range(max(live, default=-1) + 1)
        )
        sign = signs.get(name)
        if sign is None:
            yield above, above
            continue
        wanted, own = set(reads.get(name, ())), lanes[name]
        inputs = [place for place, lane in live.items() if lane in wanted]
        ended = {place for place in inputs if last[live[place]] <= k}
        row = _row(live, own, inputs, ended, sign)
        yield above, row[::2] if close else row
        for place in ended:
            del live[place]
        if last.get(name, -1) > k:
            live[own] = name


def _row(live: Collection[int], own: int, inputs: Collection[int], ended: Collection[int], sign: str) -> str:
    low, high = min([own, *inputs]), max([own, *inputs])
    cells = []
    for place in range(max([own, *live]) + 1):
        if place == own:
            cells.append(sign)
        elif place in inputs and place in ended:
            cells.append("╰" if place < own else "╯")
        elif place in inputs:
            cells.append("├" if place < own else "┤")
        elif low < place < high:
            cells.append("┼" if place in live else "─")
        else:
            cells.append("│" if place in live else " ")
        cells.append("─" if low <= place < high else " ")
    return "".join(cells).rstrip()
