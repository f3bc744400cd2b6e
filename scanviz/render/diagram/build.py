"""The picture of a graph: every loop open, then folded where that is wanted.

A port has the same id on an open loop and on a closed one, so the picture around a loop is the same either way.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from scanviz.record.errors import ScanvizValueError
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.drawing import PictureBuilder, PictureLevel
from scanviz.render.diagram.folding import close_loops, depths, only_loops
from scanviz.render.diagram.heat import HeatMap, function_of
from scanviz.render.diagram.model import Diagram


def diagram_of(
    graph: GraphSnapshot,
    *,
    record: ProfileRecord | None = None,
    function: int | None = None,
    depth: int | None = None,
    closed: Collection[str] = (),
    scan: str | None = None,
    plumbing: bool = False,
) -> Diagram:
    """Return the picture of a graph with its loops.

    Parameters
    ----------
    graph : GraphSnapshot
        The graph.
    record : ProfileRecord, optional
        A run whose times are shown.
    function : int, optional
        Key of the record's function that the graph is of; without it, the one with this graph.
    depth : int, optional
        Depth of nested open loops; 0 closes all.  By default all are open.
    closed : collection of str
        Names of loops that are closed.
    scan : str, optional
        Name of the loop to show alone; ``depth`` then counts from it.
    plumbing : bool
        Whether sizes, broadcasts and other plumbing are drawn; else a note counts them.

    Raises
    ------
    ScanvizValueError
        If no loop has that name.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.record.snapshot import snapshot
    >>> picture = diagram_of(snapshot(T.tanh(T.scalar("x"))))
    >>> [(node.kind, node.label) for node in picture.nodes]
    [('input', 'x'), ('operation', 'tanh'), ('output', 'output 0')]
    """
    picture = whole_picture(graph, HeatMap(record, function_of(record, function, graph)), folded=not plumbing)
    if scan is not None:
        picture = only_loops(picture, _called(picture, [scan]))
    deep = depths(picture)
    at_depth = [name for name, around in deep.items() if depth is not None and around >= max(depth, 0)]
    return close_loops(picture, {*at_depth, *_called(picture, closed)})


def with_closed(picture: Diagram, names: Collection[str]) -> Diagram:
    """Return a picture with the named loops closed.

    Raises
    ------
    ScanvizValueError
        If no loop has that name.
    """
    return close_loops(picture, _called(picture, names))


def _called(picture: Diagram, names: Collection[str]) -> list[str]:
    """Return the ids of the named loops."""
    known = [cluster.label for cluster in picture.clusters]
    for name in names:
        if name not in known:
            raise unknown_loop(name, known)
    return [cluster.id for cluster in picture.clusters if cluster.label in names]


def unknown_loop(name: str, names: Collection[str]) -> ScanvizValueError:
    """Return the error for a missing loop."""
    known = sorted(set(names))
    near = difflib.get_close_matches(name, known, 1)
    listed = ", ".join(sanitize(text) for text in known[:20]) + (", …" if len(known) > 20 else "")
    return ScanvizValueError(
        f"there is no loop `{sanitize(name)}`",
        expected=f"one of {listed}" if known else "a graph with a loop",
        fix=f"did you mean `{sanitize(near[0])}`?" if near else None,
    )


def whole_picture(graph: GraphSnapshot, heat: HeatMap, folded: bool = False) -> Diagram:
    """Return the picture of a graph with every loop open; with ``folded``, without plumbing."""
    picture = PictureBuilder(heat, folded)
    PictureLevel(picture, graph, None, "", None).draw()
    notes = (plumbing_note(picture.left_out),) if picture.left_out else ()
    return Diagram(graph.title, tuple(picture.nodes), tuple(picture.clusters), tuple(picture.edges), notes)


def plumbing_note(count: int) -> str:
    """Return the note that counts omitted plumbing operations.

    Examples
    --------
    >>> plumbing_note(1)
    'not drawn: 1 operation of plumbing (sizes, broadcasts); --plumbing draws it'
    """
    what = f"{count} operation{'' if count == 1 else 's'} of plumbing (sizes, broadcasts)"
    return f"not drawn: {what}; --plumbing draws {'it' if count == 1 else 'them'}"
