"""Laws of pictures of loops: lines cross lines alone; step by step, states flow at one height and back-propagation stands below."""

import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise

from hypothesis import strategies as st

from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.graphs.rewrites_snapshot import rewrites_record
from scanviz.render.colours import HEAT
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.formulas import with_formulas
from scanviz.render.diagram.model import Cluster, Diagram, Node
from scanviz.render.diagram.readable import with_ellipsis
from scanviz.render.diagram.unrolled import unrolled
from scanviz.render.dot import to_dot
from scanviz.render.labels import element_id, percent
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import Box, Placed, Point, title_size
from scanviz.render.layout.time_parts import has_time
from scanviz.render.svg import to_svg
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from tests.laws.frame import built
from tests.laws.law import law
from tests.laws.ways import way_points

_INSIDE = 0.5  # allowed deviation of a line
_CORNERS = 8.0  # how near the ends of two upright lines may come where one continues the other
_SEQUENCE_ROW = re.compile(r"x(\d)\[(-?\d+)\]$")
LOOPS = random_loops()


@law(sample=6, case=LOOPS, steps=st.integers(1, 5), rewritten=st.booleans(), plumbing=st.booleans())
def a_line_crosses_no_box_and_no_title(case: LoopCase, steps: int, rewritten: bool, plumbing: bool) -> None:
    """In an unrolled picture of a loop and its gradient, every line is drawn and crosses no node and no title."""
    for picture in _pictures(case, steps, rewritten, plumbing):
        placed = layered(picture)
        _check_lines(picture, placed)
        _check_titles(picture, placed)


@law(sample=6, case=LOOPS, steps=st.integers(1, 5), rewritten=st.booleans())
def states_flow_at_one_height_and_nothing_overlaps(case: LoopCase, steps: int, rewritten: bool) -> None:
    """Rows of a state are drawn at one height in the order of time; no two nodes or steps overlap."""
    for picture in _pictures(case, steps, rewritten, False):
        boxes = layered(picture).boxes
        _check_apart([boxes[node.id] for node in picture.nodes])
        _check_apart([boxes[cluster.id] for cluster in picture.clusters])
        for node in picture.nodes:
            if node.cluster is not None:
                assert _holds(boxes[node.cluster], boxes[node.id]), node.label
        rows = [node for node in picture.nodes if node.kind == "cell" and not (node.column or 0) % 2]
        for a in rows:
            for b in rows:
                if (a.band, a.variable) == (b.band, b.variable) and (a.column or 0) < (b.column or 0):
                    assert abs(boxes[a.id].y - boxes[b.id].y) < _INSIDE, (a.label, b.label)
                    assert boxes[a.id].right < boxes[b.id].x, (a.label, b.label)
        upper = [boxes[node.id].bottom for node in picture.nodes if node.band == 0]
        lower = [boxes[node.id].y for node in picture.nodes if node.band == 1]
        assert not lower or max(upper) < min(lower)


@law(
    sample=5,
    case=LOOPS,
    rewritten=st.booleans(),
    plumbing=st.booleans(),
    widest=st.sampled_from([120.0, 300.0, 900.0]),
)
def a_line_of_open_loops_crosses_no_box_and_no_title(
    case: LoopCase, rewritten: bool, plumbing: bool, widest: float
) -> None:
    """In a picture with open loops, in any number of rows, lines cross no node and no title."""
    whole = diagram_of(graph_of(case, rewritten), plumbing=plumbing)
    chips = with_chips(whole, 0)
    for picture in (whole, chips, with_formulas(chips)):
        placed = layered(picture, widest=widest)
        _check_lines(picture, placed)
        _check_titles(picture, placed)
        _check_apart([placed.boxes[node.id] for node in picture.nodes])


@law(sample=6, case=LOOPS, steps=st.integers(1, 5), rewritten=st.booleans())
def two_values_share_no_stretch_of_a_line(case: LoopCase, steps: int, rewritten: bool) -> None:
    """Lines of two values share no rail; in unrolled pictures none goes down where another goes up."""
    whole = with_chips(diagram_of(graph_of(case, rewritten)), 0)
    for picture in (whole, with_formulas(whole), *_pictures(case, steps, rewritten, False)):
        known = [one for one in _stretches(picture, layered(picture)) if has_time(picture) or not one[1]]
        for k, (source, upright, at, begin, end) in enumerate(known):
            near = _CORNERS if upright else -_INSIDE
            for other, also, place, start, stop in known[k + 1 :]:
                if source != other and upright == also and abs(at - place) < 1.0:
                    assert stop + near < begin or end + near < start, (source, other, at, begin, end)


