"""How a script that runs is shown to get on: from records alone, so that the same records give the same words."""

import numpy as np
from msgspec.structs import replace

from scanviz.record.model import ProfileRecord
from scanviz.tui.text.pulse import TURNING, Beat, Pulse, pulse_line
from tests.tui.driver import waits
from tests.tui.records_for_tui import gradient_record
from tests.tui.test_output import Played, screen


def record_after(record, seconds, part):
    """Return a script's record after a part of its steps was counted."""
    loops = tuple(
        replace(loop, steps=round(part * loop.steps), total_ns=round(part * loop.total_ns))
        for loop in record.loops
    )
    return replace(record, loops=loops, wall_ns=round(1e9 * seconds))


def line(pulse, record, elapsed=3.0, width=100):
    return pulse_line(pulse, record, elapsed, width).plain


def test_steps_a_second_are_those_of_the_last_two_seconds():
    beats = tuple(Beat(1_000_000_000 * second, 100 * second, second) for second in range(1, 8))
    faster = Beat(8_000_000_000, 1_700, 8)
    assert Pulse(beats).rates() == (100.0, 1.0)
    assert Pulse((*beats, faster)).rates() == (550.0, 1.0)


def test_the_course_counts_every_step_once_however_seldom_it_was_read():
    random = np.random.default_rng(0)
    times = np.cumsum(random.integers(1, 2_000_000_000, 20))
    steps = np.cumsum(random.integers(0, 500, 20))
    pulse = Pulse(tuple(Beat(int(t), int(s), 0) for t, s in zip(times, steps, strict=True)))
    course = pulse.course(1_000)
    assert abs(course.sum() / 2 - steps[-1]) < steps[-1] / len(course) * 2  # but the first half second's part
    assert (course >= 0).all() and len(pulse.course(7)) == 7


def test_the_loop_at_work_is_the_one_that_took_most_since_the_record_before():
    record = gradient_record()
    pulse = Pulse().after(record_after(record, 1.0, 0.1)).after(record_after(record, 2.0, 0.5))
    slowest = max(record.loops, key=lambda loop: loop.total_ns)
    assert pulse.at_work[0] == slowest.key
    assert f"in {slowest.name}" in line(pulse, record) and "steps/s" in line(pulse, record)
    still = pulse.after(record_after(record, 2.5, 0.5))
    assert still.at_work == () and still.turns == pulse.turns
    assert "no step for 3 s" in line(still.after(record_after(record, 5.0, 0.5)), record)


def test_the_line_fits_any_terminal_and_begins_with_the_active_part():
    record = gradient_record()
    pulse = Pulse()
    for k in range(1, 41):
        pulse = pulse.after(record_after(record, k / 2, k / 40))
    for width in (20, 40, 60, 78, 118, 198):
        assert "0:03" in line(pulse, record, width=width)
        if width >= 60:
            assert len(line(pulse, record, width=width)) <= width
            assert "in " in line(pulse, record, width=width)
    assert "█" in line(pulse, record, width=78)


def test_the_line_notes_that_no_loop_has_run_yet():
    assert "no loop has run yet" in line(Pulse(), ProfileRecord())
    assert "no loop has run yet" in line(Pulse().after(ProfileRecord(wall_ns=9_000_000_000)), ProfileRecord())


class PlantedScript(Played):
    """A script whose events the test plants."""

    elapsed = 61.0

    def __init__(self):
        super().__init__()
        self.next = None

    def update(self):
        if self.next is None:
            return False
        self.record, self.next = self.next, None
        return True


@waits
async def test_a_script_that_runs_visibly_lives_and_one_that_has_ended_does_not():
    from scanviz.tui.app import ScanvizApp

    record, source = gradient_record(), PlantedScript()
    app = ScanvizApp(source)
    async with app.run_test(size=(120, 40)) as pilot:
        app.news.stop()
        for seconds, part in ((1.0, 0.2), (2.0, 0.5)):
            source.next = record_after(record, seconds, part)
            app.news.take()  # asks for it
            await app.workers.wait_for_complete()
            app.news.take()  # shows it
            await pilot.pause()
        slowest = max(record.loops, key=lambda loop: loop.total_ns)
        seen = screen(app)
        assert "1:01" in seen and "steps/s" in seen and f"in {slowest.name}" in seen
        # it may have turned since
        assert [row for row in seen.split("\n") if "%" in row and any(sign in row for sign in TURNING)]
        app.news.take()
        await pilot.pause()
        assert (
            app.news.pulse.sign in screen(app) and screen(app) != seen
        )  # it turns while one waits for a record
        source.running = False
        source.next = record
        app.news.take()
        await app.workers.wait_for_complete()
        app.news.take()
        await pilot.pause()
        assert "steps/s" not in screen(app) and app.run_tree.sign not in screen(app)


@waits
async def test_the_selected_loop_stays_in_the_one_line_of_the_tree():
    from scanviz.tui.app import ScanvizApp

    record, source = gradient_record(), PlantedScript()
    app = ScanvizApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        app.news.stop()
        for factor in (1, 20, 1, 20):  # of the first loop's time: it is above the other, and below it
            loops = (replace(record.loops[0], total_ns=factor * 100_000), *record.loops[1:])
            source.next = replace(record, loops=loops)
            app.news.take()
            await app.workers.wait_for_complete()
            app.news.take()
            await pilot.pause()
            looked_at = app.state.loop_record.name
            (shown,) = [
                row for row in screen(app).split("\n") if "%" in row and row.startswith(("├", "└", "▼"))
            ]
            assert shown.replace("↩", "").split()[-3 if "ms" in shown or "µs" in shown else -1] == looked_at
