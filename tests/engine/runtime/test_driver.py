"""Calls of a loop's code: their steps, and the handling of their results."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import Observer, observed_by
from tests.engine.runtime.fake_tier import faked

X, N = T.vector("x"), T.lscalar("n")


def counted(until=None):
    """Return a loop that counts, over ``n`` steps or until a number is reached."""

    def step(k):
        return k + 1 if until is None else (k + 1, scanviz.until(T.ge(k + 1, until)))

    rows, _ = scanviz.scan(step, outputs_info=T.constant(0.0), n_steps=N, name="count")
    return rows


def test_uninterruptible_code_is_called_for_few_steps_at_once():
    f, tier = faked([N], counted(), steps_at_once=4)
    np.testing.assert_array_equal(f(10), np.arange(1, 11))
    assert tier.calls == [("plain", 0, 4), ("plain", 4, 8), ("plain", 8, 10)]
    plain, whole = faked([N], counted())
    plain(10)
    assert whole.calls == [("plain", 0, 10)]


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
def test_states_and_carries_pass_from_chunk_to_chunk(at_once):
    def loop(seed):
        random = T.random.RandomStreams(seed)

        def step(x, older, before, alone):
            return 0.5 * before + older + x + random.uniform(size=(2,)).sum(), T.tanh(alone * 0.5 + x)

        start = [{"initial": X[:2], "taps": [-2, -1]}, T.zeros(3)]
        (rows, last), updates = scanviz.scan(step, X, start, name="loop")
        return [X], [rows[-1], last[-1]], updates

    values = np.linspace(0, 1, 11)
    inputs, outputs, updates = loop(3)
    wanted = scanviz.function(inputs, outputs, updates=updates, mode="reference")
    inputs, outputs, updates = loop(3)
    f, tier = faked(inputs, outputs, steps_at_once=at_once, updates=updates)
    for _ in range(2):
        for one, other in zip(f(values), wanted(values), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    assert len(tier.calls) == 2 * -(-11 // at_once)


@pytest.mark.parametrize("at_once", [1, 3, 5, None])
def test_a_stop_condition_that_holds_in_the_last_step_of_a_chunk_ends_the_loop(at_once):
    f, tier = faked([N], counted(until=6), steps_at_once=at_once)
    np.testing.assert_array_equal(f(100), np.arange(1, 7))
    assert tier.calls[-1][1] < 6 <= tier.calls[-1][2]


class Heard(Observer):
    """Keeps the steps reported with each chunk and the end."""

    def __init__(self):
        self.chunks, self.ends = [], []

    def loop_steps(self, series):
        self.chunks.append((series.first, len(series.step_ns)))

    def loop_end(self, function, loop, steps, elapsed_ns, setup_ns, error):
        self.ends.append((steps, type(error)))


def test_ctrl_c_between_chunks_reports_the_steps_before_it():
    f, _ = faked([N], counted(), steps_at_once=4, interrupt_at=9)
    with observed_by(Heard()) as heard, pytest.raises(KeyboardInterrupt):
        f(100)
    done = sum(count for _, count in heard.chunks)
    assert 0 < done <= 9 and heard.ends == [(done, KeyboardInterrupt)]


@pytest.mark.parametrize("at_once", [1, 2, 3, None])
@pytest.mark.parametrize("tier", ["numpy", "reference"])
def test_an_error_names_its_step_in_any_chunk(at_once, tier):
    rows, _ = scanviz.scan(lambda k: (k + 1.0, X[T.cast(k, "int64")]), outputs_info=[0.0, None], n_steps=N)
    f = scanviz.function([X, N], rows[1], mode=scanviz.Mode("numpy", "none"))
    if tier == "numpy":
        f, _ = faked([X, N], rows[1], steps_at_once=at_once)
    else:
        f = scanviz.function([X, N], rows[1], mode="reference")
    with pytest.raises(scanviz.ScanvizError) as caught:
        f(np.ones(5), 9)
    assert caught.value.step == 5