def _stretches(picture: Diagram, placed: Placed) -> Iterator[tuple[str, bool, float, float, float]]:
    """Iterate over the straight parts of lines: whose value, whether upright, where, from where and to where."""
    for number, way in placed.routes.items():
        source = picture.edges[number].source
        for (x, y), (a, b) in pairwise(way):
            if abs(x - a) < _INSIDE and abs(y - b) > 1.0:
                yield source, True, x, min(y, b), max(y, b)
            elif abs(y - b) < _INSIDE and abs(x - a) > 1.0:
                yield source, False, y, min(x, a), max(x, a)


@law(sample=5, case=LOOPS, rewritten=st.booleans(), plumbing=st.booleans())
def inputs_beside_their_readers_keep_every_edge(case: LoopCase, rewritten: bool, plumbing: bool) -> None:
    """With inputs drawn beside their readers, every operation reads the same values, and each such input has one reader."""
    whole = diagram_of(graph_of(case, rewritten), plumbing=plumbing)
    small = with_chips(whole, 0)
    assert _reads(small) == _reads(whole)
    owner = {port.id: node for node in small.nodes for port in node.ports} | {
        node.id: node for node in small.nodes
    }
    readers: dict[str, set[str]] = {}
    for edge in small.edges:
        readers.setdefault(edge.source, set()).add(owner[edge.target].id)
    for node in small.nodes:
        if node.kind in ("input", "shared", "constant"):
            assert len(readers.get(node.id, ())) <= 1, node.label
    assert with_chips(small, 0) == small


def _reads(picture: Diagram) -> dict[str, list[tuple[int, str, str]]]:
    """Return the operands of each operation and result by place: the source's label and the line's text."""
    nodes = {node.id: node for node in picture.nodes}
    ports = {port.id: port.label for node in picture.nodes for port in node.ports}
    found: dict[str, list[tuple[int, str, str]]] = {}
    for edge in picture.edges:
        reader = nodes.get(edge.target)
        if reader is not None and reader.kind in ("operation", "output", "until", "inner_output"):
            label = nodes[edge.source].label if edge.source in nodes else ports[edge.source]
            found.setdefault(edge.target, []).append((edge.place or 0, label, edge.label))
    return {name: sorted(given) for name, given in found.items()}


@law(sample=30, shares=st.lists(st.none() | st.floats(0.0, 1.0), min_size=1, max_size=8))
def heat_is_scaled_to_the_hottest_node_in_every_engine(shares: list[float | None]) -> None:
    """The most expensive node has the warmest colour, a costlier node is never colder, and the legend gives the maximum."""
    nodes = tuple(Node(f"n{k}", "operation", "exp", share=share) for k, share in enumerate(shares))
    picture = Diagram("f", nodes)
    most = max((share for share in shares if share is not None), default=0.0)
    for text in (to_svg(picture, layered(picture)), to_dot(picture)):
        drawn = [re.search(rf'id="n{k}"[^\n]*?\bfill(?:color)?="(#\w+)"', text) for k in range(len(nodes))]
        levels = []
        for share, found in zip(shares, drawn, strict=True):
            assert found is not None
            assert (found[1] in HEAT) == (share is not None), (share, found[0])
            if share is not None:
                levels.append((share, HEAT.index(found[1])))
        assert all(level == (len(HEAT) - 1 if most else 0) for share, level in levels if share == most)
        for (less, cold), (more, hot) in pairwise(sorted(levels)):
            assert cold <= hot, (less, more)
        assert most == 0 or percent(most) in text


@law(sample=6, case=LOOPS, steps=st.integers(1, 5), rewritten=st.booleans())
def a_row_of_a_sequence_has_one_name(case: LoopCase, steps: int, rewritten: bool) -> None:
    """Unrolled pictures of a loop and its gradient name each row of a sequence by its number in the user's array."""
    built = graph_of(case, False)
    graph = graph_of(case, True) if rewritten else built
    of = {loop.name: loop.gradient_of for loop, _, _ in graph.all_loops()}
    for name, forward in of.items():
        picture, seen = unrolled(graph, name, steps, built=built), set()
        for node in picture.nodes:
            found = _SEQUENCE_ROW.match(node.label)
            if node.kind != "cell" or node.loop_kind != "sequence" or found is None:
                continue
            back, step = node.id.startswith("back/"), int(node.id.rpartition("/")[2])
            time = steps - 1 - step if back or forward is not None else step
            assert int(found[2]) in _rows_read(case, int(found[1]), time), (node.id, node.label)
            place = back, node.label, time
            assert rewritten or place not in seen, f"two rows are named {node.label} in step {time}"
            seen.add(place)


