"""Fold large pictures to a readable size: formulas, closed loops, the first and the last steps.

Steps of folding follow each other until the picture is small enough; its notes name what was folded and the options that draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from scanviz.render.diagram.build import unknown_loop
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.folding import close_loops, fold, inside
from scanviz.render.diagram.formulas import with_formulas
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.diagram.summary import READABLE, loops_to_close

# The middle steps of an unrolled picture as one box that states flow through, so that the rest fits a slide.

DOTS = "…"


def with_ellipsis(diagram: Diagram, first: int, last: int) -> Diagram:
    """Return an unrolled picture of the first and last steps, with one box for all between them.

    Parameters
    ----------
    diagram : Diagram
        Steps side by side; of no more steps than are kept, it comes back as it is.
    first, last : int
        Numbers of steps kept at the beginning and at the end.

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
    """Return the node that replaces the middle steps of each band, its members, and the boxes."""
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
    """Return the boxes of a picture, with one box in place of those of the middle steps."""
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
    """Return edges, with one for each pair of ends at a folded node."""
    found: dict[tuple[str, ...], Edge] = {}
    for number, edge in enumerate(edges):
        if edge.source in dots or edge.target in dots:
            plus = "" if edge.role != "accumulates" else "+"
            found.setdefault((edge.source, edge.target, plus), replace(edge, label=""))
        else:
            found[edge.source, edge.target, str(number)] = edge
    return tuple(found.values())


WHOLE = "--whole draws all"
_LONGEST_ROW = 16  # characters of a row's name where room is short


def readable(diagram: Diagram, opened: Collection[str] = (), limit: int = READABLE) -> Diagram:
    """Fold a picture to a readable size: first operations into formulas, then loops into closed ones.

    Parameters
    ----------
    diagram : Diagram
        A picture with its loops open; one of few nodes comes back as it is.
    opened : collection of str
        Names of loops that stay open.
    limit : int
        Nodes that are read at a glance.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Cluster, Node
    >>> nodes = tuple(Node(f"n{k}", "port" if k < 3 else "operation", "exp", "a" if k < 100 else None) for k in range(110))
    >>> small = readable(Diagram("f", nodes, (Cluster("a", "rnn"),)))
    >>> len(small.nodes), small.notes[-1]
    (11, 'folded, for the picture is large: rnn closed; --open NAME opens a loop, --whole draws all')
    """
    known = [cluster.label for cluster in diagram.clusters]
    for name in opened:
        if name not in known:
            raise unknown_loop(name, known)
    if len(diagram.nodes) <= limit or any(node.change for node in diagram.nodes):
        return diagram
    before = with_chips(diagram, 0)
    small = with_formulas(before)
    folded = [note for note in small.notes if note not in before.notes]
    stay = {*opened, *_hottest(small, limit)}
    closing = loops_to_close(small, limit)
    kept = [box.label for box in small.clusters if box.id in closing and box.label not in stay]
    closed = close_loops(small, [box.id for box in small.clusters if box.label in kept])
    ways = []
    if kept:
        folded.append(f"{', '.join(dict.fromkeys(kept))} closed")
        ways.append("--open NAME opens a loop")
    if not folded:
        return diagram
    note = f"folded, for the picture is large: {'; '.join(folded)}; {', '.join([*ways, WHOLE])}"
    return replace(closed, notes=(*before.notes, note))


def _hottest(diagram: Diagram, limit: int) -> list[str]:
    """Return the name of the most expensive loop, if it has a readable size."""
    outermost = [box for box in diagram.clusters if box.parent is None]
    if not outermost:
        return []
    most = max(outermost, key=lambda box: box.share or 0.0)
    within = inside(diagram, [most.id])
    return [most.label] if sum(node.cluster in within for node in diagram.nodes) <= limit else []


def for_slide(diagram: Diagram, fits: Callable[[Diagram], bool], all_by: str = WHOLE) -> Diagram:
    """Fold an unrolled picture towards the size of a slide: formulas first, then the middle steps as one box.

    Parameters
    ----------
    diagram : Diagram
        Steps side by side.
    fits : callable
        Whether a picture fits.
    all_by : str
        Option that draws all of it; empty where there are too many steps for that.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Cluster, Node
    >>> nodes = tuple(Node(f"step {k}/n", "operation", "tanh", f"step {k}", column=2 * k + 1, band=0) for k in range(5))
    >>> picture = Diagram("f", nodes, tuple(Cluster(f"step {k}", f"step {k}") for k in range(5)))
    >>> for_slide(picture, lambda one: len(one.nodes) < 5).notes[-1]
    'folded, to fit a slide: steps 2 to 3 are drawn as one box; --whole draws all'
    """
    found = diagram
    for found in _smaller(diagram):
        if fits(found):
            break
    folded = found.notes[len(diagram.notes) :]
    if not folded:
        return found
    note = f"folded, to fit a slide: {'; '.join([*folded, *filter(None, [all_by])])}"
    return replace(found, notes=(*diagram.notes, note))


def _smaller(diagram: Diagram) -> Iterator[Diagram]:
    """Iterate over ever smaller pictures, beginning with the whole."""
    yield diagram
    yield with_formulas(diagram)
    for first in (2, 1):
        few = with_formulas(with_ellipsis(diagram, first, 1))
        yield few
        yield _with_short_rows(few)


def _with_short_rows(diagram: Diagram) -> Diagram:
    """Return a picture with shortened row names; tooltips keep the full names."""
    nodes = tuple(
        replace(node, label=f"{node.label[: _LONGEST_ROW - 1].rstrip()}…", text=node.label)
        if node.kind == "cell" and len(node.label) > _LONGEST_ROW
        else node
        for node in diagram.nodes
    )
    return replace(diagram, nodes=nodes)
