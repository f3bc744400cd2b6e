"""Steps in the middle of an unrolled picture drawn as one box, through which states flow on, so that the rest fits a slide."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from scanviz.render.diagram.folding import fold
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node

DOTS = "…"


def with_ellipsis(diagram: Diagram, first: int, last: int) -> Diagram:
    """Return an unrolled picture with its first and last steps, and one box for all between them.

    Parameters
    ----------
    diagram : Diagram
        Steps side by side; of no more steps than are kept, it comes back as it is.
    first, last : int
        How many steps are kept at the beginning and at the end.

    Examples
    --------
    >>> nodes = tuple(Node(f"n{k}", "operation", "tanh", f"step {k}", column=2 * k + 1, band=0) for k in range(5))
    >>> picture = Diagram("f", nodes, tuple(Cluster(f"step {k}", f"step {k}") for k in range(5)))
    >>> [(node.label, node.column) for node in with_ellipsis(picture, 1, 1).nodes]
    [('tanh', 1), ('…', 3), ('tanh', 5)]
    """
    columns = sorted({node.column or 0 for node in diagram.nodes if node.band == 0 and node.cluster})
    gone = columns[first : len(columns) - last]
    if len(gone) < 1 or not first or not last:
        return diagram
    low, high = gone[0], gone[-1]
    groups, clusters = _groups(diagram, low, high, (first, first + len(gone) - 1))
    small = fold(diagram, groups)
    what = clusters[0].label
    return replace(
        small,
        nodes=tuple(_moved(node, high, high - low) for node in small.nodes),
        clusters=tuple(_kept(diagram.clusters, groups, clusters)),
        edges=_once(small.edges, {node.id for node, _ in groups}),
        notes=(*diagram.notes, f"{what} {'is' if len(gone) == 1 else 'are'} drawn as one box"),
    )


def _groups(
    diagram: Diagram, low: int, high: int, steps: tuple[int, int]
) -> tuple[list[tuple[Node, list[str]]], list[Cluster]]:
    """Return what stands for the steps of each band with what they stand for, and the boxes of both."""
    named = f"step {steps[0]}" if steps[0] == steps[1] else f"steps {steps[0]} to {steps[1]}"
    groups: list[tuple[Node, list[str]]] = []
    clusters: list[Cluster] = []
    for band in sorted({node.band or 0 for node in diagram.nodes}):
        members = [node for node in diagram.nodes if node.band == band and low <= (node.column or 0) <= high]
        inside = {node.cluster for node in members} - {None}
        if not inside:
            continue
        boxes = [cluster for cluster in diagram.clusters if cluster.id in inside]
        times = [box.time_ns for box in boxes if box.time_ns is not None]
        shares = [box.share for box in boxes if box.share is not None]
        box = Cluster(
            f"{'back/' if band else ''}{named}",
            f"{'∂ ' if band else ''}{named}",
            None,
            boxes[0].loop,
            time_ns=sum(times) if times else None,
            share=sum(shares) if shares else None,
        )
        row = min(node.row or 0 for node in members if node.cluster)
        dots = Node(f"{box.id}/all", "summary", DOTS, box.id, loop=box.loop, column=low, row=row, band=band)
        groups.append((dots, [node.id for node in members]))
        clusters.append(box)
    return groups, clusters


def _kept(
    clusters: Sequence[Cluster], groups: Sequence[tuple[Node, Sequence[str]]], new: Sequence[Cluster]
) -> list[Cluster]:
    """Return the boxes of a picture, those of the steps that are drawn as one replaced by one."""
    found: list[Cluster] = []
    for cluster in clusters:
        home = next(
            (box for (_, members), box in zip(groups, new, strict=True) if _in(cluster, members)), cluster
        )
        if home not in found:
            found.append(home)
    return found


def _in(cluster: Cluster, members: Sequence[str]) -> bool:
    return any(name.startswith(f"{cluster.id}/") for name in members)


def _moved(node: Node, after: int, by: int) -> Node:
    column = node.column or 0
    return replace(node, column=column - by) if column > after else node


def _once(edges: Sequence[Edge], dots: set[str]) -> tuple[Edge, ...]:
    """Return edges, of those from and to what stands for many steps one each."""
    found: dict[tuple[str, ...], Edge] = {}
    for number, edge in enumerate(edges):
        if edge.source in dots or edge.target in dots:
            plus = "" if edge.role != "accumulates" else "+"
            found.setdefault((edge.source, edge.target, plus), replace(edge, label=""))
        else:
            found[edge.source, edge.target, str(number)] = edge
    return tuple(found.values())


__all__ = ["with_ellipsis"]
