"""Every key and every tab, by what they change; a terminal is simulated."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.geometry import Region
from textual.widgets import DataTable, Input, Static, TabbedContent

from scanviz.record.model import ProfileRecord
from scanviz.tui.app import ScanvizApp
from scanviz.tui.help import HelpScreen
from scanviz.tui.source import Source
from scanviz.tui.views import VIEWS
from scanviz.tui.views.tables import SortedTable
from tests.tui.records_for_tui import gradient_record, traced_record

SIZES = [(80, 24), (100, 30), (120, 40), (200, 60)]
NUMBERS = {kind.TITLE: str(k) for k, kind in enumerate(VIEWS, 1)}


@asynccontextmanager
async def opened(record=None, size=(120, 40)):
    app = ScanvizApp(Source(record if record is not None else traced_record(), "p.scanviz"))
    async with app.run_test(size=size) as pilot:
        forward = next((each.key for each in app.state.record.loops if each.gradient_of is None), None)
        if forward is not None:
            app.state = app.state.at_loop(forward)
        await pilot.pause()
        yield app, pilot


def waits(function):
    """Run a test that waits."""

    def run():
        asyncio.run(function())

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


def text_of(app, selector):
    return str(app.query_one(selector, Static).render())


async def at(app, pilot, title):
    await pilot.press(NUMBERS[title])
    await pilot.pause()
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_tab_shows_something_at_every_size(size):
    async def run():
        async with opened(size=size) as (app, pilot):
            for title, number in NUMBERS.items():
                await at(app, pilot, title)
                assert app.query_one("#tabs", TabbedContent).active == f"tab-{number}"
                shown = app.view
                assert title == shown.TITLE and shown.size.width > 30 and shown.size.height > 8
                for each in shown.children:  # what is inside of them may scroll
                    if each.display and each.region.width:
                        assert each.region.right <= size[0], each
                lines = [str(each.render()) for each in shown.query(Static)] + shown.rows()
                assert sum(map(len, lines)) > 40
                tab = app.query_one(f"#--content-tab-tab-{number}")
                assert tab.region.right <= size[0], "all tabs are seen"

    asyncio.run(run())


@waits
async def test_every_tab_shows_a_record_of_nothing():
    async with opened(ProfileRecord(script="empty.py")) as (app, pilot):
        for title in NUMBERS:
            await at(app, pilot, title)
            assert app.view.command().startswith("scanviz ")
            await pilot.press("slash", "a", "enter", "n", "N", "escape")


@waits
async def test_the_tree_has_functions_loops_and_marks_back_propagation():
    async with opened() as (app, _):
        tree = app.query_one("#tree")
        labels = [str(node.label) for node in tree._tree_nodes.values() if node.data is not None]
        assert any(each.startswith("train") for each in labels)
        assert any(each.startswith("rnn") for each in labels)
        assert any(each.startswith("↩ grad_of_rnn") for each in labels)


@waits
async def test_arrows_and_hjkl_walk_through_the_tree():
    async with opened() as (app, pilot):
        await pilot.press("g")
        app.query_one("#tree").focus()
        await pilot.press("up", "up", "up")
        assert app.state.loop is None and app.state.function_record.name == "train"
        await pilot.press("down")
        first = app.state.loop
        await pilot.press("j")
        assert app.state.loop not in (None, first)
        await pilot.press("k")
        assert app.state.loop == first


@waits
async def test_b_goes_to_the_gradient_and_back():
    async with opened() as (app, pilot):
        app.query_one("#tree").focus()
        await pilot.press("b")
        assert app.state.loop_record.name == "grad_of_rnn"
        await pilot.press("b")
        assert app.state.loop_record.name == "rnn"


@waits
async def test_steps_are_walked_jumped_and_zoomed():
    async with opened() as (app, pilot):
        await at(app, pilot, "Steps")
        await pilot.press("g", "right", "l", "right")
        assert app.state.step == 3
        await pilot.press("left", "h")
        assert app.state.step == 1
        await pilot.press("G")
        assert app.state.step == 39
        await pilot.press("colon", "1", "7", "enter")
        assert app.state.step == 17 and "step 17:" in text_of(app, "#steps-here")
        await pilot.press("s")
        assert app.state.step == app.state.slowest_step()
        await pilot.press("f")
        assert app.state.step == 7
        before = app.view._window
        await pilot.press("plus")
        assert app.view._window.last - app.view._window.first < before.last - before.first
        await pilot.press("0")
        assert app.view._window == before
        await pilot.press("r")
        assert app.state.run == 0 and "run 0" in text_of(app, "#steps-about")
        drawn = text_of(app, "#steps-chart")
        await pilot.press("o")
        assert text_of(app, "#steps-chart") != drawn


@waits
async def test_the_step_is_the_same_in_every_tab():
    async with opened() as (app, pilot):
        await at(app, pilot, "Steps")
        await pilot.press("colon", "5", "enter")
        await at(app, pilot, "Values")
        assert "step 5 of 40" in text_of(app, "#values-about")
        await pilot.press("full_stop")
        assert app.state.step == 6
        await pilot.press("comma", "comma")
        assert app.state.step == 4


@waits
async def test_tables_are_sorted_by_any_column_and_back():
    async with opened() as (app, pilot):
        await at(app, pilot, "Profile")
        table = app.query_one("#profile-table", SortedTable)
        times = {each[0]: each[1][1].value for each in table.all_rows}
        assert [times[key] for key in table.order] == sorted(times.values(), reverse=True)
        await pilot.press("S")
        assert [times[key] for key in table.order] == sorted(times.values())
        for _ in range(len(table.columns) - 1):
            await pilot.press("s")
        assert table.by == 0 and not table.reversed
        names = {each[0]: each[1][0].value for each in table.all_rows}
        assert [names[key] for key in table.order] == sorted(names.values())


@waits
async def test_the_forward_loop_stands_beside_its_gradient():
    async with opened() as (app, pilot):
        await at(app, pilot, "Profile")
        pair = app.query_one("#profile-pair", Static)
        shown = "\n".join(each.text for each in pair.render_lines(Region(0, 0, *pair.size)))
        assert "rnn" in shown and "grad_of_rnn" in shown and "the loop itself" in shown


@waits
async def test_brackets_step_through_rewrites_and_the_difference_follows():
    async with opened() as (app, pilot):
        await at(app, pilot, "Rewrites")
        first = text_of(app, "#rewrites-difference")
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert app.state.rewrite == 1
        second = text_of(app, "#rewrites-difference")
        assert second != first and "1  " in second.splitlines()[0]
        assert app.query_one("#rewrites-table", SortedTable).chosen == 1
        await pilot.press("left_square_bracket", "left_square_bracket")
        await pilot.pause()
        assert app.state.rewrite == 0 and text_of(app, "#rewrites-difference") == first


@waits
async def test_rewrites_are_shown_side_by_side_with_why_and_why_not():
    async with opened(size=(200, 60)) as (app, pilot):
        await at(app, pilot, "Rewrites")
        pushed = next(each.index for each in app.view.history.applications if each.rule == "PushOutSeqScan")
        app.state = app.state.at_rewrite(pushed)
        await pilot.pause()
        unified = text_of(app, "#rewrites-difference")
        await pilot.press("v")
        beside = text_of(app, "#rewrites-difference")
        assert beside != unified and any(
            " < " in line or " > " in line or "│" in line for line in beside.splitlines()
        )
        assert app.view.command() == f"scanviz rewrites FILE --step {pushed} --side-by-side"
        await pilot.press("x")
        reasons = {each.why for each in app.view.history.refusals}
        shown = " ".join(text_of(app, "#rewrites-difference").split())
        assert any(" ".join(each.split()) in shown for each in reasons)
        await pilot.press("w")
        assert "test" in text_of(app, "#rewrites-difference") or "records_for_tui" in text_of(
            app, "#rewrites-difference"
        )
        await pilot.press("w", "o")
        listed = {each.index for each in app.view.listed()}
        assert pushed in listed and len(listed) < len(app.view.history.applications)


@waits
async def test_a_chosen_slot_is_marked_in_every_tab():
    async with opened() as (app, pilot):
        await at(app, pilot, "Slots")
        table = app.query_one("#slots-table", SortedTable)
        state = next(k for k, each in enumerate(app.state.loop_record.variables) if each.name == "h")
        for _ in range(len(table.order)):
            if app.state.variable == state:
                break
            await pilot.press("down")
            await pilot.pause()
        assert app.state.variable == state
        assert "multiple input taps" in text_of(app, "#slots-why")
        marked = [line for line in text_of(app, "#slots-mappings").splitlines() if line.startswith("▶")]
        assert marked and all("h" in line for line in marked) and any("h[t-2]" in line for line in marked)
        await at(app, pilot, "Values")
        assert "▶ h" in text_of(app, "#values-rulers")


@waits
async def test_the_connection_matrix_shows_the_path_of_a_cell():
    async with opened() as (app, pilot):
        await at(app, pilot, "Slots")
        await pilot.press("m", "m")
        await pilot.pause()
        matrix = app.query_one("#slots-matrix", DataTable)
        assert matrix.display and matrix.has_focus
        names = [str(row.label) for row in matrix.ordered_rows]
        await pilot.press(*["down"] * names.index("dot(x[t], w)"))
        await pilot.press("enter")
        await pilot.pause()
        path = text_of(app, "#slots-path")
        assert path.startswith("dot(x[t], w) → h:") and "tanh" in path


@waits
async def test_values_are_shown_in_both_directions_with_a_ruler_and_watches():
    async with opened() as (app, pilot):
        await at(app, pilot, "Values")
        app.state = app.state.at_step(3)
        await pilot.pause()
        assert "reads row 3 as h[t-2], row 4 as h[t-1]; writes row 5 as h[t]" in text_of(
            app, "#values-rulers"
        )
        assert app.query_one("#values-table").display
        await pilot.press("v")
        assert "over time" in text_of(app, "#values-one") and "!" not in text_of(app, "#values-one")
        await pilot.press("v")
        assert "heat map" in text_of(app, "#values-one") and "!" in text_of(app, "#values-one")
        await pilot.press("e")
        app.query_one("#values-ask", Input).value = "max(h[t]) - h[t-1][0]"
        await pilot.press("enter")
        assert "max(h[t]) - h[t-1][0] = 1." in text_of(app, "#values-watches")
        await pilot.pause()
        await pilot.press("right")
        await pilot.pause()
        assert app.state.step == 4 and "= 1." in text_of(app, "#values-watches")
        await pilot.press("f")
        assert app.state.step == 7 and "first NaN or infinity: step 7" in text_of(app, "#values-about")
        assert "= nan" in text_of(app, "#values-watches")


@waits
async def test_lines_of_the_script_have_their_times():
    async with opened() as (app, pilot):
        await at(app, pilot, "Source")
        rows = app.view.rows()
        assert rows and all("records_for_tui.py:" in row for row in rows)
        assert any(row.startswith("▶") and "rnn" in row for row in rows)


@waits
async def test_the_graph_folds_and_is_searched():
    async with opened() as (app, pilot):
        await at(app, pilot, "Graph")
        await pilot.press("o")
        whole = list(app.view.lines)
        await pilot.press(*"ffff")
        folded = list(app.view.lines)
        assert 0 < len(folded) < len(whole) and app.view.command().endswith("--depth 0")
        await pilot.press("F", "F", "F", "F")
        assert app.view.lines == whole
        await pilot.press("slash", *"tanh", "enter")
        await pilot.pause()
        assert app.view.found and all("tanh" in app.view.lines[each] for each in app.view.found)
        first = app.view.found_at
        await pilot.press("n")
        assert len(app.view.found) == 1 or app.view.found_at != first
        await pilot.press("N")
        assert app.view.found_at == first
        await pilot.press("x")
        assert app.view.lines != whole


@waits
async def test_slash_filters_and_escape_gives_up():
    async with opened() as (app, pilot):
        await at(app, pilot, "Profile")
        await pilot.press("slash", "t", "a", "n", "h", "enter")
        await pilot.pause()
        table = app.query_one("#profile-table", SortedTable)
        assert "tanh" in app.view.rows()[table.cursor_row]
        await pilot.press("slash")
        assert not app.query_one("#search", Input).disabled
        await pilot.press("escape")
        assert app.query_one("#search", Input).disabled


@waits
async def test_question_mark_helps_with_what_has_the_focus():
    async with opened() as (app, pilot):
        await at(app, pilot, "Steps")
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        assert "Steps" in str(app.screen.query_one("#help-about", Static).render())
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


@waits
async def test_y_copies_a_command_line_that_scanviz_knows():
    from scanviz.cli import COMMANDS

    async with opened() as (app, pilot):
        for title in NUMBERS:
            await at(app, pilot, title)
            await pilot.press("y")
            command = app.clipboard
            assert command.startswith("scanviz ") and "p.scanviz" in command
            assert command.split()[1] in COMMANDS


@waits
async def test_the_palette_has_every_action():
    async with opened() as (app, _):
        titles = [each.title for each in app.get_system_commands(app.screen)]
        assert {f"Tab: {kind.TITLE}" for kind in VIEWS} <= set(titles)
        assert {"Slowest step", "First NaN", "Next rewrite", "Copy the command line", "Search"} <= set(titles)


@waits
async def test_ctrl_p_opens_the_palette_and_q_quits():
    async with opened() as (app, pilot):
        await pilot.press("ctrl+p")
        assert type(app.screen).__name__ == "CommandPalette"
        await pilot.press("escape", "q")
        await pilot.pause()
        assert app._exit


@waits
async def test_the_mouse_chooses_a_tab_a_row_and_a_step():
    async with opened() as (app, pilot):
        await pilot.click("#--content-tab-tab-2")
        await pilot.pause()
        assert app.view.TITLE == "Steps"
        chart = app.query_one("#steps-chart")
        await pilot.click("#steps-chart", offset=(chart.size.width - 1, 3))
        assert app.state.step >= 38


@waits
async def test_names_of_a_script_cannot_draw_on_the_terminal():
    record = gradient_record()
    hostile = "[bold]x[/] \x1b[31m\x07 ☠"
    loops = tuple(replace(each, name=hostile) for each in record.loops)
    functions = tuple(replace(each, name=hostile, rewrites=None, graph=None) for each in record.functions)
    async with opened(replace(record, script=hostile, loops=loops, functions=functions)) as (app, pilot):
        for title in NUMBERS:
            await at(app, pilot, title)
            screen = app.export_screenshot()
            assert "\x1b" not in screen and "\x07" not in screen
        title = text_of(app, "#title")
        assert "[bold]x[/]" in title


@waits
async def test_no_colour_is_needed_to_see_the_cursor_and_what_is_bad():
    async with opened() as (app, pilot):
        await at(app, pilot, "Steps")
        assert "▲" in text_of(app, "#steps-chart")
        await at(app, pilot, "Values")
        app.state = app.state.at_step(3)
        await pilot.pause()
        ruler = text_of(app, "#values-rulers")
        assert "5W│" in ruler and "3r│" in ruler


@waits
async def test_the_title_says_where_one_is():
    async with opened() as (app, _):
        app.state = app.state.at_step(12)
        assert "rnn: step 12 of 40" in text_of(app, "#title")
