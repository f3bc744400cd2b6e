"""Tables of graphs, for pickles: what loops share they share when loaded, and ids that refer to nodes refer to the new ones."""

import pickle
import subprocess
import sys

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.flatten import flatten, unflatten
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from tests.laws.pickles import written


def _with_gradients(order=1):
    x = T.vector("x")
    rows, _ = scanviz.scan(
        lambda x_t, h: T.sin(T.exp(h * 0.9) * T.tanh(x_t + h)), x, T.constant(0.0), name="rnn"
    )
    found = [rows[-1]]
    for _ in range(order):
        found.append(T.sum(scanviz.grad(found[-1], x)))
    return x, found


def _loops(outputs):
    return [node for node in toposort(outputs) if isinstance(node.op, Scan)]


def test_loops_that_share_their_step_share_it_when_loaded():
    _, outputs = _with_gradients()
    before, after = _loops(outputs), _loops(unflatten(flatten(outputs)))
    assert [each.op.scan_name for each in before] == [each.op.scan_name for each in after]
    forward = [each for each in after if each.op.scan_name == "rnn"]
    steps = [{id(each) for each in toposort(loop.op.inner_outputs)} for loop in forward]
    assert len(forward) > 1 and all(steps[0] & step for step in steps[1:])
    assert len({each.node_id for each in forward}) == 1


def test_a_loaded_gradient_knows_its_forward_loop_by_the_new_id():
    _, outputs = _with_gradients()
    old = {each.node_id for each in toposort(outputs)}
    loops = _loops(unflatten(flatten(outputs)))
    new = {loop.op.scan_name: loop.node_id for loop in loops}
    assert not old & set(new.values())
    backward = next(loop for loop in loops if loop.op.settings.gradient_of is not None)
    assert backward.op.settings.gradient_of.node_id == new["rnn"]


def test_ids_keep_their_order_and_parents_are_those_of_the_loaded_graph():
    _, outputs = _with_gradients(2)
    pairs = list(zip(toposort(outputs), toposort(unflatten(flatten(outputs))), strict=True))
    new_of = {old.node_id: new.node_id for old, new in pairs}
    ordered = sorted(new_of)
    assert [new_of[each] for each in ordered] == sorted(new_of.values())
    for old, new in pairs:
        known = [
            (a, b) for a, b in zip(old.provenance.parents, new.provenance.parents, strict=True) if a in new_of
        ]
        assert all(new_of[a] == b for a, b in known)


def test_a_pickled_function_of_three_orders_of_gradient_runs_the_same_program():
    x, outputs = _with_gradients(3)
    f = scanviz.function([x], outputs)
    again = pickle.loads(pickle.dumps(f))
    assert written(again.program) == written(f.program)
    value = np.linspace(-1, 1, 5)
    assert [each.tobytes() for each in f(value)] == [each.tobytes() for each in again(value)]


def test_a_gradient_in_the_step_of_a_loop_is_the_same_when_loaded():
    x = T.vector("x")

    def step(x_t: Variable) -> Variable:
        rows, _ = scanviz.scan(lambda h: T.tanh(h * x_t), outputs_info=x_t, n_steps=3, name="inner")
        return scanviz.grad(rows[-1], x_t)

    rows, _ = scanviz.scan(step, x, name="outer")
    f = scanviz.function([x], [rows, scanviz.grad(T.sum(rows), x)])
    again = pickle.loads(pickle.dumps(f))
    assert written(again.program) == written(f.program)


def test_a_loop_pickled_alone_is_equal():
    _, outputs = _with_gradients()
    for loop in _loops(outputs):
        again = pickle.loads(pickle.dumps(loop.op))
        assert again.settings == loop.op.settings and len(again.variables) == len(loop.op.variables)
        assert len(toposort(again.inner_outputs)) == len(toposort(loop.op.inner_outputs))


def test_a_variable_is_pickled_in_a_process_that_pickled_nothing():
    script = (
        "import pickle\n"
        "from scanviz import tensor as T\n"
        "x = T.vector('x')\n"
        "y = pickle.loads(pickle.dumps(T.tanh(x) + 1))\n"
        "print(y, y.type)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tanh(x)", "+", "1", "float64[?]"]
