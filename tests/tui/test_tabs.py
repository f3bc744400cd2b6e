"""Each tab: its contents and the effects of its keys, in a simulated terminal."""

import re
from unittest import mock

from textual.geometry import Region
from textual.widgets import DataTable, Input, Static

from scanviz.render.diagram.summary import loops_to_close
from scanviz.tui.asking import SearchInput
from scanviz.tui.help import own_bindings
from scanviz.tui.views.film import FilmPane
from scanviz.tui.views.tables import SortedTable
from tests.tui.driver import at, opened, text_of, waits


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
        times = {row[0]: row[1][1].value for row in table.all_rows}
        assert [times[key] for key in table.order] == sorted(times.values(), reverse=True)
        await pilot.press("S")
        assert [times[key] for key in table.order] == sorted(times.values())
        await pilot.press("s")
        assert table.by == 2 and not table.reversed
        names = {row[0]: row[1][2].value for row in table.all_rows}
        assert [names[key] for key in table.order] == sorted(names.values())


@waits
async def test_another_loop_begins_at_its_most_expensive_operation():
    async with opened() as (app, pilot):
        table = app.query_one("#profile-table", SortedTable)
        backward = next(loop for loop in app.state.record.loops if loop.gradient_of is not None)
        await at(app, pilot, "Profile")
        await pilot.press("j", "j")
        assert table.cursor_row == 2
        chosen = table.chosen
        await pilot.press("S", "S")
        assert table.chosen == chosen, "the cursor stays on its operation while the loop is the same"
        for state in (
            app.state.at_loop(backward.key),
            app.state.at_function(backward.function),
            app.state.at_loop(backward.key),
        ):
            app.state = state
            await pilot.pause()
            assert table.cursor_row == 0 and table.row_count > 2
            await pilot.press("j", "j")
        slowest = max(table.all_rows, key=lambda row: row[1][1].value)
        assert table.order[0] == slowest[0]
        app.state = app.state.at_step(3)
        await pilot.pause()
        assert table.cursor_row == 2, "another step of the loop leaves the cursor alone"


@waits
async def test_the_forward_loop_stands_beside_its_gradient():
    async with opened() as (app, pilot):
        await at(app, pilot, "Profile")
        pair = app.query_one("#profile-pair", Static)
        shown = "\n".join(line.text for line in pair.render_lines(Region(0, 0, *pair.size)))
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
        pushed = next(
            application.index
            for application in app.view.history.applications
            if application.rule == "PushOutSeqScan"
        )
        app.state = app.state.at_rewrite(pushed)
        await pilot.pause()
        unified = text_of(app, "#rewrites-difference")
        await pilot.press("v")
        beside = text_of(app, "#rewrites-difference")
        assert beside != unified and any(
            " < " in line or " > " in line or "│" in line for line in beside.splitlines()
        )
        assert app.view.command() == f"scanviz rewrites FILE --step {pushed} --side-by-side"
        await pilot.press("v", "v")
        assert "before  " in text_of(app, "#rewrites-difference")
        assert app.view.command() == f"scanviz rewrites FILE --step {pushed} --costs"
        await pilot.press("x")
        reasons = {refusal.why for refusal in app.view.history.refusals}
        shown = " ".join(text_of(app, "#rewrites-difference").split())
        assert any(" ".join(reason.split()) in shown for reason in reasons)
        for rule in {refusal.rule for refusal in app.view.history.refusals}:
            assert f"{rule} was " in shown, "a refusal stands under the name of its rule"
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
        await at(app, pilot, "Variables")
        table = app.query_one("#variables-table", SortedTable)
        state = next(k for k, variable in enumerate(app.state.loop_record.variables) if variable.name == "h")
        for _ in range(len(table.order)):
            if app.state.variable == state:
                break
            await pilot.press("down")
            await pilot.pause()
        assert app.state.variable == state
        assert "multiple input taps" in text_of(app, "#variables-why")
        marked = [line for line in text_of(app, "#variables-mappings").splitlines() if line.startswith("▶")]
        assert marked and all("h" in line for line in marked) and any("h[t-2]" in line for line in marked)
        await at(app, pilot, "Values")
        assert "▶ h" in text_of(app, "#values-rulers")


@waits
async def test_the_connection_matrix_shows_the_path_of_a_cell():
    async with opened() as (app, pilot):
        await at(app, pilot, "Variables")
        await pilot.press("m")
        await pilot.pause()
        matrix = app.query_one("#variables-matrix", DataTable)
        assert matrix.display and matrix.has_focus
        names = [str(row.label) for row in matrix.ordered_rows]
        await pilot.press(*["down"] * names.index("dot(x[t], w)"))
        await pilot.press("enter")
        await pilot.pause()
        path = text_of(app, "#variables-path")
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
        assert re.search(r"mean │[░▒▓█]-?\d", text_of(app, "#values-rulers")), "rows of vectors have numbers"
        assert app.query_one("#values-table").display
        await pilot.press("v")
        over_time = text_of(app, "#values-one")
        assert "over time" in over_time and "!" not in over_time
        trace = next(trace for trace in app.state.traces if app.state.step in trace.steps)
        assert re.search(rf"step {trace.steps[0]} +3 +{trace.steps[-1]}$", over_time, re.MULTILINE)
        assert re.search(r"mean \S+ -?[\d.]+ in -?[\d.]+ … [\d.]+", over_time)
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
        assert app.state.step == 7 and "first NaN or infinity (f): step 7" in text_of(app, "#values-about")
        assert "= nan" in text_of(app, "#values-watches")