def _rows_read(case: LoopCase, sequence: int, time: int) -> list[int]:
    """Return which rows of a sequence a step reads, counted from the end where the loop begins there."""
    taps = case.sequences[sequence].taps
    first = -1 - max(0, *taps) - time if case.go_backwards else time - min(0, *taps)
    return [first + tap for tap in taps]


def _pictures(case: LoopCase, steps: int, rewritten: bool, plumbing: bool) -> Iterator[Diagram]:
    graph = graph_of(case, rewritten)
    for name in dict.fromkeys(_names(graph)):
        whole = unrolled(graph, name, steps, plumbing=plumbing)
        yield whole
        few = with_ellipsis(whole, 1, 1)
        if few is not whole:
            yield few
        yield with_formulas(few)


def graph_of(case: LoopCase, rewritten: bool) -> GraphSnapshot:
    """Return the graph of a loop with its gradient, as it was built or after all rewrites."""
    history = rewrites_record(RewriteHistory(built(case).wanted, Selection("all")))
    graph = history.snapshot(len(history.applications) if rewritten else 0)
    assert graph is not None
    return graph


def _names(graph: GraphSnapshot) -> Iterator[str]:
    for loop, _, _ in graph.all_loops():
        yield loop.name


def _title_box(cluster: Cluster, box: Box) -> Box:
    """Return where the title of an open loop stands: at the top of its box, in the middle."""
    size = title_size(cluster)
    return Box(box.centre - size.width / 2, box.y + 2.0, *size)


def _check_lines(picture: Diagram, placed: Placed) -> None:
    owner = {port.id: node.id for node in picture.nodes for port in node.ports}
    obstacles = [(node.id, placed.boxes[node.id], node.label) for node in picture.nodes]
    obstacles += [
        (f"title of {cluster.id}", _title_box(cluster, placed.boxes[cluster.id]), cluster.label)
        for cluster in picture.clusters
    ]
    for number, edge in enumerate(picture.edges):
        assert number in placed.routes, f"{edge} is not drawn"
        points = way_points(placed.routes[number])
        ends = [owner.get(end, end) for end in (edge.source, edge.target)]
        for point, end in zip((points[0], points[-1]), ends, strict=True):
            assert _touches(point, placed.boxes[end]), (edge, point, placed.boxes[end])
        for name, box, label in obstacles:
            if name not in ends:
                crossed = [(a, b) for a, b in pairwise(points) if crosses(a, b, box)]
                assert not crossed, f"{edge.source} → {edge.target} crosses {label}: {crossed}, {box}"


def _check_titles(picture: Diagram, placed: Placed) -> None:
    """Check that the title of each loop or step stands in it, is drawn in the middle of it, and that no node stands on it."""
    text = to_svg(picture, placed)
    for cluster in picture.clusters:
        box = placed.boxes[cluster.id]
        title = _title_box(cluster, box)
        assert _holds(box, title), (cluster.label, box, title)
        drawn = re.search(
            rf'<g id="{re.escape(escape(element_id(cluster.id)))}" .*?<text [^>]*?\bx="([-.\d]+)"[^>]* text-anchor="middle"',
            text,
            re.DOTALL,
        )
        assert drawn is not None and abs(float(drawn[1]) - (box.x + box.right) / 2) < _INSIDE, cluster.label
        inside = [node for node in picture.nodes if node.cluster == cluster.id]
        for node in inside:
            _check_apart([title, placed.boxes[node.id]])


def _touches(point: Point, box: Box) -> bool:
    x, y = point
    across = box.x - _INSIDE <= x <= box.right + _INSIDE
    return across and box.y - _INSIDE <= y <= box.bottom + _INSIDE


def crosses(a: Point, b: Point, box: Box) -> bool:
    """Return whether a straight line runs through the inside of a box (Liang and Barsky's clipping)."""
    begun, ended = 0.0, 1.0
    for start, step, low, high in (
        (a[0], b[0] - a[0], box.x + _INSIDE, box.right - _INSIDE),
        (a[1], b[1] - a[1], box.y + _INSIDE, box.bottom - _INSIDE),
    ):
        if low >= high:
            return False
        if abs(step) < 1e-9:
            if not low < start < high:
                return False
            continue
        first, last = sorted(((low - start) / step, (high - start) / step))
        begun, ended = max(begun, first), min(ended, last)
    return begun < ended


def _holds(around: Box, box: Box) -> bool:
    across = around.x - _INSIDE <= box.x and box.right <= around.right + _INSIDE
    return across and around.y - _INSIDE <= box.y and box.bottom <= around.bottom + _INSIDE


def _check_apart(boxes: list[Box]) -> None:
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            beside = a.right <= b.x + _INSIDE or b.right <= a.x + _INSIDE
            assert beside or a.bottom <= b.y + _INSIDE or b.bottom <= a.y + _INSIDE, (a, b)
