"""One level of a layered layout: the parts of one cluster in layers, with room for the edges between them."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping

from scanviz.render.layout.ordering import acyclic, layers_of, ordered
from scanviz.render.layout.placed import (
    Box,
    BoxSize,
    Point,
)

GAP, LAYER_GAP, EDGE_ROOM = 16.0, 34.0, 8.0
_LINE_GAP, _LINES_GAP = (
    10.0,
    4.0,
)  # between a part and a line that passes its layer, and between two of these lines
STRAIGHTENING = 6
_CENTRING, _CENTRED = 40, 0.05  # how often a title is moved at most, and how near the middle it is then


class LayeredLevel:
    """Places of the parts of one box.

    Parameters
    ----------
    sizes : list of BoxSize
        Sizes of the parts.
    edges : list of (int, int, int)
        A number, and the parts that it leads from and to.
    first, last : dict of int to int
        Parts that stand at the top and at the end, as :func:`layers_of` takes them.
    near : collection of int
        Parts that nothing in the box leads to, and which stand right above the first that they lead to.
    title : int, optional
        A part in the middle of the box; other parts of its layer stand beside it.
    beside : pair of float
        Widths at the left and at the right of the layers.
    widest : float
        Widest layer; a wider one that is neither at the top nor at the end is split.
    aims : mapping of int to float, optional
        Horizontal ends of edges, by number, within the large part that they lead to.
    """

    def __init__(
        self,
        sizes: list[BoxSize],
        edges: list[tuple[int, int, int]],
        first: dict[int, int],
        last: dict[int, int],
        near: Collection[int] = (),
        title: int | None = None,
        beside: tuple[float, float] = (0.0, 0.0),
        widest: float = math.inf,
        aims: Mapping[int, float] | None = None,
    ) -> None:
        self.sizes, self.title, self.beside = list(sizes), title, beside
        self.count = count = len(sizes)
        pairs = acyclic(count, [(a, b) for _, a, b in edges])
        self.layer = layers_of(
            count, [(a, b) for a, b in pairs if b not in first and a not in last], first, last
        )
        self._lower(pairs, near, set(first) | set(last))
        self._break(widest, {*first, *last})
        self.joints: dict[int, list[int]] = {}
        self.ends = {number: (a, b) for number, a, b in edges}
        self.links: list[tuple[int, int]] = []
        for number, a, b in edges:
            self._lead(number, a, b)
        depth = max(self.layer, default=-1) + 1
        rows: list[list[int]] = [[] for _ in range(depth)]
        for part, layer in enumerate(self.layer):
            if part != title:
                rows[layer].append(part)
        self._untitled = self.rows = ordered(rows, self.links, self._aims(aims or {}))
        self.place({})

    def _aims(self, aims: Mapping[int, float]) -> dict[int, float]:
        """Return the mean right end of each part's edges, and of the joints of edges in layers that they pass."""
        ends: dict[int, list[float]] = defaultdict(list)
        for number, aim in aims.items():
            for part in (self.ends[number][0], *self.joints[number]):
                ends[part].append(aim)
        return {part: sum(found) / len(found) for part, found in ends.items()}

    def _lower(self, pairs: list[tuple[int, int]], near: Collection[int], fixed: Collection[int]) -> None:
        """Lower parts to the layer above their first reader, where that shortens more edges than it lengthens."""
        if not near:
            return
        below: dict[int, list[int]] = defaultdict(list)
        above: dict[int, list[int]] = defaultdict(list)
        for a, b in pairs:
            below[a].append(b)
            above[b].append(a)
        light = set(near)  # parts made of these alone, each for one reader, go down with them
        heavy: dict[int, int] = {}
        for part in sorted(range(self.count), key=lambda part: self.layer[part]):
            heavy[part] = sum(
                one not in light or (one not in near and len(below[one]) > 1) for one in above[part]
            )
            if above[part] and not heavy[part] and part not in fixed:
                light.add(part)
        for part in sorted(range(self.count), key=lambda part: -self.layer[part]):
            free = part in near or (part not in fixed and heavy[part] < len(below[part]))
            if free and below[part]:
                self.layer[part] = max(min(1, len(fixed)), min(self.layer[b] for b in below[part]) - 1)

    def _break(self, widest: float, fixed: set[int]) -> None:
        """Split a layer that is too wide into several, one below the other."""
        layers: dict[int, list[int]] = defaultdict(list)
        for part, layer in enumerate(self.layer):
            layers[layer].append(part)
        below = 0
        for layer in sorted(layers):
            rows = (
                self._rows_of(layers[layer], widest) if fixed.isdisjoint(layers[layer]) else [layers[layer]]
            )
            for k, row in enumerate(rows):
                for part in row:
                    self.layer[part] = layer + below + k
            below += len(rows) - 1

    def _rows_of(self, parts: list[int], widest: float) -> list[list[int]]:
        """Split a layer into rows that fit: small parts in turn, large ones below."""
        small = [part for part in parts if self.sizes[part].width <= widest / 2]
        large = [part for part in parts if self.sizes[part].width > widest / 2]
        total = sum(self.sizes[part].width + GAP for part in small)
        count = max(1, math.ceil(total / widest)) if small else 0
        rows = [small[k::count] for k in range(count)]
        width = total if count == 1 else widest
        for part in large:
            width += self.sizes[part].width + GAP
            if not rows or width > widest:
                rows.append([])
                width = self.sizes[part].width + GAP
            rows[-1].append(part)
        return rows

    def _lead(self, number: int, a: int, b: int) -> None:
        """Add a joint for an edge in each layer that it passes."""
        if self.layer[a] > self.layer[b]:
            a, b = b, a
        chain = [a]
        for layer in range(self.layer[a] + 1, self.layer[b]):
            self.sizes.append(BoxSize(EDGE_ROOM, 0.0))
            self.layer.append(layer)
            chain.append(len(self.sizes) - 1)
        chain.append(b)
        self.joints[number] = chain[1:-1]
        if self.layer[a] != self.layer[b]:
            self.links += itertools.pairwise(chain)

    def mirror(self) -> None:
        """Mirror the level, which keeps the number of crossings."""
        self._untitled = [row[::-1] for row in self._untitled]
        self.place({})

    def place(self, more: Mapping[int, float]) -> None:
        """Place every part, with extra room below some layers."""
        count, centres = self.count, self._centres()  # which puts the title into its row
        heights = [max((self.sizes[number].height for number in row), default=0.0) for row in self.rows]
        tall = {k: height + more.get(k, 0.0) for k, height in enumerate(heights)}
        tops = running(tall, LAYER_GAP)
        self.tops, self.heights = [tops[k] for k in range(len(heights))], heights
        middles = {number: tops[k] + heights[k] / 2 for k, row in enumerate(self.rows) for number in row}
        left = min((centres[number] - size.width / 2 for number, size in enumerate(self.sizes)), default=0.0)
        self.boxes = [
            Box(
                centres[number] - self.sizes[number].width / 2 - left,
                middles[number] - self.sizes[number].height / 2,
                *self.sizes[number],
            )
            for number in range(count)
        ]
        self.routes: dict[int, list[Point]] = {
            number: [
                point
                for joint in joints
                for point in self._through(
                    centres[joint] - left, tops[self.layer[joint]], heights[self.layer[joint]]
                )
            ]
            for number, joints in self.joints.items()
        }
        points = [x for route in self.routes.values() for x, _ in route]
        self.width = max([box.right for box in self.boxes] + points, default=0.0)
        self.height = tops[len(heights) - 1] + heights[-1] if heights else 0.0

    def in_rows(self, number: int) -> list[Point]:
        """Return an edge's path from the row of its upper end to that of its lower one, around parts in these rows."""
        upper, lower = sorted(self.ends[number], key=lambda part: self.layer[part])
        if self.layer[upper] == self.layer[lower]:
            return []
        above, below = self.layer[upper], self.layer[lower]
        start = self.boxes[upper].centre, self.tops[above] + self.heights[above]
        end = self.boxes[lower].centre, self.tops[below]
        way = [start] if self.boxes[upper].bottom < start[1] - 1 else []
        way += self.routes.get(number, [])
        return [*way, end] if self.boxes[lower].y > end[1] + 1 else way

    @staticmethod
    def _through(x: float, top: float, height: float) -> list[Point]:
        """Return the points at which an edge enters and leaves a layer, straight down so that it touches nothing."""
        return [(x, top), (x, top + height)] if height else [(x, top)]

    def _centres(self) -> dict[int, float]:
        """Return the centre of each part: near its neighbours, in the order of its layer, without overlap."""
        centres: dict[int, float] = {}
        for row in self._untitled:
            x = 0.0
            for k, number in enumerate(row):
                x += self._gap(row[k - 1], number) if k else 0.0
                centres[number] = x + self.sizes[number].width / 2
                x += self.sizes[number].width
            for number in row:
                centres[number] -= x / 2
        near: dict[int, list[int]] = defaultdict(list)
        for a, b in self.links:
            near[a].append(b)
            near[b].append(a)
        for sweep in range(STRAIGHTENING):
            for row in self._untitled if sweep % 2 == 0 else self._untitled[::-1]:
                self._straighten(row, centres, near)
        if self.title is not None:
            self._set_title(self.title, centres)
        return centres

    def _gap(self, a: int, b: int) -> float:
        """Return the distance between two neighbours of a layer."""
        lines = (a >= self.count) + (b >= self.count)
        return (GAP, _LINE_GAP, _LINES_GAP)[lines]

    def _set_title(self, title: int, centres: dict[int, float]) -> None:
        """Put the title in the middle of the box, and move the parts in its layer apart."""
        row, half = self._untitled[self.layer[title]], self.sizes[title].width / 2
        split = None
        for _ in range(_CENTRING):
            sides = [(centre, self.sizes[number].width / 2) for number, centre in centres.items()]
            left = min((centre - width for centre, width in sides), default=0.0) - self.beside[0]
            right = max((centre + width for centre, width in sides), default=0.0) + self.beside[1]
            middle = (left + right) / 2
            if abs(centres.get(title, math.inf) - middle) < _CENTRED:
                break
            centres[title] = middle
            split = sum(centres[number] < middle for number in row) if split is None else split
            end = middle - half - GAP
            for number in reversed(row[:split]):
                centres[number] = min(centres[number], end - self.sizes[number].width / 2)
                end = centres[number] - self.sizes[number].width / 2 - GAP
            start = middle + half + GAP
            for number in row[split:]:
                centres[number] = max(centres[number], start + self.sizes[number].width / 2)
                start = centres[number] + self.sizes[number].width / 2 + GAP
        self.rows = list(self._untitled)
        self.rows[self.layer[title]] = [*row[:split], title, *row[split:]]

    def _straighten(self, row: list[int], centres: dict[int, float], near: dict[int, list[int]]) -> None:
        """Move a layer's parts towards the means of their neighbours, and apart where they would overlap.

        The places are those that keep the order and the distances and are nearest to the wanted ones (least squares over an order:
        the pool of adjacent violators of Ayer, Brunk, Ewing, Reid and Silverman, 1955).
        """
        offsets: list[float] = []
        offset = 0.0
        for k, number in enumerate(row):
            if k:
                offset += (self.sizes[row[k - 1]].width + self.sizes[number].width) / 2
                offset += self._gap(row[k - 1], number)
            offsets.append(offset)
        pools: list[tuple[float, int]] = []  # wanted mean less the offset, and how many share it
        for number, start in zip(row, offsets, strict=True):
            around = near[number]
            wanted = sum(centres[one] for one in around) / len(around) if around else centres[number]
            mean, many = wanted - start, 1
            while pools and pools[-1][0] > mean:
                other, others = pools.pop()
                mean, many = (mean * many + other * others) / (many + others), many + others
            pools.append((mean, many))
        places = [mean for mean, many in pools for _ in range(many)]
        for number, start, place in zip(row, offsets, places, strict=True):
            centres[number] = start + place


def running(sizes: dict[int, float], gap: float) -> dict[int, float]:
    """Return the start of each of a series of sizes."""
    found: dict[int, float] = {}
    place = 0.0
    for key in sorted(sizes):
        found[key] = place
        place += sizes[key] + gap
    return found