@waits
async def test_lines_of_the_script_have_their_times():
    async with opened() as (app, pilot):
        await at(app, pilot, "Source")
        rows = app.view.rows()
        assert rows and all("records_for_tui.py:" in row for row in rows)
        assert any(" *" in row and "rnn" in row for row in rows)


@waits
async def test_the_graph_folds_and_is_searched():
    async with opened() as (app, pilot):
        await at(app, pilot, "Graph")
        await pilot.press("w")
        whole = app.view.rows()
        await pilot.press("f")
        folded = app.view.rows()
        assert 0 < len(folded) < len(whole) and app.view.command().endswith("--depth 0")
        await pilot.press("F")
        assert app.view.rows() == whole
        await pilot.press("slash", *"tanh", "enter")
        await pilot.pause()
        assert app.view.found and all("tanh" in app.view.rows()[each] for each in app.view.found)
        first = app.view.found_at
        await pilot.press("n")
        assert len(app.view.found) == 1 or app.view.found_at != first
        await pilot.press("N")
        assert app.view.found_at == first
        await pilot.press("x")
        assert app.view.rows() != whole


@waits
async def test_loops_of_a_large_graph_are_closed_until_they_are_opened_by_o_by_enter_or_by_the_mouse():
    with mock.patch.object(loops_to_close, "__defaults__", (30,)):
        await fold_and_open()


async def fold_and_open():
    async with opened() as (app, pilot):
        await at(app, pilot, "Graph")
        assert not any("▣" in row for row in app.view.rows())  # a loop that is looked at alone
        await pilot.press("w")
        [closed] = [row for row in app.view.rows() if "▣" in row and "grad_of_rnn" in row]
        assert " operations  · " in closed and "%" in closed
        await pilot.press("o")
        opened_rows = app.view.rows()
        assert not any("▣" in row for row in opened_rows)
        place = next(k for k, row in enumerate(opened_rows) if "╔═ loop grad_of_rnn" in row)
        app.view.go_to(place)
        await pilot.press("enter")
        assert sum("▣" in row for row in app.view.rows()) == 1
        place = next(k for k, row in enumerate(app.view.rows()) if "▣" in row)
        assert app.view.pane.cursor == place  # the cursor stays on the loop
        text = text_of(app, "#graph-here")
        assert "loop grad_of_rnn" in text and "opens it" in text
        await pilot.click("#graph-pane", offset=(30, place - app.view.pane.scroll_offset.y))
        await pilot.pause()
        assert app.view.rows() == opened_rows


@waits
async def test_the_row_at_the_cursor_is_explained_and_enter_opens_its_line():
    async with opened() as (app, pilot):
        await at(app, pilot, "Graph")
        app.view.go_to(next(k for k, row in enumerate(app.view.rows()) if "h[t-2]" in row))
        await pilot.pause()
        assert "a state that reads several earlier rows" in text_of(app, "#graph-here")
        app.view.go_to(next(k for k, row in enumerate(app.view.rows()) if "tanh" in row))
        await pilot.pause()
        assert "operation · float64[" in text_of(app, "#graph-here")
        await pilot.press("enter")
        await pilot.pause()
        assert app.view.TITLE == "Source" and app.view.table().chosen == app.state.line != ""
        await pilot.press("escape")
        assert app.view.TITLE == "Graph"


@waits
async def test_slash_filters_and_escape_cancels():
    async with opened() as (app, pilot):
        await at(app, pilot, "Profile")
        await pilot.press("slash", "t", "a", "n", "h", "enter")
        await pilot.pause()
        table = app.query_one("#profile-table", SortedTable)
        assert "tanh" in app.view.rows()[table.cursor_row]
        await pilot.press("slash")
        assert app.query_one("#search", SearchInput).display
        await pilot.press("escape")
        assert not app.query_one("#search", SearchInput).display


@waits
async def test_help_lists_each_key_once_and_tabs_by_name():
    async with opened() as (app, pilot):
        await at(app, pilot, "Rewrites")
        await pilot.press("f", "question_mark")
        await pilot.pause()
        shown = [strip.text for strip in app.screen._compositor.render_strips()]
        assert len([line for line in shown if "the frame before" in line]) == 1
        keys = [binding.key for _, binding in own_bindings(FilmPane)]
        named = ",".join(keys).split(",")
        assert len(named) == len(set(named)) and "h" in keys and "left" in keys
        await pilot.press("end")
        await pilot.pause()
        shown = " ".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "mitmot" in shown
