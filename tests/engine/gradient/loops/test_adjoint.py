"""The adjoint rule of states: its table of taps, and the rows of its buffers (values of gradients: test_loop_mixed and laws)."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.loops.adjoint import adjoint_taps, rows_after, survives
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import Sequence, State, StepOutput
from tests.engine.backends.running import loop


def state(reads, writes):
    return State("s", {tap: T.vector() for tap in reads}, {tap: T.vector() for tap in writes})


@pytest.mark.parametrize(
    ("reads", "writes", "kept", "replaced", "cleared"),
    [
        ((-1,), (0,), (-1,), (), ()),
        ((-3, -1), (0,), (-3, -1), (), ()),
        ((0, 1), (1,), (0,), (1,), ()),
        ((-2, 0, 1), (0, 1, 2), (-2,), (0, 1), (2,)),
        ((1,), (-1,), (1,), (), (-1,)),
    ],
)
def test_the_table_of_taps_is_as_documented(reads, writes, kept, replaced, cleared):
    taps = adjoint_taps(state(reads, writes))
    assert taps[1:] == (kept, replaced, cleared)
    assert set(taps.reads) == {*reads, *writes}


def test_survives_and_rows_after_follow_the_taps_of_a_state():
    assert survives(state((-1,), (0,)), -1)
    assert survives(state((0, 1), (1,)), 0) and not survives(state((0, 1), (1,)), 1)
    assert rows_after(state((-1,), (0,))) == 0 and rows_after(state((0, 2), (1,))) == 2


def backward_loops(outputs):
    return [node for node in toposort(outputs) if isinstance(node.op, Scan) and node.op.settings.gradient_of]


@pytest.mark.parametrize("taps", [(-1,), (-3, -1), (-2,)])
def test_the_rows_of_an_adjoint_state_are_as_documented(taps):
    """Gradients take the initial rows alone; the others hold the gradient of their row, for the gradient's gradient."""
    x, h0, depth, steps = T.vector("x"), T.vector("h0"), -min(taps), 5

    def step(x_t, *old):
        return T.sin(x_t + old[0] * old[-1])

    h, _ = scanviz.scan(step, x, h0[0] if taps == (-1,) else dict(initial=h0, taps=list(taps)), name="h")
    found = scanviz.grad(T.sum(T.sin(h)), [x, h0])
    (node,) = backward_loops(found)
    buffer = node.outputs[0]
    spoilt = replace(found, {buffer: T.set_subtensor(buffer[:-depth], np.nan)}, check=False)
    rows = [h0[k] for k in range(depth)]
    for t in range(steps):
        rows.append(step(x[t], *(rows[depth + t + tap] for tap in taps)))
    each_row = pull_back({T.sum(T.sin(T.stack(rows[depth:]))): T.constant(1.0)}, rows)
    expected = [T.zeros(()) if g is None else g for g in each_row]
    f = scanviz.function([x, h0], [*found, *spoilt, T.stack(expected), buffer[::-1]])
    to_x, to_h0, same_x, same_h0, rows_of_graph, rows_of_loop = f(
        np.linspace(0.1, 0.9, steps), np.full(depth, 0.4)
    )
    np.testing.assert_array_equal(to_x, same_x)
    np.testing.assert_array_equal(to_h0, same_h0)
    np.testing.assert_allclose(rows_of_loop, rows_of_graph, rtol=1e-12)


def test_gradients_of_a_gradient_loop_read_and_write_one_tap():
    x, h0 = T.vector("x"), T.scalar("h0")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h * h), x, h0, name="rnn")
    first = scanviz.grad(h[-1], x)
    (node,) = backward_loops([first])
    assert node.op.scan_name == "grad_of_rnn" and node.op.settings.gradient_of == ("rnn", h.owner.node_id)
    assert (node.op.mitmot_taps(), node.op.mitmot_out_taps()) == ([(0, 1)], [(1,)])
    second = scanviz.grad(T.sum(first**2), x)
    loops = {each.op.scan_name: each for each in backward_loops([second])}
    deeper = loops["grad_of_grad_of_rnn"].op
    assert (deeper.mitmot_taps(), deeper.mitmot_out_taps()) == ([(-1, 0)], [(-1, 0)]) or set(
        deeper.mitmot_out_taps()[0]
    ) == {-1, 0}


@pytest.mark.parametrize("with_output", [True, False])
def test_a_mitmot_loop_with_a_stop_condition_has_a_gradient(with_output):
    """Its buffer has more rows than there are steps done."""
    x, b, r, s = T.matrix("x"), T.matrix("b"), T.vector(), T.vector()
    new = T.sin(r * s) + 1
    variables = [Sequence("x", s), State("m", {0: r}, {1: new})]
    variables += [StepOutput("o", new)] if with_output else []
    results = loop(variables, T.constant(4), [x, b], until=T.sum(new) > 3.2)
    cost = sum((T.sum(T.sin(result)) for result in results), T.constant(0.0))
    f = scanviz.function([x, b], [cost, results[-1].shape[0], *pull_back({cost: T.constant(1.0)}, [x, b])])
    at = [np.array([[0.2, 0.3], [0.5, 0.9], [0.1, 0.2], [0.3, 0.3]]), np.full((6, 2), 0.7)]
    _, rows, *found = f(*at)
    assert not with_output or rows == 2
    for k, gradient in enumerate(found):
        for place in np.ndindex(gradient.shape):
            sides = []
            for move in (1e-6, -1e-6):
                moved = [each.copy() for each in at]
                moved[k][place] += move
                sides.append(f(*moved)[0])
            np.testing.assert_allclose(gradient[place], (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-8)
