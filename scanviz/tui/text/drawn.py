"""Rows of a character picture as styled text, and a two-line explanation of the row under the cursor."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from rich.text import Text

from scanviz.record.plain_text import sanitize
from scanviz.record.summary.glosses import gloss
from scanviz.render.characters import SIGNS, DrawnLine
from scanviz.render.colours import KIND_TEXT
from scanviz.render.diagram.model import Cluster, Diagram, Node
from scanviz.render.labels import short, time_text
from scanviz.tui.text.colours import CYAN, GREEN, RED, YELLOW

HOT, WARM = 0.25, 0.05  # parts of the run
_STATES = ("sitsot", "mitsot", "mitmot", "carry")
_FRAMES = "║╔╚═"


class PicturePart(Struct, frozen=True):
    """The element of a row.

    Attributes
    ----------
    id : str
        In the picture.
    node : Node or None
        The node, or
    cluster : Cluster or None
        the open loop whose box begins there.
    operations : int
        Number of operations in the loop.
    """

    id: str
    node: Node | None = None
    cluster: Cluster | None = None
    operations: int = 0

    @property
    def loop(self) -> bool:
        """True for a loop, open or closed."""
        return self.cluster is not None or (self.node is not None and self.node.kind == "loop")

    @property
    def source(self) -> str:
        """The user's line, as ``file:line``; empty for none."""
        return self.node.source if self.node is not None else ""


def parts_of(diagram: Diagram, whole: Diagram) -> dict[str, PicturePart]:
    """Return the nodes and loops that a picture's rows show, by id; ``whole`` is the picture with all loops open."""
    counts = Counter(node.cluster for node in whole.nodes if node.kind == "operation")
    found = {node.id: PicturePart(node.id, node, operations=node.operations or 0) for node in diagram.nodes}
    for cluster in diagram.clusters:
        found[cluster.id] = PicturePart(cluster.id, cluster=cluster, operations=counts[cluster.id])
    return found


def styled(line: DrawnLine, part: PicturePart | None) -> Text:
    """Colour a line: boxes, states, sequences and expensive operations."""
    text = Text(line.text, no_wrap=True)
    text.stylize("dim", 0, line.rails)
    for place, sign in enumerate(line.text[: line.rails + 24]):
        if sign in _FRAMES:
            text.stylize(CYAN, place, place + 1)
    if part is None:
        return text
    shown = part.node or part.cluster
    if part.loop:
        text.stylize("bold", line.rails)
    if part.node is not None:
        kind = part.node.loop_kind
        colour = GREEN if kind in _STATES else CYAN if kind == "sequence" else ""
        place = line.text.find(SIGNS[part.node.kind], 0, line.rails)
        if place >= 0:
            text.stylize(f"not dim {colour}".rstrip(), place, place + 1)
    share = shown.share if shown is not None else None
    time = time_text(shown) if shown is not None else ""
    place = line.text.rfind(time) if time else -1
    if share is not None and place >= 0 and share >= WARM:
        text.stylize(f"bold {RED}" if share >= HOT else YELLOW, place, place + len(time))
    return text


def words(part: PicturePart, width: int) -> Text:
    """Return two lines about a part: name, type and time, then the meaning of its kind or its source line."""
    node, cluster = part.node, part.cluster
    if cluster is not None:
        head, about = f"loop {cluster.label}", [f"{part.operations} operations drawn", time_text(cluster)]
        below = "enter or a click closes it"
        if cluster.gradient_of:
            about.insert(0, f"back-propagation of {cluster.gradient_of}")
    elif node is None:
        return Text("")
    elif node.kind == "loop":
        head, about = f"loop {node.label}", [f"{part.operations} operations", time_text(node)]
        below = "closed: enter or a click opens it"
    else:
        head, about = node.label, [KIND_TEXT.get(node.kind, node.kind), node.type, time_text(node)]
        place = f"{node.source}: {node.text.strip()}" if node.source else ""
        below = " · ".join(text for text in (gloss(node.loop_kind) if node.loop_kind else "", place) if text)
    details = " · ".join(sanitize(text) for text in about if text)
    text = Text(
        short(head, max(20, width - len(details) - 3)), style="bold", no_wrap=True, overflow="ellipsis"
    )
    text.append(f" · {details}" if details else "", "not bold")
    return text.append(f"\n{short(below, width)}", "not bold dim")
