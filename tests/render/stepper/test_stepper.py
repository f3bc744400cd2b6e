"""The page of a stepper: cells as in the picture, values of the run, texts that stay texts."""

import json
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.record.errors import ScanvizValueError
from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.unrolled import unrolled
from scanviz.render.layout.stacked import stacked
from scanviz.render.stepper.page import MOST_STEPS, stepper_page
from scanviz.testing import random_loops
from tests.render.diagram.graphs import assert_sound, run_of_several_taps, with_gradients
from tests.render.pictures import HOSTILE


def recorded(steps=3, size=(), name="y", weight="a"):
    """Return the record of the loop of lesson 6 with its gradient, and its graph."""
    first, a, b = (
        T.tensor("float64", (None,) * (1 + len(size)), name="first"),
        T.scalar(weight),
        T.scalar("b"),
    )
    y, _ = scanviz.scan(
        lambda y_tm2, y_tm1, a, b: a * y_tm1 + b * y_tm2,
        outputs_info=dict(initial=first, taps=[-2, -1]),
        non_sequences=[a, b],
        n_steps=steps,
        name=name,
    )
    y.name = name
    f = scanviz.function([first, a, b], [y, scanviz.grad(y[-1].sum(), first)], mode="reference")
    record = scanviz.trace(f, np.ones((2, *size)), 2.0, 3.0).record
    return record, record.functions[0].graph


def data_of(page):
    return json.loads(re.search(r"^const given = (\{.*\}), pause", page, re.MULTILINE)[1])


def held(buffer, step):
    """Return the values of a buffer's cells after a step, by their names."""
    return {
        buffer["cells"][cell]: text
        for cell, first, end, text in buffer["spans"]
        if first <= step and (end is None or step < end)
    }


def test_cells_hold_the_values_of_lesson_six_before_and_after_each_step():
    forward, back = data_of(stepper_page(*recorded()))["loops"]
    assert (forward["name"], back["name"], back["of"]) == ("y", "grad_of_y", "y")
    assert back["steps"] == [2, 1, 0]
    [y], [slopes] = forward["buffers"], back["buffers"]
    assert held(y, -1) == {"y[-2]": "1", "y[-1]": "1"}
    assert held(y, 1) == {"y[-2]": "1", "y[-1]": "1", "y[0]": "5", "y[1]": "13"}
    names = ["∂y[-2]", "∂y[-1]", "∂y[0]", "∂y[1]", "∂y[2]"]
    table = ["0 0 0 0 1", "0 0 3 2 1", "0 6 7 2 1", "21 20 7 2 1"]  # as the lesson prints it
    for step, row in enumerate(table, -1):
        assert held(slopes, step) == dict(zip(names, row.split(), strict=True))
    assert slopes["cost"] == [[names.index("∂y[2]"), "1"]]


def test_a_step_reads_and_writes_the_cells_of_its_taps():
    forward, back = data_of(stepper_page(*recorded()))["loops"]
    [y], [slopes] = forward["buffers"], back["buffers"]
    named = lambda buffer, cells: sorted(buffer["cells"][cell] for cell in cells)  # noqa: E731
    assert named(y, y["reads"][1]) == ["y[-1]", "y[0]"] and named(y, y["writes"][1]) == ["y[1]"]
    assert named(slopes, slopes["reads"][1]) == ["∂y[-1]", "∂y[0]", "∂y[1]"]
    assert named(slopes, slopes["writes"][1]) == ["∂y[-1]", "∂y[0]"]
    assert y["expressions"][1] == ["a * y[0] + b * y[-1]"]
    assert set(slopes["expressions"][1]) == {"∂y[1] * a + ∂y[0]", "∂y[1] * b + ∂y[-1]"}
    assert forward["weights"] == ["a = 2", "b = 3"]


def test_cells_have_the_names_and_the_order_of_the_picture():
    record, graph = recorded()
    picture = unrolled(graph, "y", 3, record)
    drawn = [node.label for node in picture.nodes if node.kind == "cell"]
    loops = data_of(stepper_page(record, graph))["loops"]
    assert [cell for loop in loops for buffer in loop["buffers"] for cell in buffer["cells"]] == drawn


def test_rows_that_are_arrays_show_their_shape_and_first_elements():
    forward = data_of(stepper_page(*recorded(size=(5,))))["loops"][0]
    assert held(forward["buffers"][0], 0)["y[0]"] == "(5,) 5 5 5 …"


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_record_cannot_become_markup(text):
    record, graph = recorded(name=text, weight=text)
    loops = tuple(
        replace(
            loop,
            name=text,
            variables=tuple(replace(one, name=text, inner_outputs=(text,)) for one in loop.variables),
        )
        for loop in record.loops
    )
    page = stepper_page(replace(record, loops=loops), graph)
    plain = stepper_page(*recorded())
    assert re.findall(r"<[^ >]+", page) == re.findall(r"<[^ >]+", plain)
    assert data_of(page)["loops"][1]["of"] == data_of(page)["loops"][0]["name"] == sanitize(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202e\u2066]", page)


@settings(max_examples=15)
@given(random_loops())
def test_of_any_loop_each_written_row_is_known_in_the_stepper_and_stands_in_the_stacked_picture(case):
    wanted, inputs = with_gradients(case)
    f = scanviz.function([each for each, _ in inputs], wanted, mode="reference", on_unused_input="ignore")
    record = scanviz.trace(f, *(value for _, value in inputs)).record
    graph = record.functions[0].graph
    assume(graph.loops and any(trace.loop == graph.loops[0].key for trace in record.traces))
    for loop in data_of(stepper_page(record, graph))["loops"]:
        for buffer in loop["buffers"]:
            for step, cells in enumerate(buffer["writes"]):
                assert {buffer["cells"][cell] for cell in cells} <= held(buffer, step).keys()
    picture, placed = stacked(unrolled(graph, None, 3, record, values=True), False, 358.0)
    assert_sound(picture)
    assert {node.id for node in picture.nodes} <= placed.boxes.keys()
    assert set(range(len(picture.edges))) == placed.routes.keys()


def test_the_page_needs_no_network():
    page = stepper_page(*recorded())
    assert "default-src 'none'" in page and not re.search(r'(src|href)="(?!\$)', page)


def test_a_record_without_values_or_with_too_many_steps_is_refused():
    record = run_of_several_taps()
    with pytest.raises(ScanvizValueError, match="no values of rnn were kept"):
        stepper_page(record, record.functions[0].graph)
    with pytest.raises(ScanvizValueError, match=f"y has {MOST_STEPS + 1} steps"):
        stepper_page(*recorded(MOST_STEPS + 1))
    record, graph = recorded()
    with pytest.raises(ScanvizValueError, match="no loop `z`"):
        stepper_page(record, graph, "z")
