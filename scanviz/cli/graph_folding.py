"""Fold pictures of ``scanviz graph`` that are too large to read."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from scanviz.cli.options import Given

if TYPE_CHECKING:
    from scanviz.render.diagram.model import Diagram

FOLDED = ("svg", "png", "pdf", "html")  # formats for people
MOST_TRIED = 20  # steps to lay out: more never fit a slide


def folds(form: str, given: Given) -> bool:
    """Return whether large pictures of a format are folded.

    Examples
    --------
    >>> folds("svg", Given(whole=False)), folds("svg", Given(whole=True)), folds("dot", Given(whole=False))
    (True, False, False)
    """
    return form in FOLDED and not given.whole


def folded(whole: Diagram, given: Given, opened: Collection[str]) -> Diagram:
    """Return a readable picture; named loops stay open."""
    from scanviz.render.diagram.readable import WHOLE, for_slide, readable
    from scanviz.render.diagram.unrolled import MOST_STEPS
    from scanviz.render.layout.timeline import SLIDE, timeline

    types = given.types
    if given.unrolled is not None:

        def fits(picture: Diagram) -> bool:
            most = MOST_STEPS if picture is whole else MOST_TRIED
            return steps_in(picture) <= most and timeline(picture, types).width <= SLIDE

        taken = given.unrolled <= MOST_STEPS  # by --whole, too
        return for_slide(whole, fits, all_by=WHOLE if taken else "")
    return whole if given.depth is not None or given.diff is not None else readable(whole, opened)


def steps_in(picture: Diagram) -> int:
    """Return the number of steps, or boxes for several steps, side by side."""
    return len({node.column for node in picture.nodes if node.band == 0 and node.cluster is not None})


def unfolded(whole: Diagram, folded: Diagram) -> list[tuple[str, Diagram]]:
    """Return the pictures that a page unfolds on request: each closed loop, and the whole."""
    from scanviz.render.diagram.folding import only_loops
    from scanviz.render.engines import LARGEST_IN_TIME

    if any(node.band is not None for node in whole.nodes):
        return [("all of it", whole)] if len(whole.nodes) <= LARGEST_IN_TIME else []
    shown = {cluster.id for cluster in folded.clusters}
    closed = [
        loop
        for loop in whole.clusters
        if loop.id not in shown and (loop.parent is None or loop.parent in shown)
    ]
    return [*((loop.label, only_loops(whole, [loop.id])) for loop in closed), ("all of it", whole)]
