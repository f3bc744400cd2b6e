"""A typical step in words adds up as it is printed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.record.loops import LoopRecord
from scanviz.record.summary.typical import BELOW, sum_in_words, typical_step

LOOP = LoopRecord(1, 1, None, "rnn", None, steps=900, sampled_steps=64, body_ns=833.0, overhead_ns=53.0)


@given(parts=st.lists(st.integers(0, 10**10), min_size=1, max_size=5).filter(any))
def test_printed_parts_add_up_to_the_printed_whole(parts: list[int]) -> None:
    whole, texts = sum_in_words(float(sum(parts)), parts)
    unit = whole.split()[1]
    digits = [int(re.sub(r"\D", "", text)) for text in texts if text != BELOW and text[0] != "<"]
    assert sum(digits) == int(re.sub(r"\D", "", whole))
    assert all(text.endswith(unit) for text in texts if text != BELOW)
    assert [text == BELOW for text in texts] == [not part for part in parts]


def test_disturbed_steps_left_out_are_counted() -> None:
    assert "64 timed, 3 disturbed left out" in typical_step(replace(LOOP, disturbed_steps=3))


@pytest.mark.parametrize("sampled", [0, 2])
def test_too_few_steps_give_no_parts(sampled: int) -> None:
    loop = replace(LOOP, sampled_steps=sampled, body_ns=0.0, overhead_ns=0.0)
    assert typical_step(loop) == (
        "too few steps (2) had their operations timed to divide a step into its parts" if sampled else ""
    )


def test_a_step_below_the_clocks_resolution_counts_as_unmeasured() -> None:
    loop = LoopRecord(1, 1, None, "h", None, steps=9, sampled_steps=9, body_ns=5e-324, overhead_ns=1e-320)
    assert typical_step(loop).startswith("too few steps")
