"""mitmot_to_sitsot where rows arrive from outside: they are read as a sequence, and what steps add is handed on, to the last bit."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.testing.comparing import assert_same_bits

RULE = "mitmot_to_sitsot"
MESSAGE = "`∂h` is a row that steps hand on, and what arrives a sequence: nothing is joined"
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


def why_not(outputs):
    return {refusal.why for refusal in RewriteHistory(outputs, Selection("all")).refusals(RULE)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("wanted", ["x", "h", "w", "xhw"])
def test_what_arrives_is_a_sequence_and_every_bit_is_as_before(wanted, dtype):
    inputs, outputs = gradient(wanted=wanted, dtype=dtype)
    with_it, without = both(inputs, outputs)
    assert messages(with_it) == [MESSAGE] and messages(without) == []
    (backwards,) = (loop for loop, _ in all_loops(with_it.program) if loop.name == "grad_of_rnn")
    assert {slot.kind for slot in backwards.states} == {"sitsot"}
    assert "∂h from outside" in {slot.name for slot in backwards.sequences}
    given = [array.astype(dtype) for array in (X, H, W)]
    for steps in (0, 1, 2, 5):
        cut = [given[0][:steps], *given[1:]]
        for found, expected in zip(with_it(*cut), without(*cut), strict=True):
            assert_same_bits(found, expected)


def test_zeros_keep_their_signs():
    x, h0 = T.matrix("x"), T.vector("h")
    rows, _ = scanviz.scan(lambda x_t, h: x_t * h, x, h0, name="product")
    outputs = scanviz.grad((rows * T.constant([[-0.0, 0.0]])).sum(), [x, h0])
    with_it, without = both([x, h0], outputs)
    assert messages(with_it)
    given = np.array([[1.0, -1.0], [-2.0, 0.0]]), np.array([-0.0, 3.0])
    for found, expected in zip(with_it(*given), without(*given), strict=True):
        assert_same_bits(found, expected)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_rows_that_come_from_other_work_are_read_where_they_lie(mode):
    x, h0, w, v = T.matrix("x"), T.vector("h"), T.matrix("w"), T.matrix("v")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, h0, w, name="rnn")
    cost = (T.tanh(T.dot(rows, v)) ** 2).sum()
    inputs, outputs = [x, h0, w, v], scanviz.grad(cost, [w, v])
    with_it, without = both(inputs, outputs, mode)
    given = np.ones((400, 32)), np.ones(32), np.eye(32) * 0.5, np.ones((32, 7)) / 9
    for found, expected in zip(with_it(*given), without(*given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert any(part.op.name == "concatenate" for part in without.program.instructions)
    assert not any(part.op.name == "concatenate" for part in with_it.program.instructions)
    if mode == "native":  # where NumPy's peak is before the loop
        peaks = [f.memory_forecast(*given).peak_bytes for f in (with_it, without)]
        assert peaks[1] - peaks[0] > 0.9 * 401 * 32 * 8


def test_a_truncated_gradient_keeps_its_buffer():
    inputs, outputs = gradient(truncate_gradient=2)
    with_it, plain = (scanviz.function(inputs, outputs, mode=mode) for mode in ("numpy", "reference"))
    assert MESSAGE not in messages(with_it)
    assert "it is not known that for each step one row of `∂h` arrives" in why_not(outputs)
    for found, expected in zip(with_it(X, H, W), plain(X, H, W), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_loops_that_end_early_and_states_of_two_taps_give_what_they_gave():
    x, h0 = T.matrix("x"), T.vector("h")
    rows, _ = scanviz.scan(
        lambda x_t, h: (T.tanh(x_t + h), {}, scanviz.until(T.sum(h) > 0.9)), x, h0, name="ends"
    )
    start = dict(initial=T.stack([h0, h0]), taps=[-2, -1])
    deep, _ = scanviz.scan(lambda x_t, g, h: T.tanh(x_t + h * 0.5 - g), x, start, name="deep")
    for cost in ((rows**2).sum(), (deep**2).sum()):
        with_it, without = both([x, h0], scanviz.grad(cost, [x, h0]))
        for found, expected in zip(with_it(X, H), without(X, H), strict=True):
            assert_same_bits(found, expected)
    (why,) = why_not(scanviz.grad((deep**2).sum(), [x]))
    assert why.startswith("steps read or write other rows of `∂")


STEPS = {  # of each the gradient adds one number to all elements of the next row
    "a part of a row": lambda x_t, h: T.inc_subtensor(x_t[:1], h.sum()),
    "a product": lambda x_t, h: T.tanh(x_t * h.sum()),
    "a mean": lambda x_t, h: x_t + h.mean(keepdims=True),
    "the row, too": lambda x_t, h: x_t * h + h.sum(),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("is_known", [True, False])
def test_what_addition_repeats_over_the_next_row_is_handed_on_as_a_row(is_known, name):
    """One number of a sum's gradient stands for all elements of the row that it is added to, where nothing fills one with it."""
    x = T.tensor("float64", (5, 3) if is_known else (None, None), "x")
    h0 = T.tensor("float64", (3,) if is_known else (None,), "h")
    rows, _ = scanviz.scan(STEPS[name], x, h0, name="first")
    outputs = scanviz.grad((rows**2).sum(), [x, h0])
    with_it, without = both([x, h0], outputs)
    assert messages(with_it) == [MESSAGE]
    for found, expected in zip(with_it(X, H), without(X, H), strict=True):
        assert_same_bits(found, expected)


def test_what_fills_a_row_along_a_size_that_is_not_known_goes_on_filling_it():
    """Of a vector added to an array nothing tells whether it is repeated: who reads sums relies on the sizes that are said to be 1."""
    v, row = T.vector("v"), T.vector("row")
    filled = T.alloc(v, row.shape[0]) + row
    f = scanviz.function([v, row], filled)
    assert "alloc" in {one.op.name for one in f.program.instructions}
    np.testing.assert_array_equal(f(H[:1], H), H[:1] + H)
    one = T.tensor("float64", (1,), "one")
    g = scanviz.function([one, row], T.alloc(one, row.shape[0]) + row)
    assert "alloc" not in {one.op.name for one in g.program.instructions}
