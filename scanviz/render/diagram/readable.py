"""What is drawn of a large picture until somebody asks for all of it: formulas, closed loops, the first and the last steps.

A picture is folded as little as lets it be read: one step of folding after another until it is small enough, and its notes say what
was folded and which options draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from msgspec.structs import replace

from scanviz.render.diagram.build import unknown_loop
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.ellipsis import with_ellipsis
from scanviz.render.diagram.folding import close_loops, inside
from scanviz.render.diagram.formulas import with_formulas
from scanviz.render.diagram.model import Diagram
from scanviz.render.diagram.summary import READABLE, loops_to_close

WHOLE = "--whole draws all"
_LONGEST_ROW = 16  # characters of a row's name where room is short


def readable(diagram: Diagram, opened: Collection[str] = (), limit: int = READABLE) -> Diagram:
    """Return a picture of a graph that is read at a glance: formulas instead of single operations, then loops closed.

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
    """Return the name of the loop that takes most time, if it is read at a glance: a picture of loops shows what is in one."""
    outermost = [box for box in diagram.clusters if box.parent is None]
    if not outermost:
        return []
    most = max(outermost, key=lambda box: box.share or 0.0)
    within = inside(diagram, [most.id])
    return [most.label] if sum(node.cluster in within for node in diagram.nodes) <= limit else []


def for_slide(diagram: Diagram, fits: Callable[[Diagram], bool], all_by: str = WHOLE) -> Diagram:
    """Return an unrolled picture that fits a slide, as far as that goes: formulas, then steps in the middle as one box.

    Parameters
    ----------
    diagram : Diagram
        Steps side by side.
    fits : callable
        Whether a picture fits.
    all_by : str
        What draws all of it; empty where nothing does, for there are too many steps.

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
    """Iterate over smaller and smaller pictures, the first of which is the whole."""
    yield diagram
    yield with_formulas(diagram)
    for first in (2, 1):
        few = with_formulas(with_ellipsis(diagram, first, 1))
        yield few
        yield _with_short_rows(few)


def _with_short_rows(diagram: Diagram) -> Diagram:
    """Return a picture in which long names of rows are cut; tooltips have the whole of them."""
    nodes = tuple(
        replace(node, label=f"{node.label[: _LONGEST_ROW - 1].rstrip()}…", text=node.label)
        if node.kind == "cell" and len(node.label) > _LONGEST_ROW
        else node
        for node in diagram.nodes
    )
    return replace(diagram, nodes=nodes)


__all__ = ["WHOLE", "for_slide", "readable"]
