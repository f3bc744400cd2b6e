"""Back-propagation through loops: what is run, kept and added up (values of gradients: test_loop_mixed and laws)."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.scan.loop import Scan
from scanviz.testing import verify_grad

MODES = ("numpy", "reference")
X = np.random.default_rng(1).normal(size=(5, 3)) * 0.7
ROW = np.array([0.3, -0.2, 0.5])


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


def test_gradients_with_respect_to_intermediate_rows_are_correct():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.constant(0.0))
    s, _ = scanviz.scan(lambda h_t, s: s + h_t**2, h, T.constant(0.0))
    at = np.array([1.0, 2.0, 3.0])
    to_h, held = scanviz.grad(s[-1], h), scanviz.grad(s[-1] + T.sum(x), x, consider_constant=[h])
    known = scanviz.grad(
        None, x, known_grads={h: T.constant([1.0, 10.0, 100.0]), s: T.constant([0.0, 0.0, 1.0])}
    )
    found = scanviz.function([x], [to_h, held, known])(at)
    sums = np.cumsum(at)
    np.testing.assert_allclose(found[0], 2 * sums)
    np.testing.assert_allclose(found[1], np.ones(3))
    # The known gradient of h replaces the one from s.
    np.testing.assert_allclose(found[2], np.cumsum([100.0, 10.0, 1.0])[::-1])


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_one_array_in_every_role_are_correct(mode):
    """As sequence, initial state, non-sequence given and captured; the shared variable as the argument is one array too."""

    def build(x):
        h, _ = scanviz.scan(
            lambda a, b, h, w: T.tanh(a * h + T.sum(w * b)) + x[0], [x, x[::-1]], x[1], x, go_backwards=True
        )
        return h

    verify_grad(build, [X], mode=mode)
    argument, kept = T.matrix("x"), scanviz.shared(X, "kept")
    of_argument, of_shared = (scanviz.grad(T.sum(build(each)), each) for each in (argument, kept))
    found = scanviz.function([argument], [of_argument, of_shared], mode=mode)(X)
    np.testing.assert_array_equal(found[0], found[1])


def test_the_limit_of_a_condition_has_no_gradient():
    """Field notes 1.5.6: derivatives do not go through the condition."""
    x, limit = T.vector("x"), T.scalar("limit")
    s, _ = scanviz.scan(lambda x_t, s: (s + x_t, scanviz.until(s > limit)), x, T.constant(0.0))
    with pytest.raises(DisconnectedInputError, match="limit"):
        scanviz.grad(s[-1], limit)
    assert float(scanviz.grad(s[-1], limit, disconnected_inputs="ignore").eval({limit: 1.0, x: [1.0]})) == 0


@pytest.mark.parametrize("how", ["open", "closed", "split"])
def test_a_backward_step_of_an_lstm_adds_no_zeros_and_joins_its_gates(how):
    """No cotangent of c comes from outside: its gradient comes from the next step; the gates are four adjacent slices."""
    size = 3
    x, U, h0, c0 = T.matrix("x"), T.matrix("U"), T.vector("h0"), T.vector("c0")

    def step(x_t, h, c, U):
        gates = x_t + T.dot(h, U)
        if how == "split":
            cuts = T.split(gates, [size] * 4)
        else:
            gates = T.specify_shape(gates, (4 * size,)) if how == "closed" else gates
            ends = [size, 2 * size, 3 * size, 4 * size if how == "closed" else None]
            cuts = [gates[k * size : end] for k, end in enumerate(ends)]
        i, f, o = map(T.sigmoid, cuts[:3])
        c_t = f * c + i * T.tanh(cuts[3])
        return o * T.tanh(c_t), c_t

    (h, _), _ = scanviz.scan(step, x, [h0, c0], U, name="lstm")
    gradients = scanviz.grad(T.sum(h**2), [U, h0, c0])
    f = scanviz.function([x, U, h0, c0], gradients, mode=scanviz.Mode("numpy", "all"))
    [backward] = [loop for loop in f.program.instructions if getattr(loop, "name", "") == "grad_of_lstm"]
    ops = [made.op.name for made in backward.body.instructions]
    assert "assign" not in ops and "alloc" not in ops and ops.count("concatenate") == 1
    zeros = {
        number for number, value in backward.body.constants.items() if np.ndim(value) == 0 and value == 0.0
    }
    added = [made for made in backward.body.instructions if made.op.name == "add" and zeros & {*made.inputs}]
    assert not added
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in [(4, 4 * size), (size, 4 * size), (size,), (size,)]]
    row, cell = h0, c0
    total = 0.0
    for t in range(4):
        row, cell = step(x[t], row, cell, U)
        total = total + T.sum(row**2)
    by_hand = scanviz.function([x, U, h0, c0], scanviz.grad(total, [U, h0, c0]), mode="reference")
    for mine, theirs in zip(f(*values), by_hand(*values), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
