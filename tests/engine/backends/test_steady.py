"""Generated loops hoist views of buffers and parts of non-sequences, and no changing value."""

import re

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from tests.support.internals import loop_sources

X = np.random.default_rng(3).normal(size=(7, 6))


def step_and_source(fn, *non_sequences):
    """Return the rows of a loop over X on the NumPy tier and on the reference tier, and its generated source."""
    x = T.matrix("x")
    symbols = [T.tensor("float64", (None,) * value.ndim, f"p{k}") for k, value in enumerate(non_sequences)]
    rows, _ = scanviz.scan(fn, x, T.zeros(3), symbols, name="loop")
    f, g = (
        scanviz.function(
            [x, *symbols], rows, mode=Mode(tier).excluding("push_out", "subtensor_chains", "subtensor_lift")
        )
        for tier in ("numpy", "reference")
    )
    found, wanted = f(X, *non_sequences), g(X, *non_sequences)
    np.testing.assert_array_equal(found, wanted)
    (text,) = loop_sources(f.executable)
    text = re.sub(r"  # .*", "", text)  # without the user's lines
    before, _, inside = text.partition("    for t")
    return before, inside


def test_slices_of_a_buffer_are_computed_once():
    before, inside = step_and_source(lambda x, h: (x * 2.0)[:3] * T.tanh((x * 2.0)[3:]) + h)
    assert "[:3]" in before and "[3:]" in before
    assert "[:3]" not in inside and "[3:]" not in inside


def test_nested_and_reversed_slices_are_computed_once():
    def step(x, h):
        table = (x + 1.0).reshape((2, 3))
        return table.T[1:][:, 0].sum() + table[0][::-1] * h

    before, inside = step_and_source(step)
    for part in (".transpose(1, 0)", ".reshape(", "[1:]", "[::-1]"):
        assert part in before and part not in inside


def test_a_number_of_a_buffer_is_read_in_every_step():
    before, inside = step_and_source(lambda x, h: (x * 2.0)[1] + h)
    assert "[1]" in inside and "[1]" not in before


def test_slices_of_sequences_and_states_stay_in_the_loop():
    before, inside = step_and_source(lambda x, h: x[:3] + h[::-1])
    assert "x_rows[" not in before
    assert "[:3]" in inside and "[::-1]" in inside and "[::-1]" not in before


def test_parts_of_non_sequences_are_computed_once():
    W = np.arange(9.0).reshape(3, 3)
    before, inside = step_and_source(lambda x, h, W: W[1, 2] * h + W.T[0] + x[:3] * W.shape[0], W)
    for part in ("p0[1, 2]", "p0.transpose(1, 0)"):
        assert part in before and part not in inside
    assert "shape" not in before + inside and "float64(size_3)" in before  # known for these shapes: a number


def test_a_buffer_may_be_reused_after_its_view():
    def step(x, h):
        first = (x * 2.0)[:3]
        second = T.exp(x * 0.1 + first.sum())[3:]
        third = T.tanh(x - second.sum())[1:4]
        return first + second * third + h

    step_and_source(step)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_failed_index_of_a_non_sequence_names_its_line_and_step(mode):
    x, W, k = T.matrix("x"), T.matrix("W"), T.lscalar("k")
    rows, _ = scanviz.scan(lambda x_t, W, k: x_t + W[k], x, non_sequences=[W, k], name="placed")
    f = scanviz.function(
        [x, W, k], rows, mode=Mode(mode).excluding("push_out", "subtensor_chains", "subtensor_lift")
    )
    with pytest.raises(ScanvizError, match="placed") as caught:
        f(np.ones((3, 2)), np.ones((4, 2)), 9)
    assert caught.value.step == 0
    assert f(np.ones((0, 2)), np.ones((4, 2)), 9).shape == (0, 2)
