"""A loop step by step: each step reads and writes the cells of its taps, with back-propagation below."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.cells import at_time
from scanviz.render.diagram.unrolled import unrolled
from scanviz.testing import random_loops
from tests.render.diagram.graphs import (
    assert_sound,
    history,
    run_of_several_taps,
    several_taps,
    with_gradients,
)


def reads_and_writes(picture, step):
    """Return labels of the cells that a step reads and writes; additions to a cell count as writes."""
    nodes = {node.id: node for node in picture.nodes}
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


def test_step_seven_reads_and_writes_the_rows_of_its_taps(picture):
    reads, writes = reads_and_writes(picture, "step 7")
    assert {"x[4]", "x[6]", "y[6]"} <= reads
    assert writes == {"x[7]", "y[7]"}


def test_the_first_steps_read_initial_rows(picture):
    assert {"x[-3]", "x[-1]", "y[-1]"} <= reads_and_writes(picture, "step 0")[0]
    assert {"x[-2]", "x[0]", "y[0]"} <= reads_and_writes(picture, "step 1")[0]


def test_step_three_of_the_gradient_writes_the_cells_of_two_earlier_rows(picture):
    reads, writes = reads_and_writes(picture, "back/step 3")
    assert {"∂x[1]", "∂x[3]", "∂y[3]"} <= writes
    assert "∂x[4]" in reads


def test_a_later_step_adds_to_a_cell_of_a_mitmot(picture):
    nodes = {node.id: node for node in picture.nodes}
    [cell] = [node for node in picture.nodes if node.label == "∂x[3]"]
    into = [(edge.role, nodes[edge.source].cluster) for edge in picture.edges if edge.target == cell.id]
    assert into == [("leaves", "back/step 1"), ("accumulates", "back/step 3")], "the first is what the row is"
    assert {nodes[edge.target].cluster for edge in picture.edges if edge.source == cell.id} == {"back/step 4"}


def test_backward_steps_and_cells_stand_under_the_forward_ones(picture):
    column = {node.cluster: node.column for node in picture.nodes if node.cluster}
    cells = {node.label: node.column for node in picture.nodes if node.kind == "cell"}
    bands = {node.label: node.band for node in picture.nodes if node.kind == "cell"}
    for t in range(8):
        assert column[f"step {t}"] == column[f"back/step {7 - t}"] == cells[f"x[{t}]"] - 1
        assert cells[f"∂x[{t}]"] == cells[f"x[{t}]"]
        assert (bands[f"x[{t}]"], bands[f"∂x[{t}]"]) == (0, 1)
    assert cells["∂x[-3]"] == cells["x[-3]"] == 2


def test_weights_stand_in_each_step_that_reads_them(picture):
    weights = {(node.cluster, node.label) for node in picture.nodes if node.loop_kind == "non_sequence"}
    for t in range(8):
        assert {name for cluster, name in weights if cluster == f"step {t}"} == {"W", "W_feedback", "W_out"}


def test_the_gradient_reads_the_rows_of_the_forward_loop_itself(picture):
    nodes = {node.id: node for node in picture.nodes}
    forward = {node.id for node in picture.nodes if node.kind == "cell" and not node.id.startswith("back/")}
    read = {
        (nodes[e.target].cluster, nodes[e.source].label)
        for e in picture.edges
        if e.source in forward and (nodes[e.target].cluster or "").startswith("back/")
    }
    assert ("back/step 0", "x[6]") in read or ("back/step 0", "x[7]") in read
    assert all(label.startswith(("x[", "y[")) for _, label in read)


def test_every_node_has_its_place_in_time(picture):
    for node in picture.nodes:
        assert None not in (node.column, node.row, node.band)
        state = node.kind == "cell" and node.loop_kind not in ("sequence", "nitsot")
        assert (node.column % 2 == 0) == state


def test_rows_at_a_step_are_called_by_their_numbers():
    assert at_time("1 - h[t-1] * h[t+2]", 4) == "1 - h[3] * h[6]"


def loop_of_taps(taps, **options):
    """Return the graphs, as built and rewritten, of a loop over some taps of `data` and of its gradients."""
    data, w = T.vector("data"), T.scalar("w")

    def step(*read):
        *rows, before, weight = read
        return T.tanh(weight * before + math.prod(rows))

    s, _ = scanviz.scan(
        step,
        dict(input=data, taps=taps),
        outputs_info=T.scalar("s0"),
        non_sequences=w,
        name="loop",
        **options,
    )
    kept = history([T.sum(s**2), *scanviz.grad(T.sum(s**2), [w, data])])
    return kept.snapshot(0), kept.snapshot(len(kept.applications))


def labels_of(picture, kind):
    return {
        node.id.removeprefix("back/cell/"): node.label
        for node in picture.nodes
        if node.kind == "cell" and node.loop_kind == kind
    }


def test_each_steps_contribution_to_a_rows_gradient_has_its_own_name():
    built, _ = loop_of_taps([-1, 0])
    labels = labels_of(unrolled(built, "loop", 2), "nitsot").values()
    assert set(labels) == {f"∂data[{row}] from step {step}" for row, step in [(0, 0), (1, 0), (1, 1), (2, 1)]}
    single, _ = loop_of_taps([0])
    assert set(labels_of(unrolled(single, "loop", 2), "nitsot").values()) == {"∂data[0]", "∂data[1]"}


@pytest.mark.parametrize("steps", [0, 9, -1, 1000])
def test_too_many_steps_are_refused(steps):
    with pytest.raises(ScanvizError, match="side by side") as caught:
        unrolled(snapshot(several_taps()), "rnn", steps)
    assert "1 to 8" in str(caught.value)


def test_an_unknown_loop_is_refused_and_the_forward_loop_is_the_default():
    graph = snapshot(several_taps())
    with pytest.raises(ScanvizError, match="did you mean `rnn`"):
        unrolled(graph, "rnm", 2)
    assert unrolled(graph, None, 2) == unrolled(graph, "rnn", 2)
    with pytest.raises(ScanvizError, match="no loop to unroll"):
        unrolled(replace(graph, nodes=(), outputs=(), output_names=()), None, 2)


def test_times_of_steps_come_from_the_run():
    record = run_of_several_taps()
    picture = unrolled(record.functions[0].graph, "rnn", 8, record)
    assert "no run had more than 5 steps" in picture.notes
    [loop] = [each for each in record.loops if each.name == "rnn"]
    times = {cluster.id: cluster.time_ns for cluster in picture.clusters}
    for run, step, nanoseconds, _ in loop.series.tolist():
        assert run == 0 and times[f"step {step}"] == nanoseconds
    assert np.isclose(sum(cluster.share for cluster in picture.clusters if cluster.loop == loop.key), 1)


@given(case=random_loops(), steps=st.integers(1, 8))
def test_every_step_of_any_loop_reads_and_writes_the_cells_of_its_taps(case, steps):
    graph = history(with_gradients(case)[0]).snapshot(0)
    loops = list(graph.all_loops())
    for name in dict.fromkeys(placed.loop.name for placed in loops):
        picture = unrolled(graph, name, steps, plumbing=True)
        assert_sound(picture)
        [(loop, inner, _), *_] = [placed for placed in loops if placed.loop.name == name]
        drawn = {node.id: node for node in picture.nodes}
        drawn |= {port.id: node for node in picture.nodes for port in node.ports}
        inside = [cluster.id for cluster in picture.clusters if cluster.id.startswith("step ")]
        assert inside == [f"step {t}" for t in range(steps)]
        for t, step in enumerate(inside):
            writes = {
                e.target
                for e in picture.edges
                if drawn[e.source].cluster == step and drawn[e.target].kind == "cell"
            }
            wanted = set()
            for k, variable in enumerate(loop.variables):
                taps = variable.writes or ((0,) if variable.kind in ("nitsot", "carry") else ())
                wanted |= {f"cell/{k}/{t + tap}" for tap in taps[: len(variable.inner_outputs)]}
            assert writes == wanted
            reads = {
                e.source
                for e in picture.edges
                if drawn[e.target].cluster == step and drawn[e.source].kind == "cell"
            }
            reads |= {
                e.target for e in picture.edges if e.role == "accumulates" and drawn[e.source].cluster == step
            }
            used = {number for node in inner.nodes for number in node.inputs} | set(inner.outputs)
            wanted = set()
            for k, variable in enumerate(loop.variables):
                taps = variable.reads if variable.kind != "sequence" else (0,)
                taps = taps or ((-1,) if variable.kind == "carry" else ())
                wanted |= {
                    f"cell/{k}/{t + tap}"
                    for tap, number in zip(taps, variable.inner_inputs, strict=False)
                    if number in used
                }
            assert reads == wanted
