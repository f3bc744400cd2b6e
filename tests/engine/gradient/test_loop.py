"""Back-propagation through loops of every kind, at the corners where systems before were wrong or stopped."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.scan.loop import Scan
from scanviz.testing import verify_grad

MODES = ("numpy", "reference")
X = np.random.default_rng(1).normal(size=(5, 3)) * 0.7
ROW = np.array([0.3, -0.2, 0.5])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", ["recurrent", "not recurrent"])
def test_until_gives_full_length_with_zeros_past_the_stop(mode, first):
    """Field notes 1.5.6: a recurrent first output made an older system count one step too many."""
    x = T.vector("x")

    def step(x_t, s):
        new = s + x_t**2
        outputs = [new, T.sin(x_t)] if first == "recurrent" else [T.sin(x_t), new]
        return outputs, scanviz.until(new > 2.5)

    infos = [T.constant(0.0), None] if first == "recurrent" else [None, T.constant(0.0)]
    if first != "recurrent":
        a, b = scanviz.scan(lambda x_t, s: step(x_t, s), x, infos)[0][::-1]
    else:
        a, b = scanviz.scan(step, x, infos)[0]
    f = scanviz.function([x], [a, b, scanviz.grad(a[-1] + T.sum(b), x)], mode=mode)
    at = np.array([1.0, 1.1, 0.9, 1.2, 0.4])
    rows, _, g = f(at)
    done = len(rows)
    assert done == 3
    np.testing.assert_allclose(g, np.where(np.arange(5) < done, 2 * at + np.cos(at), 0))


@pytest.mark.parametrize("truncated", [1, 2, 3, 9])
@pytest.mark.parametrize("mode", MODES)
def test_truncation_limits_the_number_of_backward_steps(mode, truncated):
    """Field notes 1.5.7: earlier rows get zero, weights the last steps' share, a far initial state zero."""
    x, h0, w = T.vector("x"), T.scalar("h0"), T.scalar("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w * h + x_t), x, h0, w, truncate_gradient=truncated)
    found = scanviz.function([x, h0, w], scanviz.grad(h[-1], [x, h0, w]), mode=mode)
    at, start, weight = np.array([0.3, -0.4, 0.2, 0.6]), 0.5, 0.8
    values = [start]
    for x_t in at:
        values.append(np.tanh(weight * values[-1] + x_t))
    to_x, to_w, arriving = np.zeros(4), 0.0, 1.0
    for t in range(3, max(-1, 3 - truncated), -1):
        inner = arriving * (1 - values[t + 1] ** 2)
        to_x[t], to_w, arriving = inner, to_w + inner * values[t], inner * weight
    g_x, g_h0, g_w = found(at, start, weight)
    np.testing.assert_allclose(g_x, to_x)
    np.testing.assert_allclose(g_w, to_w)
    np.testing.assert_allclose(g_h0, arriving if truncated >= 4 else 0.0)


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_loops_of_few_steps_are_correct(mode, steps):
    x, h0, w = T.matrix("x"), T.vector("h0"), T.vector("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + h * w), x, h0, w)
    cost = T.sum(h) + T.sum(h0)
    f = scanviz.function([x, h0, w], [cost, *scanviz.grad(cost, [x, h0, w])], mode=mode)
    _, to_x, to_h0, to_w = f(X[:steps], ROW, ROW)
    assert to_x.shape == (steps, 3)
    if steps == 0:
        assert to_h0.tolist() == [1.0] * 3 and to_w.tolist() == [0.0] * 3
    verify_grad(
        lambda h0, w: scanviz.scan(lambda h: T.tanh(h * w), outputs_info=h0, n_steps=1)[0],
        [ROW, ROW],
        mode=mode,
    )


def test_gradients_of_repeated_outputs_and_inputs_are_correct():
    """Field notes 1.5.11."""

    def build(x, h0):
        (a, b, c, h), _ = scanviz.scan(lambda x_t, h: [x_t, h, h, T.sin(h) * x_t], x, [None, None, None, h0])
        return [T.sum(a * b), c, h]

    verify_grad(build, [X, ROW])


def test_gradients_through_an_updated_shared_variable_are_correct():
    """Field notes 1.5.8: the gradient with respect to a shared variable of numbers goes through its updates."""
    a = scanviz.shared(1.5, "a")
    h, updates = scanviz.scan(lambda h: (h * a, {a: a * 2}), outputs_info=T.constant(1.0), n_steps=3)
    of_output, of_update = scanviz.grad(h[-1], a), scanviz.grad(updates[a] ** 2, a)
    found = scanviz.function([], [h[-1], of_output, of_update], no_default_updates=True)()
    np.testing.assert_allclose(found, [1.5**3 * 8, 3 * 1.5**2 * 8, 2 * 8 * 8 * 1.5])


def test_inner_loops_of_changing_length_are_run_again():
    def build(x, h0):
        def outer(k, x_t, h):
            inner, _ = scanviz.scan(lambda p: T.sin(p) * T.cos(p * x_t), outputs_info=h, n_steps=k + 1)
            return inner[-1]

        return scanviz.scan(outer, [T.arange(4), x], h0)[0]

    verify_grad(build, [X, ROW])


def alignment(costs):
    """Return the last cell of a table whose row t is made of parts of row t-1 by a loop over its cells."""

    def row(costs_t, before):
        cells, _ = scanviz.scan(
            lambda cost, up, aside, left: cost - T.logsumexp(T.stack([-up, -aside, -left])),
            [costs_t, before[1:], before[:-1]],
            T.constant(1e6),
            name="cells",
        )
        return T.concatenate([T.constant([1e6]), cells])

    first = T.concatenate([T.zeros((1,)), T.full((costs.shape[1],), 1e6)])
    rows, _ = scanviz.scan(row, costs, first, name="rows")
    return rows[-1, -1]


def test_an_inner_loop_over_slices_runs_once_and_keeps_values_for_its_gradient():
    costs = T.matrix("costs")
    f = scanviz.function([costs], scanviz.grad(alignment(costs), costs))
    inside = {loop.name: [each.name for each, _ in all_loops(loop.body)] for loop, _ in all_loops(f.program)}
    assert inside["grad_of_rows"] == ["grad_of_cells"]  # whose cells are not computed again
    verify_grad(alignment, [np.abs(X)])


@pytest.mark.parametrize("shift", [1, -2, 7])
def test_slice_bounds_are_recomputed_from_sizes_not_kept_per_step(shift):
    x, h0 = T.matrix("x"), T.vector("h0")
    rows, _ = scanviz.scan(lambda x_t, h: T.roll(h, shift) * x_t, x, h0, name="turned")
    f = scanviz.function([x, h0], scanviz.grad(T.sum(rows), [x, h0]))
    loops = {loop.name: loop for loop, _ in all_loops(f.program)}
    assert not loops["turned"].step_outputs
    found = f(X, ROW)
    assert [np.shape(part) for part in found] == [X.shape, ROW.shape]
    verify_grad(
        lambda x, h0: scanviz.scan(lambda x_t, h: T.roll(h, shift) * x_t, x, h0)[0], [X, ROW], mode="numpy"
    )
    for made in f.memory_plans().values():
        assert all(place.shape is not None for place in made.places)  # known before the first step


def test_gradients_inside_a_step_are_correct():
    x = T.vector("x")
    points, _ = scanviz.scan(
        lambda p: p - 0.1 * scanviz.grad(T.sum((p - 2.0) ** 2), p), outputs_info=x, n_steps=60, name="descent"
    )
    np.testing.assert_allclose(points[-1].eval({x: [5.0, -3.0]}), [2.0, 2.0], atol=1e-4)
    outer, _ = scanviz.scan(
        lambda p: (
            p
            - 0.1
            * scanviz.grad(scanviz.scan(lambda q: q * 0.5, outputs_info=T.sum(p**2), n_steps=2)[0][-1], p)
        ),
        outputs_info=x,
        n_steps=3,
    )
    np.testing.assert_allclose(outer[-1].eval({x: [1.0]}), [(1 - 0.05) ** 3])


def test_the_backward_loop_is_named_and_knows_its_forward_loop():
    x, h0 = T.vector("x"), T.scalar("h0")
    h, _ = scanviz.scan(lambda x_t, h: T.exp(x_t * h), x, h0, name="exps")
    g = scanviz.grad(h[-1], x)
    backward = next(n for n in toposort([g]) if isinstance(n.op, Scan) and n.op.settings.gradient_of)
    assert backward.op.scan_name == "grad_of_exps"
    assert backward.op.settings.gradient_of == ("exps", h.owner.node_id)
    assert backward.op.until is None and backward.op.mitmot_taps() == [(0, 1)]


def test_the_forward_loop_runs_once_and_keeps_values_for_its_gradient():
    x, h0 = T.vector("x"), T.scalar("h0")
    y, _ = scanviz.scan(lambda x_t, y: T.exp(x_t * y) + T.exp(-y), x, h0, name="two")
    f = scanviz.function([x, h0], [y[-1], scanviz.grad(T.sum(y), x)])
    loops = {loop.name: loop for loop, _ in all_loops(f.program)}
    assert sorted(loops) == ["grad_of_two", "two"]
    assert len([slot for slot in loops["two"].step_outputs if slot.result is not None]) == 2
    (state,) = loops["two"].states
    assert state.history is not None  # the rows with the initial one in front, without a copy
    (adjoint,) = loops["grad_of_two"].states
    assert (adjoint.name, adjoint.kind) == ("∂y", "sitsot")  # no buffer is made for what arrives
    assert "∂y from outside" in {slot.name for slot in loops["grad_of_two"].sequences}


def test_a_gradient_through_two_taps_works_in_the_buffer_that_was_made_for_it():
    x = T.vector("x")
    taps = {"initial": T.zeros(2), "taps": [-2, -1]}
    y, _ = scanviz.scan(lambda x_t, before, y: T.exp(x_t * before) - y, x, taps, name="two")
    f = scanviz.function([x], scanviz.grad(T.sum(y), x))
    (backwards,) = (loop for loop, _ in all_loops(f.program) if loop.name == "grad_of_two")
    (adjoint,) = [slot for slot in backwards.states if slot.kind == "mitmot"]
    assert adjoint.in_place


@pytest.mark.parametrize("mode", MODES)
def test_inputs_constants_and_shared_values_stay_as_they_are(mode):
    x, h0 = T.matrix("x"), T.vector("h0")
    w = scanviz.shared(ROW.copy(), "w")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t * w + h), x, h0)
    f = scanviz.function([x, h0], [h, *scanviz.grad(T.sum(h * h), [x, h0, w])], mode=mode)
    at = [X.copy(), ROW.copy()]
    first = [each.copy() for each in f(*at)]
    for mine, theirs in zip(f(*at), first, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(at[0], X)
    np.testing.assert_array_equal(w.get_value(), ROW)


@pytest.mark.parametrize("lookups", [1, 2])
def test_gradients_of_a_lookup_table_are_accumulated_in_place(lookups):
    words, table = T.lvector("words"), T.matrix("table")

    def step(word, h, table):
        return T.tanh(h + sum(table[(word + k) % 4] for k in range(lookups)))

    h, _ = scanviz.scan(step, words, T.zeros(2), table, name="reading")
    slope = scanviz.grad(T.sum(h[-1] ** 2), table)
    (backwards,) = [
        node for node in toposort([slope]) if getattr(node.op, "scan_name", "") == "grad_of_reading"
    ]
    nodes = toposort(backwards.op.inner_outputs)
    assert sum(node.op.name == "assign" for node in nodes) == lookups
    assert not [node for node in nodes if node.op.name in ("add", "alloc") and node.outputs[0].type.ndim == 2]
    values = {words: np.array([1, 3, 1, 0]), table: np.linspace(-1, 1, 8).reshape(4, 2)}
    verify_grad(
        lambda table: T.sum(scanviz.scan(step, values[words], T.zeros(2), table)[0][-1] ** 2), [values[table]]
    )
