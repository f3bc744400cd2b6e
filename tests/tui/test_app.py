"""The application around its tabs: the tree, the palette, help, the mouse, every size; a terminal is simulated."""

import asyncio
import pkgutil
import shlex
import subprocess
import sys

import pytest
from msgspec.structs import replace
from textual.events import MouseScrollDown, MouseScrollUp
from textual.widgets import Input, Static, Tab, Tabs

import scanviz.tui
from scanviz.record.storage.merging import merged
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.tui.help import HelpScreen
from scanviz.tui.tabbed_app import ViewTabs
from scanviz.tui.tree import RunTree
from scanviz.tui.views.profile import function_summary
from tests.profiler.records import SMALL
from tests.tui.driver import NUMBERS, at, opened, text_of, waits
from tests.tui.records_for_tui import gradient_record, traced_record

SIZES = [(80, 24), (100, 30), (120, 40), (200, 60)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@waits
async def test_every_tab_shows_something_at_every_size(size):
    async with opened(size=size) as (app, pilot):
        for title, number in NUMBERS.items():
            await at(app, pilot, title)
            assert app.query_one("#tabs", ViewTabs).number == int(number) - 1
            shown = app.view
            assert title == shown.TITLE and shown.size.width > 30 and shown.size.height > 8
            for child in shown.children:  # their contents may scroll
                if child.display and child.region.width:
                    assert child.region.right <= size[0], child
            lines = [str(each.render()) for each in shown.query(Static)] + shown.rows()
            assert sum(map(len, lines)) > 40
            assert max(tab.region.right for tab in app.query(Tab)) <= size[0], "all tabs are seen"


@waits
async def test_the_tree_has_functions_loops_and_marks_back_propagation():
    async with opened() as (app, _):
        tree = app.query_one("#tree")
        labels = [str(node.label) for node in tree._tree_nodes.values() if node.data is not None]
        assert any(label.split(" % ")[1].startswith("train") for label in labels)
        assert any(label.split(" % ")[1].startswith("rnn") for label in labels)
        assert any(label.split(" % ")[1].startswith("↩ grad_of_rnn") for label in labels)


@waits
async def test_question_mark_shows_help_for_the_focused_view():
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
            assert command.startswith("scanviz ") and ("p.scanviz" in command or title == "Output")
            assert command.split()[1] in COMMANDS


@waits
async def test_y_copies_names_and_arguments_as_a_shell_reads_them():
    record = gradient_record()
    loops = tuple(replace(loop, name="FILE of $HOME") for loop in record.loops)
    async with opened(replace(record, loops=loops, script="my script.py", arguments=("a b",))) as (
        app,
        pilot,
    ):
        await at(app, pilot, "Steps")
        await pilot.press("y")
        assert app.clipboard == "scanviz report p.scanviz --scan 'FILE of $HOME#1'"
        await at(app, pilot, "Output")
        await pilot.press("y")
        assert app.clipboard == "scanviz profile 'my script.py' 'a b'"


@waits
async def test_ctrl_p_opens_the_palette_and_q_quits():
    async with opened() as (app, pilot):
        await pilot.press("ctrl+p")
        assert type(app.screen).__name__ == "CommandPalette"
        await pilot.press("3", "slash")
        assert app.view.TITLE == "Profile" and app.screen.query_one(Input).value == "3/"
        await pilot.press("escape", "q")
        await pilot.pause()
        assert app._exit


@waits
async def test_the_mouse_chooses_a_tab_a_row_and_a_step():
    async with opened() as (app, pilot):
        await pilot.click("#tab-bar", offset=(14, 0))
        await pilot.pause()
        assert app.view.TITLE == "Steps"
        chart = app.query_one("#steps-chart")
        await pilot.click("#steps-chart", offset=(chart.size.width - 1, 3))
        assert app.state.step >= 38


@waits
async def test_the_line_of_tabs_shows_its_focus():
    async with opened() as (app, pilot):
        await pilot.press("2")
        seen = app.query_one(Tabs).active_tab
        before = seen.rich_style
        await pilot.press("shift+tab")
        assert app.focused.id == "tab-bar" and seen.rich_style != before
        await pilot.press("right")
        assert app.view.TITLE == "Graph" and app.focused.id == "tab-bar"


@waits
async def test_the_mouse_sorts_chooses_zooms_and_presses_keys():
    async with opened() as (app, pilot):
        await pilot.click("#tree", offset=(4, 0))
        await pilot.pause()
        assert app.state.loop is None  # the first line is the function
        await pilot.click("#tree", offset=(4, 1))
        await pilot.pause()
        assert app.state.loop is not None
        table = app.query_one("#profile-table")
        await pilot.click("#profile-table", offset=(30, 0))
        await pilot.pause()
        assert table.by == 2 and not table.reversed
        await pilot.click("#profile-table", offset=(30, 3))
        await pilot.pause()
        assert table.cursor_row == 2
        await at(app, pilot, "Steps")
        chart = app.query_one("#steps-chart")
        whole = app.view._window
        chart.post_message(_wheel(MouseScrollUp, chart))
        await pilot.pause()
        zoomed = app.view._window
        assert zoomed.last - zoomed.first < whole.last - whole.first
        chart.post_message(_wheel(MouseScrollDown, chart))
        await pilot.pause()
        assert app.view._window.last - app.view._window.first > zoomed.last - zoomed.first
        keys = app.query_one("Footer")
        place = str(keys.render()).index("? help")
        await pilot.click("Footer", offset=(place, 0))
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)


