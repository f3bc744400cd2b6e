"""Layers and orders of a graph with integer nodes: the first half of a layered layout.

The steps are those of Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system structures", 1981).
Edges that close a cycle are reversed.  Each node gets the layer of its longest path, and each edge a joint in every layer that
it passes.  Layers are then ordered by the medians of neighbours, as by Gansner, Koutsofios, North and Vo ("A technique for
drawing directed graphs", 1993).  That is done a fixed number of times, which bounds the time by the size.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

SWEEPS = 8

Edge = tuple[int, int]


def acyclic(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """Return edges without cycles: those that close one are reversed, self-loops are dropped.

    Examples
    --------
    >>> acyclic(3, [(0, 1), (1, 2), (2, 0), (1, 1)])
    [(0, 1), (1, 2), (0, 2)]
    """
    after: dict[int, list[int]] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
    state = [0] * count  # 0 not met, 1 on the way, 2 done
    back: set[Edge] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        way = [(root, iter(after.get(root, ())))]
        while way:
            node, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[node] = 2
                way.pop()
            elif state[following] == 1:
                back.add((node, following))
            elif state[following] == 0:
                state[following] = 1
                way.append((following, iter(after.get(following, ()))))
    return [(b, a) if (a, b) in back else (a, b) for a, b in edges if a != b]


def layers_of(
    count: int, edges: Sequence[Edge], first: Mapping[int, int], last: Mapping[int, int]
) -> list[int]:
    """Return the layer of each node: the length of the longest path to it.

    Parameters
    ----------
    count : int
        Number of nodes.
    edges : sequence of pairs
        Without cycles.
    first : mapping of int to int
        Nodes that stand at the top: 0 for the first layer, 1 for the second.
    last : mapping of int to int
        Nodes that stand at the end: 0 below all others, 1 below these.

    Examples
    --------
    >>> layers_of(4, [(0, 1), (1, 2)], {}, {3: 0})
    [0, 1, 2, 3]
    """
    waiting = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    layer = [first.get(node, max(first.values(), default=-1) + 1) for node in range(count)]
    ready = [node for node in range(count) if not waiting[node]]
    for node in ready:  # grows while it is gone through
        for following in after[node]:
            if following not in first:
                layer[following] = max(layer[following], layer[node] + 1)
            waiting[following] -= 1
            if not waiting[following]:
                ready.append(following)
    bottom = max((layer[node] for node in range(count) if node not in last), default=-1)
    for node, place in last.items():
        layer[node] = bottom + 1 + place
    used = {number: k for k, number in enumerate(sorted(set(layer)))}
    return [used[number] for number in layer]


def ordered(
    rows: list[list[int]], edges: Sequence[Edge], aims: Mapping[int, float] | None = None
) -> list[list[int]]:
    """Return layers ordered for few crossings; edges join neighbouring layers.

    Nodes with the same best place, such as those that all lead to one loop, stand in the order of their ``aims``.

    Examples
    --------
    >>> ordered([[0, 1], [2, 3]], [(0, 3), (1, 2)])
    [[0, 1], [3, 2]]
    """
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for a, b in edges:
        below.setdefault(a, []).append(b)
        above.setdefault(b, []).append(a)
    best, fewest = [list(row) for row in rows], crossings(rows, above)
    current = [list(row) for row in rows]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for k in range(1, len(current)) if down else range(len(current) - 2, -1, -1):
            fixed = {node: place for place, node in enumerate(current[k - 1 if down else k + 1])}
            current[k] = _by_medians(current[k], near, fixed, aims or {})
        count = crossings(current, above)
        if count < fewest or (aims and count == fewest):
            best, fewest = [list(row) for row in current], count
    return best


def _by_medians(
    row: list[int], near: Mapping[int, list[int]], fixed: Mapping[int, int], aims: Mapping[int, float]
) -> list[int]:
    """Return a layer ordered by medians; nodes without neighbours keep their places."""
    wanted: dict[int, float] = {}
    for node in row:
        places = sorted(fixed[number] for number in near.get(node, ()) if number in fixed)
        if places:
            half = len(places) // 2
            wanted[node] = places[half] if len(places) % 2 else (places[half - 1] + places[half]) / 2
    moving = iter(
        sorted(
            (number for number in row if number in wanted),
            key=lambda number: (wanted[number], aims.get(number, 0.0)),
        )
    )
    return [next(moving) if number in wanted else number for number in row]


def crossings(rows: Sequence[Sequence[int]], above: Mapping[int, Sequence[int]]) -> int:
    """Return the number of crossing pairs of edges (the accumulator tree of Barth, Mutzel and Jünger, 2004).

    Examples
    --------
    >>> crossings([[0, 1], [2, 3]], {3: [0], 2: [1]})
    1
    """
    found = 0
    for upper, lower in itertools.pairwise(rows):
        place = {node: k for k, node in enumerate(upper)}
        ends = [
            k
            for node in lower
            for k in sorted(place[number] for number in above.get(node, ()) if number in place)
        ]
        size = 1
        while size < len(upper):
            size *= 2
        tree = [0] * (2 * size)
        for end in ends:
            index = end + size
            tree[index] += 1
            while index > 1:
                if index % 2 == 0:
                    found += tree[index + 1]
                index //= 2
                tree[index] += 1
    return found
