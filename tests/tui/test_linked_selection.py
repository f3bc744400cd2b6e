"""What belongs to a chosen loop variable: found in the graph, and marked in every tab."""

import functools

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.tui.model.linked_selection import (
    LinkedSelection,
    OriginLine,
    linked_selection,
    origin,
    snapshot_of,
)
from scanviz.tui.model.state import start
from tests.tui.driver import at, opened, text_of, waits
from tests.tui.records_for_tui import gradient_record, traced_record


@functools.cache
def planted_record():
    """Return the profile, with values, of a tank whose level becomes NaN at step 23."""
    inflow = T.vector("inflow")

    def step(inflow_t, level):
        outflow = T.sqrt(level)
        return level + inflow_t - 0.1 * outflow

    level, _ = scanviz.scan(step, inflow, 1.0, name="tank")
    f = scanviz.function([inflow], level, name="run")
    given = np.full(40, 0.08)
    given[22] = -1.0
    return scanviz.trace(f, given).record


def looking_at(record, loop, variable):
    """Return the state in which a loop variable is chosen."""
    state = start(record)
    state = state.at_loop(next(each.key for each in record.loops if each.name == loop))
    names = [each.name for each in state.loop_record.variables]
    return state.at_variable(names.index(variable))


def test_operations_that_read_and_write_a_state_are_found():
    state = looking_at(gradient_record(), "rnn", "h")
    found = linked_selection(state)
    labels = {operation.index: operation.label for operation in state.loop_record.operations}
    assert {"h", "h[t-1]", "h[t-2]", "h[t]"} <= set(found.names)
    naming = {k for k, label in labels.items() if "h[t-1]" in label or "h[t-2]" in label}
    assert found.reading and found.reading <= naming  # an expression names what its operands read, too
    assert len(found.writing) == 1 and labels[next(iter(found.writing))].startswith("tanh")
    assert found.lines and all("records_for_tui.py" in line for line in found.lines)


@pytest.mark.parametrize("record", [gradient_record, planted_record])
def test_each_operation_that_reads_a_loop_variable_is_found_for_it_alone(record):
    state = start(record())
    for loop in record().loops:
        state = state.at_loop(loop.key)
        snapshot = snapshot_of(state)
        reads = {}
        for index in range(len(loop.variables)):
            for operation in linked_selection(state.at_variable(index)).reading:
                reads.setdefault(operation, set()).add(index)
        for node in snapshot.step.nodes:
            inputs = {
                index
                for index, variable in enumerate(snapshot.loop.variables)
                if set(variable.inner_inputs) & set(node.inputs)
            }
            if node.operation is not None:
                assert reads.get(node.operation, set()) == inputs


def test_an_empty_selection_has_no_counterparts():
    assert linked_selection(start(gradient_record())) == LinkedSelection()
    assert not LinkedSelection().named_in("h[t-1]")


@pytest.mark.parametrize(
    "text, named",
    [
        ("h[t-1] + 1", True),
        ("tanh(x)", False),
        ("oh[t-1]", False),
        ("h", True),
        ("h2", False),
        ("h[t-3]", False),
    ],
)
def test_names_are_found_as_whole_words(text, named):
    assert LinkedSelection(("h", "h[t-1]")).named_in(text) is named


@waits
async def test_a_chosen_loop_variable_is_marked_in_every_tab():
    async with opened(traced_record(), size=(160, 50)) as (app, pilot):
        app.state = looking_at(app.state.record, "rnn", "h").at_step(3)
        marked = {}
        for title in ("Profile", "Graph", "Variables", "Rewrites", "Source", "Values"):
            await at(app, pilot, title)
            marked[title] = [row for row in app.view.rows() if "▶" in row]
        assert any("h[t-2]" in each for each in marked["Profile"]), marked
        assert len(marked["Profile"]) < len(app.state.loop_record.operations)
        assert any("records_for_tui.py" in each for each in marked["Source"])
        assert {each.split()[2] for each in marked["Values"]} == {"h[t-1]", "h[t]"}
        assert marked["Rewrites"]
        await at(app, pilot, "Graph")
        drawn = app.view.rows()
        signed = [each for each in drawn if each.startswith("▶")]
        assert 0 < len(signed) < len(drawn) and all("h" in each for each in signed)
        await at(app, pilot, "Variables")
        assert any(line.startswith("▶") for line in text_of(app, "#variables-mappings").splitlines())
        await at(app, pilot, "Steps")
        assert "▶ h: reads row 3 as h[t-2], row 4 as h[t-1]; writes row 5" in text_of(app, "#steps-here")


def test_two_values_of_the_same_operation_are_distinguished_by_name_and_line():
    x, w, v = T.matrix("x"), T.matrix("w"), T.matrix("v")

    def step(x_t, h):
        first = T.tanh(T.dot(h, w) + x_t)
        second = T.tanh(T.dot(first, v))
        return second * first

    h, _ = scanviz.scan(step, x, T.zeros(3), name="rnn")
    f = scanviz.function([x, w, v], scanviz.grad(T.sum(h[-1]), w), name="train")
    with scanviz.profile() as p:
        f(np.full((20, 3), 0.1), np.eye(3), np.eye(3))
    state = start(p.record)
    for loop in p.record.loops:
        state = state.at_loop(loop.key)
        lines = {}
        for index, variable in enumerate(loop.variables):
            lines.setdefault(variable.name, []).append(origin(state, index))
        for name in {"first", "second"} & set(lines):
            (line,) = lines[name]
            assert line.text.startswith(f"{name} = T.tanh(") and "test_linked_selection.py:" in line.source
    kept = [{variable.name for variable in loop.variables} for loop in p.record.loops]
    assert any({"first", "second"} <= names for names in kept)


def test_a_state_has_the_line_that_writes_it_and_an_input_of_the_function_none():
    x = T.vector("x")

    def step(x_t, s):
        return s + x_t * 2.0

    s, _ = scanviz.scan(step, x, 0.0, name="sums")
    f = scanviz.function([x], s)
    with scanviz.profile() as p:
        f(np.ones(4))
    state = start(p.record)
    found = {variable.name: origin(state, k) for k, variable in enumerate(state.loop_record.variables)}
    assert found["s"].text == "return s + x_t * 2.0"
    assert origin(state, 99) == OriginLine() and origin(state.at_function(state.function), 0) == OriginLine()
