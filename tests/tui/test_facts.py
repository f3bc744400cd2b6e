"""Facts about the selection, below the tree: their contents, their fit, and when they give way."""

import re

from scanviz.profiler.report.units import share
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord, SideRecord
from scanviz.record.summary.run_breakdown import parts_of, run_time_ns
from scanviz.tui.left_panel import LEAST, facts
from scanviz.tui.model.state import ViewState, start
from scanviz.tui.views.profile import function_summary, loop_summary
from tests.tui.driver import opened, text_of, waits
from tests.tui.records_for_tui import gradient_record, traced_record


def test_a_loop_has_its_times_its_variables_its_gradient_and_its_lines():
    record = gradient_record()
    forward = next(loop for loop in record.loops if loop.gradient_of is None)
    text = facts(ViewState(record).at_loop(forward.key), 44, 40).plain
    assert text.startswith("rnn ") and ":18\n" in text
    for word in (
        "took ",
        "a step ",
        "gradient grad_of_rnn",
        "carries  h[t-2,t-1]",
        "reads ",
        "rewrites 5 → 4",
    ):
        assert word in text, word
    parts = parts_of(record)
    took = {}
    for part in parts:
        if part.loop == forward.key and part.kind in ("operation", "rows", "round", "around"):
            took[part.source.line] = took.get(part.source.line, 0) + part.own_ns
    for line, time in took.items():
        assert re.search(rf"{share(time, run_time_ns(parts))} .*records_for_tui.py:{line}\n", text + "\n"), (
            text
        )
    backward = next(loop for loop in record.loops if loop.gradient_of is not None)
    assert "gradient of rnn" in facts(ViewState(record).at_loop(backward.key), 44, 40).plain


def test_the_first_nan_is_named_and_the_cursor_is_in_the_chart_of_steps():
    record = traced_record()
    state = ViewState(record).at_loop(record.loops[0].key)
    if state.first_bad() is None:
        state = ViewState(record).at_loop(record.loops[1].key)
    assert "NaN      step 7" in facts(state, 44, 40).plain
    places = [
        next(line for line in facts(state.at_step(step), 40, 40).plain.split("\n") if "▲" in line).index("▲")
        for step in (0, 20, 39)
    ]
    assert places == [0, 20, 39]


def test_facts_fit_and_numbers_are_whole_at_every_width_and_height():
    record = traced_record()
    states = [start(record), *(ViewState(record).at_function(each.key) for each in record.functions)]
    for state in states:
        whole = facts(state, 200, 60).plain
        for width in (16, 21, 28, 44):
            for most in (LEAST, 12, 40):
                text = facts(state, width, most)
                lines = text.plain.split("\n")
                assert len(lines) <= most and all(len(line) <= width for line in lines)
                took = next((line for line in lines if line.startswith("took ")), None)
                assert took is None or all(part in whole for part in took.split(" · "))
    assert facts(ViewState(ProfileRecord(script="empty.py")), 40, 20).plain == ""


@waits
async def test_facts_follow_the_cursor_and_give_way_to_a_narrow_or_low_terminal():
    async with opened(gradient_record()) as (app, pilot):
        block = app.query_one("#facts")
        assert block.region.height > 10 and text_of(app, "#facts").startswith("rnn")
        app.state = app.state.at_function(app.state.function)
        await pilot.pause()
        assert text_of(app, "#facts").startswith("train")
        await pilot.press("1")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not block.region.height and app.query_one("#tree").region.height == 1


@waits
async def test_the_edge_of_a_panel_shows_the_position_and_the_focus():
    async with opened(gradient_record()) as (app, pilot):
        left, right = app.query_one("#left"), app.query_one("#right")
        await pilot.press("1", "g", "down")
        await pilot.pause()
        assert "where the time of a step goes" in right.border_title and "accent" in right.border_title
        assert "2 of " in right.border_subtitle and "more columns →" in right.border_subtitle
        assert "accent" not in left.border_title
        await pilot.press("t", "g")
        await pilot.pause()
        assert "1 of 3" in left.border_subtitle and "accent" in left.border_title
        assert "accent" not in right.border_title
        await pilot.press("7")
        assert "what the values were" in right.border_title


def test_names_of_a_record_break_no_line_and_set_no_colour():
    evil, safe = "a\n\x1b[31mb", r"a\nb".replace("b", r"\x1b[31mb")
    operation = OperationRecord(0, evil, "operation", evil, None, samples=9, typical_ns=9.0)
    side = SideRecord(0, "then", taken=9, typical_ns=9e6, operations=(operation,))
    times = {"steps": 9999, "total_ns": 10**8, "body_ns": 1.0}
    loop = LoopRecord(1, 1, None, evil, None, operations=(operation,), sides=(side,), **times)
    function = FunctionRecord(1, evil, None, evil, tier_reason=evil)
    of_function = facts(ViewState(ProfileRecord(functions=(function,)), function=1), 80, 40)
    for text, names in ((function_summary(function), 3), (loop_summary(loop, 80), 3), (of_function, 3)):
        assert text.plain.count(safe) == names and not re.search(r"a\n|\x1b", text.plain), text.plain
