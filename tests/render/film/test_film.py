"""A film of rewrites: the first frame is the graph as built, the last as it runs, and nothing moves between them."""

import json
import re

import pytest
from msgspec.structs import replace

from scanviz.record.costs import CostNumbersRecord, StepNumbersRecord
from scanviz.record.errors import ScanvizValueError
from scanviz.render.diagram.build import whole_picture
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.film.drawing import film_file, laid_out
from scanviz.render.film.frames import film_of
from tests.render.diagram.graphs import history, several_taps
from tests.render.pictures import texts_of, xml_of


@pytest.fixture(scope="module")
def rewrites():
    return history(several_taps())


@pytest.fixture(scope="module")
def drawing(rewrites):
    return laid_out(film_of(rewrites))


def shown_as(film, frame):
    """Return the contents of a frame: labels of nodes with the loops around them, and the number of edges."""
    found = film.frames[frame]
    boxes = {cluster.id: cluster.label for cluster in film.whole.clusters}
    nodes = sorted(
        (boxes.get(n.cluster) or "", n.kind, n.label) for n in film.whole.nodes if n.id in found.shown
    )
    return nodes, len(found.edges)


def test_frames_show_the_versions_of_the_graph(rewrites, drawing):
    for frame, shown in enumerate(drawing.film.frames):
        picture = whole_picture(rewrites.snapshot(shown.after), HeatMap(None, None), folded=True)
        boxes = {cluster.id: cluster.label for cluster in picture.clusters}
        nodes = sorted((boxes.get(n.cluster) or "", n.kind, n.label) for n in picture.nodes)
        assert shown_as(drawing.film, frame) == (nodes, len(picture.edges))
    assert drawing.film.frames[0].after == 0
    assert "as it was built" in drawing.film.frames[0].caption


def test_every_node_is_drawn_once_for_all_frames(drawing):
    drawn = [group.get("id") for group in xml_of(drawing.moving()).iter() if group.get("class") == "sv-node"]
    assert len(set(drawn)) == len(drawn)
    for frame in drawing.film.frames:
        assert frame.shown <= {*drawn, *(cluster.id for cluster in drawing.film.whole.clusters)}


def test_a_rewrite_has_the_number_that_it_has_everywhere(rewrites, drawing):
    for shown in drawing.film.frames[1:]:
        rewrite = rewrites.applications[shown.after - 1]
        assert shown.caption.startswith(f"{rewrite.index}: {rewrite.rule} ")


def test_the_curve_has_the_operations_of_a_step(rewrites, drawing):
    for shown in drawing.film.frames:
        assert shown.operations == sum(rewrites.steps(shown.after).values())
    texts = texts_of(drawing.moving())
    assert str(drawing.film.frames[0].operations) in texts


def test_floating_point_operations_are_a_curve_of_their_own_where_the_shapes_of_a_call_are_known(rewrites):
    numbers = CostNumbersRecord(
        flops=9000, per_step={name: StepNumbersRecord(3, 1500) for name in rewrites.steps(0)}
    )
    known = film_of(replace(rewrites, cost=replace(rewrites.cost, numbers=numbers)))
    assert film_of(rewrites).floating == []
    assert known.floating == [1500 * len(numbers.per_step)] * len(known.frames)
    texts = texts_of(laid_out(known).moving())
    assert f"floating-point operations: {known.floating[0]:,}" in texts


def test_the_svg_moves_without_a_script_and_shows_the_last_frame_where_nothing_moves(drawing):
    svg = film_file(drawing, "svg")
    assert b"<script" not in svg and b"@keyframes" in svg and b"prefers-reduced-motion" in svg
    gone = [n.id for n in drawing.film.whole.nodes if n.id not in drawing.film.frames[-1].shown]
    groups = {e.get("id"): parent for parent in xml_of(svg).iter() for e in parent if e.get("id")}
    assert gone and all(groups[name].get("opacity") in ("0", "0.25") for name in gone if name in groups)


def test_the_page_has_a_scrubber_and_needs_no_network(drawing):
    page = film_file(drawing, "html").decode()
    assert 'type="range"' in page and f'max="{len(drawing.film.frames) - 1}"' in page
    assert "default-src 'none'" in page and not re.search(r'(src|href)="', page)
    lists = json.loads(re.search(r"const seen = (\[\[.*?\]\]),", page)[1])
    assert all(len(seen) == len(drawing.film.frames) for seen in lists)


def test_one_loop_can_be_filmed_alone(rewrites):
    film = film_of(rewrites, "rnn")
    assert {cluster.label for cluster in film.whole.clusters} == {"rnn"}
    assert [frame.operations for frame in film.frames] == [
        rewrites.steps(frame.after)["rnn"] for frame in film.frames
    ]
    assert film.counted == "operations of one step of rnn"
    with pytest.raises(ScanvizValueError, match="did you mean `rnn`"):
        film_of(rewrites, "rnm")


def test_without_versions_there_is_no_film(rewrites):
    with pytest.raises(ScanvizValueError, match="only the list"):
        film_of(rewrites.list_only())
