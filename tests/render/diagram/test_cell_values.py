"""Values in pictures of steps: each row and gradient as the run computed it, and where the cost enters."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.record.errors import ScanvizValueError
from scanviz.render.characters import drawing_text
from scanviz.render.diagram.unrolled import unrolled
from scanviz.render.engines import drawn
from tests.render.diagram.graphs import run_of_several_taps
from tests.render.pictures import texts_of


def recorded(cost, steps=3, state=1.0):
    """Return the record of y[t] = 2 y[t-1] + 3 y[t-2] with the gradient of a cost, and its graph."""
    first, a = T.tensor("float64", (None,) * (1 + np.ndim(state)), name="first"), T.scalar("a")
    y, _ = scanviz.scan(
        lambda y_tm2, y_tm1, a: a * y_tm1 + 3.0 * y_tm2,
        outputs_info=dict(initial=first, taps=[-2, -1]),
        non_sequences=a,
        n_steps=steps,
        name="y",
    )
    f = scanviz.function([first, a], [y, scanviz.grad(cost(y), first)], mode="reference")
    record = scanviz.trace(f, np.stack([state, state]), 2.0).record
    return record, record.functions[0].graph


def values_of(picture):
    return {node.label: node.value for node in picture.nodes if node.kind == "cell"}


def test_rows_and_gradients_have_the_values_of_the_run():
    record, graph = recorded(lambda y: y[-1])
    picture = unrolled(graph, "y", 3, record, values=True)
    assert values_of(picture) == {
        "y[-2]": "1",
        "y[-1]": "1",
        "y[0]": "5",
        "y[1]": "13",
        "y[2]": "41",
        "∂y[-2]": "21",
        "∂y[-1]": "20",
        "∂y[0]": "7",
        "∂y[1]": "2",
        "∂y[2]": "1",
    }
    weights = {(node.label, node.value) for node in picture.nodes if node.loop_kind == "non_sequence"}
    assert weights == {("a", "2")}
    texts = texts_of(drawn(picture).text)
    assert {"y[1]", "= 13", "∂y[0]", "= 7", "a = 2"} <= set(texts)
    assert "∂y[1] = 2 ← ↓ multiply\n" in drawing_text(picture, 100)
    assert "multiply ← ∂y[1], a  → + ∂y[0]\n" in drawing_text(picture, 100), "the value is not yet whole"


def test_the_cost_enters_the_rows_that_it_reads():
    entering = {
        "the last row": (lambda y: y[-1], {"∂y[2]": "from the cost: 1"}),
        "two rows": (lambda y: 4 * y[-2] + y[-1], {"∂y[1]": "from the cost: 4", "∂y[2]": "from the cost: 1"}),
    }
    for cost, wanted in entering.values():
        record, graph = recorded(cost)
        picture = unrolled(graph, "y", 3, record, values=True)
        assert {node.label: node.note for node in picture.nodes if node.note} == wanted


def test_gradients_of_the_first_steps_are_those_of_the_whole_run():
    record, graph = recorded(lambda y: y[-1], steps=6)
    pictures = [unrolled(graph, "y", steps, record, values=True) for steps in (6, 3)]
    notes = [
        "the first 3 of 6 steps of y, in the order of time",
        "grad_of_y goes back over them, and begins with step 5; + adds to what is there",
    ]
    assert pictures[1].notes[:2] == (*notes,) and pictures[0].notes[0].startswith("a run of 6 steps of y,")
    whole, part = map(values_of, pictures)
    assert part == {label: whole[label] for label in part} and len(part) == 10


def test_no_more_steps_are_drawn_than_the_run_had():
    record, graph = recorded(lambda y: y[-1], steps=2)
    picture = unrolled(graph, "y", 4, record, values=True)
    assert values_of(picture).keys() == values_of(unrolled(graph, "y", 2, record)).keys()
    assert "the run had 2 steps" in picture.notes and all(values_of(picture).values())


def test_an_array_stands_below_its_name_by_its_shape_and_first_elements():
    record, graph = recorded(lambda y: y[-1].sum(), state=np.array([0.5, 1.0, 1.5, 2.0]))
    picture = unrolled(graph, "y", 3, record, values=True)
    assert values_of(picture)["y[0]"] == "(4,) 2.5 5 7.5 …"
    texts = texts_of(drawn(picture).text)
    assert "y[0]" in texts and "(4,) 2.5 5 7.5 …" in texts


def test_a_picture_with_values_has_no_times_and_one_without_them_no_values():
    record, graph = recorded(lambda y: y[-1])
    plain, valued = (unrolled(graph, "y", 3, record, values=values) for values in (False, True))
    assert all(cluster.time_ns is None for cluster in valued.clusters)
    assert all(node.value == "" for node in plain.nodes)


def test_without_kept_values_none_can_be_drawn():
    record = run_of_several_taps()
    graph = record.functions[0].graph
    with pytest.raises(ScanvizValueError, match="no values of rnn were kept"):
        unrolled(graph, "rnn", 3, record, values=True)


def test_cells_of_a_gradient_stand_in_the_order_of_the_loop():
    record, graph = recorded(lambda y: y[-1])
    cells = [node.label for node in unrolled(graph, "y", 3, record).nodes if node.kind == "cell"]
    assert cells[-5:] == ["∂y[-2]", "∂y[-1]", "∂y[0]", "∂y[1]", "∂y[2]"]
