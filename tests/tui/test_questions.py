"""The questions that the application is for, answered by keys alone, without leaving it."""

import asyncio

from msgspec.structs import replace

from scanviz.profiler.values.replay import Replayer
from scanviz.record.graphs.rewrites import EffectRecord
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.record.summary.verdict import verdict
from scanviz.tui.verdict_bar import segments
from tests.tui.driver import opened, text_of, until_shown, waits
from tests.tui.records_for_tui import gradient_record
from tests.tui.test_linked_selection import planted_record


async def press(pilot, keys):
    for word in keys.split():
        await pilot.press(word)
        await pilot.pause()


@waits
async def test_the_application_answers_why_a_loop_is_slow():
    record = gradient_record()
    effect = EffectRecord("PushOutSeqScan", 1.7, 1.6, 1.8, 9, 1e6, 1.7e6, 100, 100)
    functions = [
        replace(function, rewrites=replace(function.rewrites, effects=(effect,)))
        for function in record.functions
    ]

    # times of a run so short are near to one another: which operation is the heaviest is planted
    loops = tuple(
        replace(
            loop,
            operations=tuple(
                replace(operation, typical_ns=100.0 * (k + 1), mean_ns=100.0 * (k + 1), samples=8)
                for k, operation in enumerate(loop.operations)
            ),
        )
        for loop in record.loops
    )
    record = replace(record, loops=loops)

    async with opened(replace(record, functions=tuple(functions))) as (app, pilot):
        # which loop: the tree has shares, and the cursor is on the slowest
        await press(pilot, "t g j")
        slowest = max(record.loops, key=lambda loop: loop.total_ns)
        assert app.state.loop_record.name == slowest.name
        # which operation of it, and how a step divides
        await press(pilot, "1")
        table = app.view.table()
        table.move_cursor(row=0)  # it stays on the operation that was chosen in the loop before
        await pilot.pause()
        [heaviest] = (operation for operation in slowest.operations if operation.index == table.chosen)
        times = OperationTimes(parts_of(app.state.record))
        took = [times.of(slowest, operation) for operation in slowest.operations]
        assert times.of(slowest, heaviest) == max(took)
        assert "operations" in text_of(app, "#profile-about")
        # which of my lines
        await press(pilot, "enter")
        assert app.view.TITLE == "Source" and app.view.table().chosen == str(heaviest.source)
        # what else that line costs, and back
        await press(pilot, "enter")
        assert app.view.TITLE == "Profile" and app.state.line == str(heaviest.source)
        await press(pilot, "escape")
        assert app.view.TITLE == "Source"
        await press(pilot, "escape")
        assert app.view.TITLE == "Profile"
        # the rewrites, with the cost before and after, and their measured gain
        await press(pilot, "5 slash P u s h O u t S e q enter")
        table = app.view.table()
        assert {row.split()[2] for row in app.view.rows()} == {"PushOutSeqScan"}
        assert app.view.rows()[0].split()[1] == "1.70×"
        text = text_of(app, "#rewrites-difference")
        assert "PushOutSeqScan" in text and "operations a step" in text and "→" in text
        # the refused rewrites, with reasons
        await press(pilot, "x")
        assert "rnn" in text_of(app, "#rewrites-difference")


