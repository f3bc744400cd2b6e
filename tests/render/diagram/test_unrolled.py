"""A loop step by step: each step reads and writes the cells that its taps say, and back-propagation stands under it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizError
from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.unrolled import unrolled
from scanviz.testing import random_loops
from tests.render.diagram.graphs import (
    all_loops,
    assert_sound,
    history,
    run_of_several_taps,
    several_taps,
    with_gradients,
)


def reads_and_writes(picture, step):
    """Return labels of the cells that a step reads and writes."""
    nodes = {each.id: each for each in picture.nodes}
    reads = {
        nodes[e.source].label
        for e in picture.edges
        if nodes[e.target].cluster == step and nodes[e.source].kind == "cell"
    }
    writes = {
        nodes[e.target].label
        for e in picture.edges
        if nodes[e.source].cluster == step and nodes[e.target].kind == "cell"
    }
    return reads, writes


@pytest.fixture(scope="module")
def picture():
    return unrolled(history(several_taps()).snapshot(0), "rnn", 8)


def test_step_seven_reads_and_writes_the_rows_that_the_taps_say(picture):
    reads, writes = reads_and_writes(picture, "step 7")
    assert {"x[4]", "x[6]", "y[6]"} <= reads
    assert writes == {"x[7]", "y[7]"}


def test_the_first_steps_read_initial_rows(picture):
    assert {"x[-3]", "x[-1]", "y[-1]"} <= reads_and_writes(picture, "step 0")[0]
    assert {"x[-2]", "x[0]", "y[0]"} <= reads_and_writes(picture, "step 1")[0]


def test_step_three_of_the_gradient_writes_the_cells_of_two_earlier_rows(picture):
    reads, writes = reads_and_writes(picture, "back/step 3")
    assert {"grad_x[6] for x[1]", "grad_x[4] for x[3]", "grad_y[4] for y[3]"} <= writes
    assert "grad_x[3] for x[4]" in reads


def test_a_cell_of_a_mitmot_has_several_writers_in_order(picture):
    nodes = {each.id: each for each in picture.nodes}
    [cell] = [each for each in picture.nodes if each.label == "grad_x[4] for x[3]"]
    writers = [
        (each.label, nodes[each.source].cluster)
        for each in picture.edges
        if each.target == cell.id and each.role in ("leaves", "recurrence")
    ]
    assert writers == [("write 1, tap 3", "back/step 1"), ("write 2, tap 1", "back/step 3")]


def test_backward_steps_and_cells_stand_under_the_forward_ones(picture):
    column = {each.cluster: each.column for each in picture.nodes if each.cluster}
    cells = {each.label: each.column for each in picture.nodes if each.kind == "cell"}
    below = {each.label: each.row for each in picture.nodes if each.kind == "cell"}
    for t in range(8):
        assert column[f"step {t}"] == column[f"back/step {7 - t}"] == cells[f"x[{t}]"]
        assert cells[f"grad_x[{7 - t}] for x[{t}]"] == cells[f"x[{t}]"]
        assert below[f"grad_x[{7 - t}] for x[{t}]"] > below[f"x[{t}]"]
    assert cells["grad_x[10] for x[-3]"] == cells["x[-3]"] == 1


def test_the_gradient_reads_the_rows_of_the_forward_loop_itself(picture):
    nodes = {each.id: each for each in picture.nodes}
    forward = {each.id for each in picture.nodes if each.kind == "cell" and not each.id.startswith("back/")}
    read = {
        (nodes[e.target].cluster, nodes[e.source].label)
        for e in picture.edges
        if e.source in forward and (nodes[e.target].cluster or "").startswith("back/")
    }
    assert ("back/step 0", "x[6]") in read or ("back/step 0", "x[7]") in read
    assert all(label.startswith(("x[", "y[")) for _, label in read)


def test_no_two_nodes_share_a_place_in_the_grid(picture):
    places = [(each.column, each.row) for each in picture.nodes]
    assert None not in {part for place in places for part in place}
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("steps", [0, 9, -1, 1000])
def test_too_many_steps_are_refused(steps):
    with pytest.raises(ScanvizError, match="side by side") as caught:
        unrolled(snapshot(several_taps()), "rnn", steps)
    assert "1 to 8" in str(caught.value)


def test_an_unknown_loop_is_refused_and_none_takes_the_forward_loop():
    graph = snapshot(several_taps())
    with pytest.raises(ScanvizError, match="did you mean `rnn`"):
        unrolled(graph, "rnm", 2)
    assert unrolled(graph, None, 2) == unrolled(graph, "rnn", 2)
    with pytest.raises(ScanvizError, match="no loop to unroll"):
        unrolled(replace(graph, nodes=(), loops=(), outputs=(), output_names=()), None, 2)


def test_times_of_steps_come_from_the_run():
    record = run_of_several_taps()
    picture = unrolled(record.functions[0].graph, "rnn", 8, record)
    assert "no run had more than 5 steps" in picture.notes
    [loop] = [each for each in record.loops if each.name == "rnn"]
    times = {each.id: each.time_ns for each in picture.clusters}
    for run, step, nanoseconds, _ in loop.series.tolist():
        assert run == 0 and times[f"step {step}"] == nanoseconds
    assert np.isclose(sum(each.share for each in picture.clusters if each.loop == loop.key), 1)


@given(case=random_loops(), steps=st.integers(1, 8))
@settings(max_examples=25)
def test_every_step_of_any_loop_reads_and_writes_the_cells_of_its_taps(case, steps):
    graph = history(with_gradients(case)[0]).snapshot(0)
    loops = list(all_loops(graph))
    for name in dict.fromkeys(loop.name for _, _, loop in loops):
        picture = unrolled(graph, name, steps)
        assert_sound(picture)
        [loop, *_] = [each for _, _, each in loops if each.name == name]
        drawn = {each.id: each for each in picture.nodes}
        drawn |= {port.id: each for each in picture.nodes for port in each.ports}
        inside = [each.id for each in picture.clusters if each.id.startswith("step ")]
        assert inside == [f"step {t}" for t in range(steps)]
        for t, step in enumerate(inside):
            writes = {
                e.target
                for e in picture.edges
                if drawn[e.source].cluster == step and drawn[e.target].kind == "cell"
            }
            wanted = set()
            for k, each in enumerate(loop.variables):
                taps = each.writes or ((0,) if each.kind in ("nitsot", "carry") else ())
                wanted |= {f"cell/{k}/{t + tap}" for tap in taps[: len(each.inner_outputs)]}
            assert writes == wanted
            reads = {
                e.source
                for e in picture.edges
                if drawn[e.target].cluster == step and drawn[e.source].kind == "cell"
            }
            used = {number for node in loop.step.nodes for number in node.inputs} | set(loop.step.outputs)
            wanted = set()
            for k, each in enumerate(loop.variables):
                taps = each.reads if each.kind != "sequence" else (0,)
                taps = taps or ((-1,) if each.kind == "carry" else ())
                wanted |= {
                    f"cell/{k}/{t + tap}"
                    for tap, number in zip(taps, each.inner_inputs, strict=False)
                    if number in used
                }
            assert reads == wanted