def _wheel(kind, widget):
    return kind(widget, x=20, y=3, delta_x=0, delta_y=0, button=0, shift=False, meta=False, ctrl=False)


@waits
async def test_cursor_and_bad_values_are_visible_without_colour():
    async with opened() as (app, pilot):
        await at(app, pilot, "Steps")
        assert "▲" in text_of(app, "#steps-chart")
        await at(app, pilot, "Values")
        app.state = app.state.at_step(3)
        await pilot.pause()
        ruler = text_of(app, "#values-rulers")
        assert "5W│" in ruler and "3r│" in ruler


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
@waits
async def test_without_colours_the_screen_is_grey_and_complete(theme, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    async with opened() as (app, pilot):
        app.theme = theme
        assert app.no_color
        for title in NUMBERS:
            await at(app, pilot, title)
            for strip in app.screen._compositor.render_strips():
                for text, style, _ in strip:
                    if not text.strip() or style is None or style.color is None or style.bgcolor is None:
                        continue
                    fore, back = style.color.get_truecolor(), style.bgcolor.get_truecolor()
                    assert len(set(fore)) == len(set(back)) == 1, (title, text, style)
                    if any(each.isalnum() or each in "█▁▲•!" for each in text):
                        assert abs(fore[0] - back[0]) > 40, (title, text, style)


@waits
async def test_the_title_shows_the_current_step():
    async with opened() as (app, _):
        app.state = app.state.at_step(12)
        assert "rnn: step 12 of 40" in text_of(app, "#title")


def test_the_copied_command_lines_run(tmp_path, capsys, monkeypatch):
    from scanviz.cli import main
    from scanviz.record.storage.file import save

    monkeypatch.chdir(tmp_path)
    save(traced_record(), tmp_path / "p.scanviz")
    found = []

    async def run():
        async with opened(traced_record()) as (app, pilot):
            app.state = app.state.at_step(3)
            for title in NUMBERS:
                if title == "Output":  # it runs the script again
                    continue
                await at(app, pilot, title)
                for key in {"Graph": "fox", "Variables": "mm", "Rewrites": "vvvvxxw", "Steps": "r"}.get(
                    title, ""
                ) + "y":
                    await pilot.press(key)
                    await pilot.press("y")
                    found.append(app.clipboard)

    asyncio.run(run())
    assert len(set(found)) > 12
    for command in dict.fromkeys(found):
        try:
            code = main(shlex.split(command)[1:])
        except SystemExit as ended:
            code = ended.code
        shown = capsys.readouterr()
        assert not code and len(shown.out) > 20, (command, shown.err)


def test_the_tree_and_the_summary_of_a_function_name_its_origin() -> None:
    whole = merged([("first", SMALL), ("second", SMALL)])
    times = OperationTimes(parts_of(whole))
    for function in whole.functions:
        assert f"from {function.origin}" in function_summary(function).plain
        assert f"{function.name}  {function.origin}" in RunTree()._function_label(function, times).plain
    (alone,) = SMALL.functions
    assert "from" not in function_summary(alone).plain


SEPARATE_IMPORTS = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [each for each in sys.modules if each.startswith("scanviz.tui")]:
        del sys.modules[known]
    importlib.import_module(name)
"""


def test_each_module_can_be_imported_first():
    names = [package.name for package in pkgutil.walk_packages(scanviz.tui.__path__, "scanviz.tui.")]
    assert "scanviz.tui.asking" in names
    done = subprocess.run(
        [sys.executable, "-c", SEPARATE_IMPORTS, *names],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
