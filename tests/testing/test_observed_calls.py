"""What a record must have of calls, as the laws check it."""

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability
from scanviz.engine.observe import observed_by
from scanviz.record.model import ProfileRecord
from tests.support.observed_calls import check_record, observers_for

CALLS, STEPS = 8, 2


def recorded(tier: str) -> ProfileRecord:
    """Return the record of some short calls of a loop with a loop inside."""
    x = T.vector("x")

    def step(x_t, total):
        inner, _ = scanviz.scan(lambda s: s * 0.5 + x_t, outputs_info=total, n_steps=3, name="inner")
        return inner[-1]

    rows, _ = scanviz.scan(step, x, T.constant(0.0), name="law")
    f = scanviz.function([x], rows, mode=Mode(tier, "none"))
    (recorder,) = observers_for("steps")
    with observed_by(recorder):
        for _ in range(CALLS):
            f(np.ones(STEPS))
    return recorder.record()


@pytest.mark.skipif(not availability("native").works, reason=availability("native").why)
def test_native_steps_have_no_time_while_loops_inside_are_watched_themselves():
    record = recorded("native")
    (law,) = (loop for loop in record.loops if loop.name == "law")
    assert law.step_times.count + law.control_steps < law.steps == CALLS * STEPS
    check_record(record, [STEPS] * CALLS, rewrites=False)


def test_all_other_steps_are_timed_or_controls():
    record = recorded("numpy")
    check_record(record, [STEPS] * CALLS, rewrites=False)
    lost = tuple(replace(loop, control_steps=loop.control_steps - 1) for loop in record.loops)
    with pytest.raises(AssertionError):
        check_record(replace(record, loops=lost), [STEPS] * CALLS, rewrites=False)
