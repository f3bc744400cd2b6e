"""Laws of pictures that Graphviz lays out: its lines cross no node and no loop's title.

They hold of the program ``dot`` where it is installed.
"""

import json
import shutil
import subprocess
from itertools import pairwise
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from scanviz.render.diagram.build import diagram_of
from scanviz.render.dot import names_of, to_dot
from scanviz.render.layout.placed import Box, Point
from scanviz.testing.loop_case import LoopCase
from tests.laws.law import law
from tests.laws.pictures import LOOPS, crosses, graph_of
from tests.laws.ways import curve_at

_PARTS = 8  # straight lines for a piece of a curve


@law(sample=3, case=LOOPS, rewritten=st.booleans(), plumbing=st.booleans())
def a_line_of_graphviz_crosses_no_box_and_no_title(case: LoopCase, rewritten: bool, plumbing: bool) -> None:
    """In pictures that Graphviz lays out, lines cross no node and no title, and titles are above their loops."""
    assume(shutil.which("dot") is not None)
    picture = diagram_of(graph_of(case, rewritten), plumbing=plumbing)
    laid_out = _laid_out(to_dot(picture))
    boxes = [None if "pos" not in entry else _box(entry) for entry in laid_out["objects"]]
    names = {entry["name"]: box for entry, box in zip(laid_out["objects"], boxes, strict=True)}
    titles = {cluster.id: names[f"title {k}"] for k, cluster in enumerate(picture.clusters)}
    for node, name in ((node, names_of(picture)[node.id].strip('"')) for node in picture.nodes):
        box, title = names[name], titles.get(node.cluster or "")
        assert box is not None
        assert title is None or box.bottom <= title.y, f"{node.label} stands above the title of its loop"
    for edge in laid_out.get("edges", []):
        if edge.get("style") == "invis":
            continue
        for number, box in enumerate(boxes):
            if box is not None and number not in (edge["tail"], edge["head"]):
                crossed = [ends for ends in pairwise(_curve(edge["pos"])) if crosses(*ends, box)]
                assert not crossed, (edge["id"], laid_out["objects"][number]["name"], crossed, box)


def _laid_out(text: str) -> Any:
    done = subprocess.run(
        ["dot", "-Tjson"], input=text.encode(), capture_output=True, timeout=100, check=True
    )
    return json.loads(done.stdout)


def _box(node: Any) -> Box:
    """Return where a node stands; Graphviz counts from below, which is no matter here."""
    x, y = map(float, node["pos"].split(","))
    width, height = 72 * float(node["width"]), 72 * float(node["height"])
    return Box(x - width / 2, y - height / 2, width, height)


def _curve(text: str) -> list[Point]:
    """Return the points of a curve of Graphviz: pieces of four, the last of one being the first of the next."""
    words = [word for word in text.split() if word[0] not in "se"]
    knots = [(float(x), float(y)) for x, y in (word.split(",") for word in words)]
    found = [knots[0]]
    for start in range(0, len(knots) - 1, 3):
        piece = knots[start : start + 4]
        found += [curve_at(piece, (k + 1) / _PARTS) for k in range(_PARTS)]
    return found
