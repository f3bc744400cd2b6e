"""Large pictures: folded until they can be read, and no more."""

import pytest
from msgspec.structs import replace

from scanviz.record.errors import ScanvizError
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.folding import close_loops
from scanviz.render.diagram.model import Cluster, Diagram, Node
from scanviz.render.diagram.readable import for_slide, readable, with_ellipsis
from scanviz.render.diagram.unrolled import MOST_IN_ALL, unrolled
from scanviz.render.labels import hottest, legend_rows, warmth
from scanviz.render.layout.timeline import SLIDE, timeline
from tests.render.diagram.graphs import history, several_taps


def graph():
    return history(several_taps()).snapshot(0)


def test_a_large_picture_keeps_the_slowest_loop_open_and_names_closed_ones():
    picture = diagram_of(graph())
    small = readable(picture, limit=40)
    assert len(small.nodes) < len(picture.nodes)
    assert [cluster.label for cluster in small.clusters] == ["rnn"]
    assert "grad_of_rnn closed" in small.notes[-1] and "--whole" in small.notes[-1]
    opened = readable(picture, ["grad_of_rnn"], limit=40)
    assert [cluster.label for cluster in opened.clusters] == ["rnn", "grad_of_rnn"]
    assert readable(picture, limit=1000) is picture
    with pytest.raises(ScanvizError, match="rnm"):
        readable(picture, ["rnm"])


def test_operations_of_an_open_loop_are_not_pale_beside_a_closed_loop_that_took_more():
    hot = Node("a", "operation", "exp", "open", share=0.1)
    nodes = (hot, *(Node(f"n{k}", "operation", "tanh", "closed", share=0.05) for k in range(16)))
    boxes = (Cluster("open", "open", share=0.1), Cluster("closed", "closed", share=0.8))
    small = close_loops(Diagram("f", nodes, boxes), ["closed"])
    most = hottest(small)
    assert [warmth(node, most) for node in small.nodes] == [1.0, 1.0]
    assert legend_rows(small)[-1][-1].text == "10% and more"
    pale = replace(hot, share=0.001)
    small = close_loops(Diagram("f", (pale, *nodes[1:]), boxes), ["closed"])
    assert warmth(pale, hottest(small)) == 0.02  # beside the hottest operation of the closed one


def test_many_steps_are_the_first_the_last_and_one_box_that_states_flow_through():
    picture = unrolled(graph(), "rnn", 30, most=MOST_IN_ALL)
    small = for_slide(picture, lambda one: timeline(one).width <= SLIDE)
    assert timeline(small).width <= SLIDE and "--whole" in small.notes[-1]
    refused = for_slide(picture, lambda one: timeline(one).width <= SLIDE, all_by="")
    assert "drawn as one box" in refused.notes[-1] and "--whole" not in refused.notes[-1]
    labels = [cluster.label for cluster in small.clusters]
    assert labels[0] == "step 0" and "step 29" in labels and "∂ step 29" in labels
    [steps] = [node for node in small.nodes if node.kind == "summary" and node.band == 0]
    assert any(edge.target == steps.id for edge in small.edges)
    assert any(edge.source == steps.id for edge in small.edges)


def test_a_picture_that_fits_is_unchanged():
    picture = unrolled(graph(), "rnn", 3)
    assert for_slide(picture, lambda one: True) == picture
    assert with_ellipsis(picture, 2, 1) == picture
    assert with_ellipsis(Diagram("f"), 1, 1) == Diagram("f")
