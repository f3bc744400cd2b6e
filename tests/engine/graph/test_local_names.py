"""Values are called by the local names that they have in the user's functions."""

import gc
import sys
import weakref
from collections import namedtuple

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.variables import inner_outputs

x = T.dvector("x")
Gates = namedtuple("Gates", ["keep", "new"])


def names_in(step, count=1):
    """Return the names of all computed values of a loop's step."""
    h, _ = scanviz.scan(step, x, outputs_info=[T.zeros(())] * count)
    node = (h[0] if count > 1 else h).owner
    values = [value for variable in node.op.variables for value in inner_outputs(variable)]
    return {output.name for made in toposort(values) for output in made.outputs} - {None}


def test_local_variables_of_the_step_give_their_names():
    def step(x_t, h):
        gate = T.sigmoid(x_t + h)
        candidate = T.tanh(x_t)
        return gate * h + (1 - gate) * candidate

    assert names_in(step) == {"gate", "candidate"}


def test_variables_of_a_helper_are_named_there_and_its_result_by_the_caller():
    def cell(a, b):
        mixed = a * b
        squashed = T.tanh(mixed)
        return squashed

    def step(x_t, h):
        new = cell(x_t, h)
        return new + 1

    assert names_in(step) == {"mixed", "new"}


def test_members_of_containers_are_named_after_the_container():
    def step(x_t, h):
        gates = [T.sigmoid(x_t * k + h) for k in range(2)]
        parts = {"in": gates[0] * h, "out": (gates[1] * h, x_t * x_t)}
        both = Gates(parts["in"] + 1, parts["out"][0] + 2)
        return both.keep + both.new + parts["out"][1]

    assert {
        "gates[0]",
        "gates[1]",
        "parts['in']",
        "parts['out'][0]",
        "parts['out'][1]",
        "both.keep",
        "both.new",
    } == names_in(step)


def test_values_taken_apart_have_the_names_they_are_given():
    def step(x_t, h):
        i, f = (T.sigmoid(x_t * k + h) for k in range(2))
        return i * h + f

    assert names_in(step) == {"i", "f"}


def test_a_name_that_is_bound_twice_is_the_last_values():
    def step(x_t, h):
        total = x_t + h
        total = T.tanh(total)
        return total * 2

    assert names_in(step) == {"total"}


def test_a_name_that_the_user_gave_stays():
    def step(x_t, h):
        gate = T.sigmoid(x_t + h)
        gate.name = "the gate"
        return gate * h

    assert names_in(step) == {"the gate"}


def test_a_lambda_and_an_underscore_give_no_names():
    assert names_in(lambda x_t, h: T.tanh(x_t + h)) == set()

    def step(x_t, h):
        _ = x_t + h
        return T.tanh(_)

    assert names_in(step) == set()


def test_results_are_named_after_variables_of_the_building_scope():
    scores = T.tanh(x) * 2
    loss = T.sum(scores)
    f = scanviz.function([x], loss)
    assert (scores.name, loss.name) == ("scores", "loss")
    assert f([0.0]) == 0.0


def test_naming_variables_leaves_trace_and_profile_hooks_alone():
    events = []

    def step(x_t, h):
        gate = T.sigmoid(x_t + h)
        return gate * h

    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        watching = sys.getprofile()
        assert names_in(step) == {"gate"}
        assert sys.getprofile() is watching
    finally:
        sys.setprofile(before[1])
    assert events and (sys.gettrace(), sys.getprofile()) == before


def test_a_step_keeps_no_references_to_its_local_variables():
    class Large:
        pass

    def step(x_t, h):
        large = Large()
        alive.append(weakref.ref(large))
        gate = T.sigmoid(x_t + h)
        return gate * h

    alive = []
    names_in(step)
    gc.collect()
    assert alive and alive[0]() is None


def test_nothing_of_the_users_is_called_for_names():
    class Raises(list):
        def __len__(self):
            raise RuntimeError("not now")

        @property
        def __class__(self):
            raise RuntimeError("outside of a request")

    def step(x_t, h):
        held = Raises()
        gate = T.sigmoid(x_t + h)
        list.append(held, gate)
        return gate * h

    assert names_in(step) == {"gate"}


def test_a_failing_step_changes_no_names():
    def step(x_t, h):
        gate = T.sigmoid(x_t + h)
        raise RuntimeError(f"{gate}")

    with pytest.raises(RuntimeError):
        scanviz.scan(step, x, outputs_info=T.zeros(()))


def test_gradients_are_named_after_their_variables():
    W = scanviz.shared(np.ones((2, 2)), "W")

    def step(x_t, h):
        gate = T.sigmoid(T.dot(h, W) + x_t)
        return gate * h

    h, _ = scanviz.scan(step, x, outputs_info=T.zeros(2), name="rnn")
    loss = T.sum(h[-1])
    (dW,) = scanviz.grad(loss, [W])
    assert dW.name == "∂W"
    f = scanviz.function([x], dW, mode=scanviz.Mode("numpy", rewrites="none"))
    (back,) = [loop for loop in f.program.instructions if getattr(loop, "name", "") == "grad_of_rnn"]
    names = {register.name for register in back.body.registers} - {None}
    assert {"∂h[t]", "∂gate"} <= names and any(name.startswith("∂W") for name in names)
