"""mitmot_to_sitsot: a buffer of zeros but for its first row becomes a row that steps hand on; not where others are read or set.

Where rows arrive from outside is tested in ``test_arriving_rows.py``.
"""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection

RULE = "mitmot_to_sitsot"
X, H, W = np.linspace(-1, 1, 15).reshape(5, 3), np.array([0.5, -0.25, 1.0]), np.array([0.9, 1.1, -0.3])


def gradient(cost_of, wanted="wh"):
    """Return the inputs of a small recurrent loop, and gradients of a cost of its rows."""
    x, h0, w = T.matrix("x"), T.vector("h"), T.vector("w")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + h * w), x, h0, w, name="rnn")
    cost = cost_of(rows)
    return [x, h0, w], scanviz.grad(cost, [{"w": w, "h": h0}[letter] for letter in wanted])


def fired(inputs, outputs):
    f = scanviz.function(inputs, outputs, mode="numpy", on_unused_input="ignore")
    return f, [rewrite.message for rewrite in f.rewrites if rewrite.rule == RULE]


def why_not(outputs):
    return {refusal.why for refusal in RewriteHistory(outputs, Selection("all")).refusals(RULE)}


@pytest.mark.parametrize("wanted", ["w", "h", "wh"])
def test_the_cotangent_of_a_last_row_is_handed_on(wanted):
    inputs, outputs = gradient(lambda rows: (rows[-1] ** 2).sum(), wanted)
    f, messages = fired(inputs, outputs)
    assert messages == ["`∂h` is a row that steps hand on: its buffer was zeros but for the first row"]
    loops = [part for part in f.program.instructions if hasattr(part, "body")]
    assert {slot.kind for loop in loops for slot in loop.states} == {"sitsot"}
    plain = scanviz.function(inputs, outputs, mode="reference", on_unused_input="ignore")
    for steps in (1, 2, 5):
        for found, expected in zip(f(X[:steps], H, W), plain(X[:steps], H, W), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_it_saves_the_buffer():
    inputs, outputs = gradient(lambda rows: (rows[-1] ** 2).sum(), "h")
    given = (np.ones((1000, 3)), H, W)
    with_it, without = (
        scanviz.function(inputs, outputs, mode=mode).memory_forecast(*given).peak_bytes
        for mode in (Mode("native"), Mode("native").excluding(RULE))
    )
    assert without - with_it > 0.9 * 1001 * 3 * 8


def test_another_row_keeps_its_buffer():
    inputs, outputs = gradient(lambda rows: (rows[-1] * rows[-2]).sum())
    f, messages = fired(inputs, outputs)
    assert messages == []
    plain = scanviz.function(inputs, outputs, mode="reference")
    for found, expected in zip(f(X, H, W), plain(X, H, W), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_state_of_two_taps_keeps_its_buffer():
    x, w = T.vector("x"), T.scalar("w")
    start = dict(initial=T.zeros((2,)), taps=[-1, -2])
    rows, _ = scanviz.scan(lambda x_t, a, b, w: T.tanh(x_t + a * w - b), x, start, w, name="two")
    outputs = [scanviz.grad(rows[-1] ** 2, w)]
    (why,) = why_not(outputs)
    assert why.startswith("steps read or write other rows of `∂")


def test_a_second_derivative_of_a_last_row_is_right():
    x, w = T.matrix("x"), T.vector("w")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + h * w), x, T.zeros((3,)), w, name="rnn")
    slope = scanviz.grad((rows[-1] ** 2).sum(), w)
    curve = scanviz.grad((slope**2).sum(), w)
    f, plain = (scanviz.function([x, w], curve, mode=mode) for mode in ("numpy", "reference"))
    np.testing.assert_allclose(f(X, W), plain(X, W), rtol=1e-13)


def test_what_arrives_at_an_initial_state_after_fewer_steps_is_nothing():
    x, h0, w = T.vector("x"), T.scalar("h"), T.scalar("w")
    rows, _ = scanviz.scan(lambda x_t, s, w: w * s + x_t, x, h0, w, truncate_gradient=2, name="leak")
    outputs = scanviz.grad(rows[-1], [x, h0, w])
    f, plain = (scanviz.function([x, h0, w], outputs, mode=mode) for mode in ("numpy", "reference"))
    for found, expected in zip(f(X[0], 1.0, 0.5), plain(X[0], 1.0, 0.5), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert f(X[0], 1.0, 0.5)[1] == 0.0
    assert any("may be one that no step writes" in why for why in why_not(outputs))
