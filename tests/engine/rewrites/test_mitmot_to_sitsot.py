"""mitmot_to_sitsot: a gradient's buffer becomes a row that steps hand on; rows that arrive from outside become a sequence."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from tests.support.comparing import assert_same_bits

RULE = "mitmot_to_sitsot"
FROM_ZEROS = "`∂h` is a row passed from step to step: its buffer was zeros except for the first row"
MESSAGE = "`∂h` is a row passed from step to step, and arriving gradients are a sequence: no buffer is joined"
X, H, W = np.linspace(-1, 1, 15).reshape(5, 3), np.array([0.5, -0.25, 1.0]), np.array([0.9, 1.1, -0.3])


def gradient(cost_of=lambda rows: (rows**2).sum(), wanted="xhw", dtype="float64", **how):
    """Return the inputs of a small recurrent loop, and gradients of a cost of its rows."""
    x, h0, w = T.matrix("x", dtype), T.vector("h", dtype), T.vector("w", dtype)
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + h * w), x, h0, w, name="rnn", **how)
    cost = cost_of(rows)
    inputs = {"x": x, "w": w, "h": h0}
    return [x, h0, w], scanviz.grad(cost, [inputs[letter] for letter in wanted])


def both(inputs, outputs, mode="numpy"):
    """Return a function with the rule and one without it."""
    return [
        scanviz.function(inputs, outputs, mode=how, on_unused_input="ignore")
        for how in (Mode(mode), Mode(mode).excluding(RULE))
    ]


def messages(f):
    return [rewrite.message for rewrite in f.rewrites if rewrite.rule == RULE]


def check(f, other, *given, rtol=0.0):
    """Check that two functions give the same."""
    for found, expected in zip(f(*given), other(*given), strict=True):
        if rtol:
            np.testing.assert_allclose(found, expected, rtol=rtol)
        else:
            assert_same_bits(found, expected)


def why_not(outputs):
    return {refusal.why for refusal in RewriteHistory(outputs, Selection("all")).refusals(RULE)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("wanted", ["x", "h", "w", "xhw"])
def test_incoming_cotangents_become_a_sequence_with_the_same_bits(wanted, dtype):
    inputs, outputs = gradient(wanted=wanted, dtype=dtype)
    with_it, without = both(inputs, outputs)
    assert messages(with_it) == [MESSAGE] and messages(without) == []
    (backwards,) = (loop for loop, _ in all_loops(with_it.program) if loop.name == "grad_of_rnn")
    assert {slot.kind for slot in backwards.states} == {"sitsot"}
    assert "∂h from outside" in {slot.name for slot in backwards.sequences}
    given = [array.astype(dtype) for array in (X, H, W)]
    for steps in (0, 1, 2, 5):
        cut = [given[0][:steps], *given[1:]]
        check(with_it, without, *cut)


def test_zeros_keep_their_signs():
    x, h0 = T.matrix("x"), T.vector("h")
    rows, _ = scanviz.scan(lambda x_t, h: x_t * h, x, h0, name="product")
    outputs = scanviz.grad((rows * T.constant([[-0.0, 0.0]])).sum(), [x, h0])
    with_it, without = both([x, h0], outputs)
    assert messages(with_it)
    given = np.array([[1.0, -1.0], [-2.0, 0.0]]), np.array([-0.0, 3.0])
    check(with_it, without, *given)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_rows_of_other_operations_are_read_in_place(mode):
    x, h0, w, v = T.matrix("x"), T.vector("h"), T.matrix("w"), T.matrix("v")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, h0, w, name="rnn")
    cost = (T.tanh(T.dot(rows, v)) ** 2).sum()
    inputs, outputs = [x, h0, w, v], scanviz.grad(cost, [w, v])
    with_it, without = both(inputs, outputs, mode)
    given = np.ones((400, 32)), np.ones(32), np.eye(32) * 0.5, np.ones((32, 7)) / 9
    check(with_it, without, *given, rtol=1e-12)
    assert any(part.op.name == "concatenate" for part in without.program.instructions)
    assert not any(part.op.name == "concatenate" for part in with_it.program.instructions)
    if mode == "native":  # where NumPy's peak is before the loop
        peaks = [f.memory_forecast(*given).peak_bytes for f in (with_it, without)]
        assert peaks[1] - peaks[0] > 0.9 * 401 * 32 * 8


def test_a_truncated_gradient_keeps_its_buffer():
    inputs, outputs = gradient(truncate_gradient=2)
    with_it, plain = (scanviz.function(inputs, outputs, mode=mode) for mode in ("numpy", "reference"))
    assert MESSAGE not in messages(with_it)
    assert "`∂h` may not receive exactly one row for each step" in why_not(outputs)
    check(with_it, plain, X, H, W, rtol=1e-14)


@pytest.mark.parametrize("wanted", ["w", "h", "wh"])
def test_the_cotangent_of_a_last_row_becomes_an_initial_state(wanted):
    inputs, outputs = gradient(lambda rows: (rows[-1] ** 2).sum(), wanted)
    f, without = both(inputs, outputs)
    assert messages(f) == [FROM_ZEROS]
    assert {slot.kind for loop, _ in all_loops(f.program) for slot in loop.states} == {"sitsot"}
    for steps in (1, 2, 5):
        check(f, without, X[:steps], H, W)


def test_rewriting_mitmot_to_sitsot_saves_the_buffer():
    inputs, outputs = gradient(lambda rows: (rows[-1] ** 2).sum(), "h")
    given = (np.ones((1000, 3)), H, W)
    with_it, without = (f.memory_forecast(*given).peak_bytes for f in both(inputs, outputs, "native"))
    assert without - with_it > 0.9 * 1001 * 3 * 8


def test_another_row_keeps_its_buffer():
    inputs, outputs = gradient(lambda rows: (rows[-1] * rows[-2]).sum(), "wh")
    f = scanviz.function(inputs, outputs, mode="numpy")
    assert messages(f) == []
    check(f, scanviz.function(inputs, outputs, mode="reference"), X, H, W)


def test_a_state_of_two_taps_keeps_its_buffer():
    x, w = T.vector("x"), T.scalar("w")
    start = dict(initial=T.zeros((2,)), taps=[-1, -2])
    rows, _ = scanviz.scan(lambda x_t, a, b, w: T.tanh(x_t + a * w - b), x, start, w, name="two")
    outputs = [scanviz.grad(rows[-1] ** 2, w)]
    (why,) = why_not(outputs)
    assert why.startswith("a step reads or writes rows of `∂")


def test_the_cotangent_of_an_initial_state_beyond_truncation_is_zero():
    x, h0, w = T.vector("x"), T.scalar("h"), T.scalar("w")
    rows, _ = scanviz.scan(lambda x_t, s, w: w * s + x_t, x, h0, w, truncate_gradient=2, name="leak")
    outputs = scanviz.grad(rows[-1], [x, h0, w])
    f, plain = (scanviz.function([x, h0, w], outputs, mode=mode) for mode in ("numpy", "reference"))
    for found, expected in zip(f(X[0], 1.0, 0.5), plain(X[0], 1.0, 0.5), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert f(X[0], 1.0, 0.5)[1] == 0.0
    assert any("may be one that no step writes" in why for why in why_not(outputs))


STEPS = {  # of each the gradient adds one number to all elements of the next row
    "a part of a row": lambda x_t, h: T.inc_subtensor(x_t[:1], h.sum()),
    "a product": lambda x_t, h: T.tanh(x_t * h.sum()),
    "a mean": lambda x_t, h: x_t + h.mean(keepdims=True),
    "the row, too": lambda x_t, h: x_t * h + h.sum(),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_broadcast_cotangent_is_passed_on_as_a_row(is_known, name):
    """One number of a sum's gradient stands for all elements of the row that it is added to, where nothing fills one with it."""
    x = T.tensor("float64", (5, 3) if is_known else (None, None), "x")
    h0 = T.tensor("float64", (3,) if is_known else (None,), "h")
    rows, _ = scanviz.scan(STEPS[name], x, h0, name="first")
    outputs = scanviz.grad((rows**2).sum(), [x, h0])
    with_it, without = both([x, h0], outputs)
    assert messages(with_it) == [MESSAGE]
    check(with_it, without, X, H)


def test_a_fill_along_an_unknown_size_is_kept():
    """A vector added to an array of unknown sizes may be broadcast: readers of sums rely on sizes known to be 1."""
    v, row = T.vector("v"), T.vector("row")
    filled = T.alloc(v, row.shape[0]) + row
    f = scanviz.function([v, row], filled)
    assert "alloc" in {one.op.name for one in f.program.instructions}
    np.testing.assert_array_equal(f(H[:1], H), H[:1] + H)
    one = T.tensor("float64", (1,), "one")
    g = scanviz.function([one, row], T.alloc(one, row.shape[0]) + row)
    assert "alloc" not in {one.op.name for one in g.program.instructions}
