"""Where a loop variable comes from: the line in the step, also of what a loop of back-propagation was given."""

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.tui.model.linked_selection import OriginLine, origin
from scanviz.tui.model.state import start


def test_two_values_of_the_same_operation_are_told_apart_by_their_names_and_lines():
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
            assert line.text.startswith(f"{name} = T.tanh(") and "test_origin.py:" in line.source
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
