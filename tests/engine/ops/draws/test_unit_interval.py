"""Words to numbers between 0 and 1: the ends, exactly."""

import numpy as np
import pytest

from scanviz.engine.ops.draws.philox import draw_words, draw_words32, seed_state
from scanviz.engine.ops.draws.unit_interval import (
    draw_from_zero,
    draw_up_to_one,
    from_zero,
    from_zero_single,
    inside,
    up_to_one,
    up_to_one_single,
)

ENDS64 = np.array([0, 2**64 - 1], np.uint64)
ENDS32 = np.array([0, 2**32 - 1], np.uint32)


@pytest.mark.parametrize(
    ("function", "words", "least", "most"),
    [
        (from_zero, ENDS64, 0.0, 1 - 2.0**-53),
        (up_to_one, ENDS64, 2.0**-53, 1.0),
        (inside, ENDS64, 2.0**-53, 1 - 2.0**-53),
        (from_zero_single, ENDS32, 0.0, 1 - 2.0**-24),
        (up_to_one_single, ENDS32, 2.0**-33, 1.0),
    ],
)
def test_the_least_and_the_largest_number_are_the_documented_ones(function, words, least, most):
    got = function(words)
    assert got.dtype == (np.float64 if words.dtype == np.uint64 else np.float32)
    assert sorted(got.tolist()) == [least, most]


def test_each_dtype_takes_words_of_its_own_width():
    state = seed_state(4)
    single, double = np.dtype("float32"), np.dtype("float64")
    np.testing.assert_array_equal(draw_from_zero(state, 9, single), from_zero_single(draw_words32(state, 9)))
    np.testing.assert_array_equal(draw_from_zero(state, 9, double), from_zero(draw_words(state, 9)))
    np.testing.assert_array_equal(draw_up_to_one(state, 9, single), up_to_one_single(draw_words32(state, 9)))
    np.testing.assert_array_equal(draw_up_to_one(state, 9, double), up_to_one(draw_words(state, 9)))
