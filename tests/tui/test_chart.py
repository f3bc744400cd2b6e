"""The chart of steps: whatever is shown, no slow step is hidden and the cursor is where the step is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scanviz.tui.text.chart import AXIS, Window, cell_of, cells_of, chart

times = st.lists(st.integers(1, 10**10), min_size=1, max_size=60)


def series_of(found, reason=0):
    return np.array([[0, step, time, reason] for step, time in enumerate(found)], np.int64)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10**10), st.integers(0, 3)), min_size=1),
    st.integers(4, 40),
)
def test_a_column_has_the_median_the_p95_and_all_that_is_above(found, width):
    rows = np.array([[0, step, time, reason] for step, time, reason in found], np.int64)
    window = Window(0, 30)
    cells = cells_of(rows, window, width)
    count = len(cells.median)
    for cell in range(count):
        mine = [row for row in found if cell_of(row[0], window, count) == cell]
        fair = sorted(time for _, time, reason in mine if reason != 3) or sorted(time for _, time, _ in mine)
        if not mine:
            assert np.isnan(cells.median[cell]) and np.isnan(cells.high[cell])
            continue
        assert sum(time <= cells.median[cell] for time in fair) >= len(fair) / 2
        assert sum(time < cells.median[cell] for time in fair) <= len(fair) / 2
        assert sum(time <= cells.high[cell] for time in fair) >= 0.95 * len(fair)
        above = sorted(time for _, time, _ in mine if time > cells.high[cell])
        assert sorted(cells.beyond.get(cell, ())) == above
    assert cells.extremes[1] == max(time for _, time, _ in found)


def test_over_many_runs_a_step_is_a_bar_a_band_and_dots():
    times = [*range(100, 140), *range(160, 360, 5), *([900] * 2)]  # two runs of 82 were far slower
    rows = np.array([[run, 0, time, 0] for run, time in enumerate(times)], np.int64)
    lines = chart(rows, Window(0, 0), (AXIS + 4, 22), 9, False)
    column = [line.plain[AXIS] for line in lines[:-2]]
    assert column[0] == "•" and column.count("•") <= 2  # and values just above the band
    assert column[-1] == "█" and "░" in column and set(column) <= set(" •░▁▂▃▄▅▆▇█")


@given(times, st.integers(4, 40), st.integers(3, 12), st.data(), st.booleans())
def test_a_chart_has_its_size_and_its_cursor(found, width, height, data, logarithmic):
    cursor = data.draw(st.integers(0, len(found) - 1))
    lines = chart(series_of(found), Window(0, len(found) - 1), (AXIS + width, height), cursor, logarithmic)
    assert len(lines) == max(2, height - 2) + 2
    assert all(line.cell_len <= AXIS + max(width, 12) for line in lines)
    assert lines[-2].plain.count("▲") == 1
    assert lines[0].plain[AXIS:].strip(" ·")  # the slowest step reaches the top


def test_a_window_beside_the_cursor_shows_no_cursor():
    lines = chart(series_of([5] * 100), Window(50, 99), (AXIS + 20, 6), 3, False)
    assert "▲" not in "".join(line.plain for line in lines)


def test_few_steps_take_several_columns_each():
    line = chart(series_of([1, 8, 1]), Window(0, 2), (AXIS + 12, 3), 0, False)[0].plain[AXIS:]
    assert line == "    ████    "


def test_slow_steps_are_marked_and_unkept_steps_are_dots():
    rows = series_of([100, 100, 900, 100])
    slow = cells_of(rows, Window(0, 3), 4, 800).slow
    assert slow.tolist() == [False, False, True, False]
    lines = chart(rows[[0, 2]], Window(0, 3), (AXIS + 4, 4), 0, False, 800)
    assert lines[1].plain[AXIS:] == "▂·█·" and lines[2].plain[AXIS:] == "▲ •"


def test_a_slow_step_does_not_flatten_the_others_on_a_logarithmic_scale():
    rows = series_of([1_000, 2_000, 4_000, 1_000_000_000])
    even, ratios = (
        [
            sum(
                line.plain[AXIS + column] not in " ·"
                for line in chart(rows, Window(0, 3), (AXIS + 4, 22), 0, scale)[:-2]
            )
            for column in range(4)
        ]
        for scale in (False, True)
    )
    assert even == [1, 1, 1, 20]
    assert ratios[3] == 20 and ratios[0] < ratios[2] and ratios[2] > 1


def test_an_empty_window_shows_a_message():
    rows = series_of([1, 1])
    assert chart(rows, Window(10, 20), (40, 8), 10, False)[0].plain == "no step that was kept lies here"


@given(st.integers(1, 10**7), st.data())
def test_zooming_stays_within_the_whole_and_keeps_the_step_in_sight(steps, data):
    whole = Window(0, steps - 1)
    window = whole
    for _ in range(data.draw(st.integers(1, 12))):
        around = data.draw(st.integers(0, steps - 1))
        window = window.following(around, whole).zoomed(
            data.draw(st.sampled_from([0.5, 0.7, 1.4, 2.0])), around, whole
        )
        assert 0 <= window.first <= window.last <= steps - 1
        assert window.first <= around <= window.last


def test_a_million_steps_are_drawn_without_a_loop_over_them():
    rows = np.zeros((1_000_000, 4), np.int64)
    rows[:, 1], rows[:, 2] = np.arange(1_000_000), 1000
    rows[777_777, 2] = 50_000
    cells = cells_of(rows, Window(0, 999_999), 100)
    assert cells.beyond.keys() == {77} and cells.beyond[77].tolist() == [50_000]
    assert cells.median.max() == cells.high.max() == 1000
