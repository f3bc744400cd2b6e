"""Times in native code: of each or every k-th step and of operations, only while observed."""

from time import thread_time_ns

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.run import cycles, stamps
from scanviz.engine.observe import Observer, observed_by


class Series(Observer):
    """Keeps the events of steps."""

    detail = "steps"

    def __init__(self, detail="steps"):
        self.detail, self.series_kept = detail, []

    def loop_steps(self, series):
        self.series_kept.append(series)


@pytest.fixture(params=["counter", "clock"])
def source(request, monkeypatch):
    """Take times by the cycle counter, or by the clock as processors without one do."""
    if request.param == "clock":
        for module in (cycles, stamps):
            monkeypatch.setattr(module, "is_steady", lambda: False)
        cycles.counter.cache_clear()
    elif not cycles.is_steady():
        pytest.skip("no steady cycle counter")
    yield {"counter": "cycle counter", "clock": "perf_counter"}[request.param]
    cycles.counter.cache_clear()


def watched(f, *given, detail="steps"):
    series = Series(detail)
    with observed_by(series):
        f(*given)
    return series.series_kept


def wide(until=None):
    x = T.matrix("x")

    def step(x_t, h):
        h = T.tanh(h * 0.5 + x_t)
        return h if until is None else (h, scanviz.until(T.sum(x_t) > until))

    h, _ = scanviz.scan(step, x, T.zeros((2000,)), name="wide")
    return scanviz.function([x], h, mode="native")


def scalars():
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: s + x_t, x, np.float64(0), name="sum")
    return scanviz.function([x], s, mode="native")


def test_each_long_step_has_a_time(source):
    text = watched(wide(), np.zeros((700, 2000)))
    assert sum(series.steps for series in text) == 700
    timed = [series for series in text if not series.control]
    assert all(series.source == source and series.stamp_ns > 0 for series in timed)
    assert all(len(series.interval_ns) == series.steps and (series.interval_ns > 0).all() for series in timed)
    assert all(
        series.interval_ns.sum() <= series.span_ns * 1.01 + 1000 for series in timed if series.op_ns is None
    )


def test_every_kth_of_very_short_steps_has_a_time(source):
    f = scalars()
    f(np.ones(10))
    text = [each for each in watched(f, np.ones(5_000)) if each.covers is not None]
    assert text and all(each.timed_steps == each.steps == each.covers.sum() for each in text)
    assert {int(k) for each in text for k in each.covers[:-1]} <= {2**k for k in range(1, stamps.RAREST + 1)}


def strips():
    z, n = T.vector("z"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda z: 3.7 * z * (1.0 - z), None, z, n_steps=n, name="strips")
    return scanviz.function([z, n], rows[-1], mode="native")


@pytest.mark.parametrize("steps", [1, 3, 700, 1042, 5_000, 40_001])
@pytest.mark.parametrize("width", [3, 200])
def test_strips_are_timed_in_blocks_with_the_same_results(source, steps, width):
    f, series, given = strips(), Series(), np.linspace(0.1, 0.9, width)
    expected = f(given, steps)
    with observed_by(series):
        np.testing.assert_array_equal(f(given, steps), expected)
    assert sum(each.steps for each in series.series_kept) == steps
    assert not any(each.control for each in series.series_kept), "the usual code is timed"
    blocks = [each for each in series.series_kept if each.plain]
    for each in blocks:
        *whole, last = each.covers.tolist()
        assert set(whole) <= {1 << stamps.STRIP_MINED_STEPS} and 0 < last <= 1 << stamps.STRIP_MINED_STEPS
        assert each.steps == each.covers.sum() and (each.interval_ns >= 0).all()
        assert each.interval_ns.sum() <= each.span_ns
    timed = sum(each.steps for each in series.series_kept if each.op_ns is not None)
    assert sum(each.steps for each in blocks) == steps - timed >= steps / 2 - 1


def test_times_of_a_strip_mined_loop_equal_those_without_a_profile():
    """Stored and read again in each step, they took twice as long and were reported as the typical step."""
    f, given, steps = strips(), np.linspace(0.1, 0.9, 8192), 8_000
    f(given, steps)
    found = []
    while not found or (min(found) >= 1.2 and len(found) < 50):  # of a busy machine one of them is enough
        taken = []
        for _ in range(3):
            begun = thread_time_ns()
            f(given, steps)
            taken.append(thread_time_ns() - begun)
        with scanviz.profile() as session:
            f(given, steps)
        (loop,) = session.record.loops
        assert loop.control_steps == 0 and loop.block_steps > 0.9 * steps
        found.append(loop.typical_ns / (min(taken) / steps))
    assert min(found) < 1.2, found


def test_operations_of_a_sample_have_times(source):
    text = [series for series in watched(wide(), np.zeros((300, 2000))) if series.op_ns is not None]
    assert text and all(series.op_ns.shape == (3, series.steps) for series in text)
    multiply, add, tanh = np.sum([series.op_ns.sum(axis=1) for series in text], axis=0)
    assert tanh > 3 * multiply and multiply == pytest.approx(add, rel=0.1)  # shared out by what they do
    for series in text:
        whole = series.op_ns.sum() + series.copy_ns.sum()
        assert whole <= series.interval_ns.sum() + series.steps * 5


@pytest.mark.parametrize("end", [0, 1, 5, 300, 699])
def test_a_loop_that_ends_early_has_times_of_the_steps_that_it_took(source, end):
    given = np.zeros((700, 2000))
    given[end] = 1.0
    assert sum(series.steps for series in watched(wide(until=10.0), given)) == end + 1


def test_steps_before_an_error_are_counted(source):
    table = T.lvector("table")
    walk, _ = scanviz.scan(lambda k: table[k], outputs_info=np.int64(0), n_steps=400, name="walk")
    f = scanviz.function([table], walk, mode="native")
    series = Series()
    with observed_by(series), pytest.raises(IndexError):
        f(np.arange(1, 334))
    assert sum(each.steps for each in series.series_kept) == 333


def test_ticks_and_stamps_have_plausible_durations():
    if not cycles.is_steady():
        pytest.skip("no steady cycle counter")
    found = cycles.counter()
    assert 0.1 < found.tick_ns < 2 and 0.5 < found.stamp_ns < 500


def test_unobserved_code_takes_no_times_and_is_the_same_before_and_after_a_profile():
    f = wide()
    f(np.zeros((5, 2000)))
    (made,) = next(iter(f.executable.flat.runners.values())).all_made()
    before = made.written("plain").text
    assert "cycle" not in before and "clock" not in before
    watched(f, np.zeros((300, 2000)))
    assert made.written("plain").text == before
    assert "readcyclecounter" in made.written("steps").text or not cycles.is_steady()