@waits
async def test_the_application_answers_where_a_nan_came_from():
    async with opened(planted_record()) as (app, pilot):
        await press(pilot, "7 f")
        assert app.state.step == 23
        text = text_of(app, "#values-about")
        assert "first NaN or infinity (f): step 23 of tank made it: outflow with level[t-1] = -0.3495" in text
        assert "test_linked_selection.py:" in text
        assert "← step 22 of tank wrote that input" in text  # two keys from the first screen
        assert "← computed from your input inflow[22] = -1" in text
        rows = app.view.rows()
        assert "! outflow" in rows[app.view.table().cursor_row]
        assert next(row for row in rows if "!" in row) == rows[app.view.table().cursor_row]
        # the cause: the step before, with its state
        await press(pilot, "e")
        for each in "level[t-1]":
            await pilot.press(
                {"[": "left_square_bracket", "]": "right_square_bracket", "-": "minus"}.get(each, each)
            )
        await press(pilot, "enter")
        assert "level[t-1] = -0.349" in text_of(app, "#values-watches")
        await press(pilot, "left")
        assert "level[t-1] = 0.7363" in text_of(app, "#values-watches")
        # the input that did it
        assert any("inflow[t]" in row and "-1" in row for row in app.view.rows())
        # the operation, and my line
        await press(pilot, "f enter")
        assert app.view.TITLE == "Profile"
        assert "sqrt" in app.view.rows()[app.view.table().cursor_row]
        await press(pilot, "enter")
        assert app.view.TITLE == "Source" and "test_linked_selection.py" in app.view.table().chosen
        await press(pilot, "escape escape")
        assert app.view.TITLE == "Values" and app.state.step == 23


@waits
async def test_the_first_nan_of_another_loop_is_found_too():
    record = planted_record()
    other = gradient_record()
    loops = tuple(
        replace(loop, key=loop.key + 1000, function=loop.function + 1000, parent=None) for loop in other.loops
    )
    functions = tuple(replace(function, key=function.key + 1000) for function in other.functions)
    both = replace(record, loops=(*record.loops, *loops), functions=(*record.functions, *functions))

    async with opened(both) as (app, pilot):
        app.state = app.state.at_loop(loops[0].key)
        await press(pilot, "2 f")
        assert (app.state.loop_record.name, app.state.step) == ("tank", 23)


@waits
async def test_the_application_shows_the_state_at_step_37_and_one_step_back():
    """Two acts from the first screen: the number, which `:` begins and enter ends, and a key back."""
    record = planted_record()

    async with opened(record) as (app, pilot):
        replayer = Replayer(record)
        app.source.recompute, app.source.computes = lambda _, *window: replayer.window(*window), True
        app.state = app.state.at_step(0)
        for step, keys in ((37, "colon 3 7 enter"), (36, "left")):
            await press(pilot, keys)
            await pilot.pause(0.02)
            await until_shown(pilot, app.view.rows, "values")
            assert app.state.step == step and any("level[t]" in row for row in app.view.rows())
            assert f"reads row {step} as level[t-1]; writes row {step + 1} as level[t]" in text_of(
                app, "#values-rulers"
            )


def screen_of(app):
    """Return all that is seen, as one line: what wraps is found too."""
    return " ".join(" ".join(strip.text.split()) for strip in app.screen._compositor.render_strips())


def test_the_first_screen_shows_the_largest_share_of_time_at_any_size():
    record = gradient_record()
    slowest = max(record.loops, key=lambda loop: loop.total_ns)
    hottest = OperationTimes(parts_of(record)).most_of(slowest)
    most = segments(parts_of(record))[0]

    async def run(size):
        async with opened(record, size) as (app, pilot):
            app.state = app.state.at_loop(slowest.key)
            await pilot.pause()
            seen = screen_of(app)
            assert most.title in seen  # of the whole run
            assert verdict(record)[0].text.split(" is ")[0] in seen  # in words
            assert (
                slowest.name in seen and app.view.table().chosen == hottest.index
            )  # which loop, and what of it
            assert str(hottest.source).rpartition("/")[2] in seen  # the slow line

    for size in ((80, 24), (120, 40), (200, 60)):
        asyncio.run(run(size))


@waits
async def test_the_cause_of_a_nan_is_on_the_first_screen_and_two_keys_show_the_chain():
    async with opened(planted_record(), (80, 24)) as (app, pilot):
        seen = screen_of(app)
        assert "`run` returned NaN. It first appears in `sqrt(level[t-1])`" in seen and "at step 23" in seen
        await press(pilot, "7 f")
        seen = screen_of(app)
        assert "made it: outflow" in seen and "computed from your input inflow[22] = -1" in seen
