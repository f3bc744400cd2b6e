"""Every key of every part: what it changes.  A key without a line here fails a test, and so does one that changes nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from textual.binding import Binding
from textual.css.query import NoMatches

from scanviz.tui.app import ScanvizApp
from scanviz.tui.asking import LeaveScreen, SearchInput
from scanviz.tui.help import HelpScreen, is_explained
from scanviz.tui.tabbed_app import TabBar
from scanviz.tui.tree import RunTree
from scanviz.tui.verdict_bar import VerdictBar
from scanviz.tui.views import VIEWS
from scanviz.tui.views.film import FilmPane, FilmView
from scanviz.tui.views.graph import GraphPane
from scanviz.tui.views.lines import LinesPane
from scanviz.tui.views.rewrites import DifferencePane
from scanviz.tui.views.tables import SortedTable
from scanviz.tui.views.values import ValuesView
from scanviz.tui.views.variables import ConnectionTable
from tests.tui.driver import NUMBERS, opened, text_of, waits

CHANGED = object()  # anything else than before


@dataclass
class Key:
    """The effect of a key: pressed after ``before``, it changes ``seen``, to the expected value if there is one.

    ``back`` takes away what it left, as far as that is no part of the state, so that the next key meets what this one met.
    """

    keys: str
    seen: Callable[[ScanvizApp], Any]
    expected: Any = CHANGED
    before: str = ""
    back: str = ""


def step(app):
    return app.state.step


def tab(app):
    return app.view.TITLE


def focus(app):
    return app.focused.id


def row(app):
    return app.focused.cursor_row


def rows(app):
    return app.view.rows()


def closed_loops(app):
    return any("▣" in each for each in app.view.rows())


def frame(app):
    return app.query_one(FilmView).frame


def picture_row(app):
    return app.focused.cursor


def scrolled_aside(app):
    return app.focused.scroll_offset.x


def cell(app):
    return app.focused.cursor_coordinate


def line(app):
    return app.query_one("#tree").cursor_line


def window(app):
    return app.view._window.last - app.view._window.first


def scrolled(app):
    return app.focused.scroll_offset


def asked(app):
    return isinstance(app.focused, SearchInput) and app.focused.display


def opened_nodes(app):
    return [node.is_expanded for node in app.query_one("#tree")._tree_nodes.values()]


def difference(app):
    return text_of(app, "#rewrites-difference")


def order(app):
    return list(app.query_one("#profile-table").order)


def notices(app):
    return len(app._notifications)


STEP_KEYS = [
    Key("left", step, 2),
    Key("h", step, 2),
    Key("right", step, 4),
    Key("l", step, 4),
    Key("g", step, 0),
    Key("home", step, 0),
    Key("G", step, 39),
    Key("end", step, 39),
]
SIZES = {"the picture": (50, 24)}  # on which the picture is wider than the screen
PARTS: dict[str, tuple[type, str, list[Key]]] = {
    "the application": (
        ScanvizApp,
        "2",
        [
            *(
                Key(number, tab, title, before="3" if number != "3" else "2")
                for title, number in NUMBERS.items()
            ),
            Key("f", tab, "Values", before="1"),
            Key("slash", focus, "search", back="escape"),
            Key("n", lambda app: app.view.found_at, before="3 slash h enter"),
            Key("N", lambda app: app.view.found_at, before="3 slash h enter"),
            Key("left_square_bracket", lambda app: app.state.rewrite, 1),
            Key("right_square_bracket", lambda app: app.state.rewrite, 3),
            Key("colon", focus, "values-ask", before="3", back="escape"),
            Key("comma", step, 2),
            Key("full_stop", step, 4),
            Key("tab", focus),
            Key("i", focus, "verdict"),
            Key("t", focus, "tree"),
            Key("z", lambda app: app.query_one("#tree").display, False, back="z"),
            Key("Z", lambda app: app.panels.enlarged, True, back="Z"),
            Key("I", lambda app: app.query_one("#verdict").has_class("away"), True, back="I"),
            Key("T", lambda app: app.query_one("#left").display, False, back="T"),
            Key("B", lambda app: app.query_one("#left").has_class("facts-away"), True, back="B"),
            Key("y", lambda app: app.clipboard, "scanviz report p.scanviz --scan rnn"),
            Key("question_mark", lambda app: isinstance(app.screen, HelpScreen), True, back="escape"),
            Key("escape", focus, "tree"),
            Key("q", lambda app: app._exit, True),
        ],
    ),
    "the tree": (
        RunTree,
        "t",
        [
            Key("j", line, before="k"),  # which loop stands last depends on their times
            Key("k", line),
            Key("g", line, 0),
            Key("G", line, 2),
            Key("l", opened_nodes, before="k k h"),
            Key("h", opened_nodes, before="k k l", back="l j"),
            Key("right", opened_nodes, before="k k h"),
            Key("left", opened_nodes, before="k k l", back="l j"),
            Key("b", lambda app: app.state.loop_record.name, "grad_of_rnn"),
            Key("enter", focus, "profile-table", before="1 t"),
        ],
    ),
    "tables": (
        SortedTable,
        "1 g",
        [
            Key("j", row, 1, back="g"),
            Key("k", row, 0, before="j"),
            Key("h", scrolled, before="z l", back="z"),
            Key("l", scrolled, before="z", back="h z"),
            Key("g", row, 0, before="G"),
            Key("G", lambda app: app.focused.cursor_row == len(app.focused.order) - 1, True, back="g"),
            Key("S", order, back="S g"),
            Key("s", lambda app: app.focused.by, 2),
        ],
    ),
    "the verdict": (
        VerdictBar,
        "i",
        [
            Key("down", lambda app: app.query_one("#verdict").chosen, 1, back="up"),
            Key("j", lambda app: app.query_one("#verdict").chosen, 1, back="up"),
            Key("up", lambda app: app.query_one("#verdict").chosen, 0, before="down"),
            Key("k", lambda app: app.query_one("#verdict").chosen, 0, before="down"),
            Key(
                "enter", tab, before="down down down"
            ),  # the last sentence is of the NaN, whatever takes most
        ],
    ),
    "the line of tabs": (
        TabBar,
        "2 shift+tab",
        [
            Key("left", tab, "Profile", back="right"),
            Key("h", tab, "Profile", back="right"),
            Key("right", tab, "Graph", back="left"),
            Key("l", tab, "Graph", back="left"),
        ],
    ),
    "Profile": (VIEWS[0], "1", [Key("p", lambda app: app.view.unfolded, True)]),
    "Steps": (
        VIEWS[1],
        "2",
        [
            *STEP_KEYS,
            Key("shift+left", step, 2),
            Key("H", step, 2),
            Key("shift+right", step, 4),
            Key("L", step, 4),
            Key("s", lambda app: app.state.step == app.state.slowest_step(), True),
            Key("f", step, 7),
            Key("colon", asked, True, back="escape"),
            *(Key(key, window, back="0") for key in ("plus", "equals_sign", "up", "k")),
            *(Key(key, window, before="plus plus", back="0") for key in ("minus", "down", "j")),
            Key("0", window, 39, before="plus"),
            Key("o", lambda app: app.view.logarithmic, back="o"),
            Key("r", lambda app: app.state.run),
            Key("enter", tab, "Values"),
        ],
    ),
    "Graph": (
        VIEWS[2],
        "3",
        [
            Key("f", closed_loops, True, back="F"),
            Key("F", closed_loops, False, before="f"),
            Key("o", closed_loops, True, back="o"),
            Key("w", rows, back="w"),
            Key("x", rows, back="x"),
            Key("p", lambda app: app.view.plumbing, True),
        ],
    ),
    "the picture": (
        GraphPane,
        "3 p w",
        [
            Key("enter", closed_loops, True, back="enter"),  # the cursor begins on the loop
        ],
    ),
    "lines that scroll": (
        LinesPane,
        "3 p w g",
        [
            *(Key(key, picture_row, back="g") for key in ("j", "down", "pagedown", "G", "end")),
            *(Key(key, picture_row, before="G", back="g") for key in ("k", "up", "pageup", "g", "home")),
            *(Key(key, scrolled_aside, back="h h") for key in ("l", "right")),
            *(Key(key, scrolled_aside, before="l l", back="h h") for key in ("h", "left")),
        ],
    ),
    "Variables": (VIEWS[3], "4", [Key("m", lambda app: app.query_one("#variables-table").display, False)]),
    "connections": (
        ConnectionTable,
        "t b 4 m",
        [
            Key("j", cell, back="k"),
            Key("k", cell, before="j"),
            Key("h", cell, before="l"),
            Key("l", cell),
        ],
    ),
    "Rewrites": (
        VIEWS[4],
        "5",
        [
            Key("v", difference, back="v v"),
            Key("x", difference, back="x"),
            Key("w", difference, back="w"),
            Key("o", lambda app: app.view.own, True),
            Key("f", lambda app: app.query_one("#rewrites-film").display, True, back="escape"),
            Key("a", lambda app: len(app.workers._workers) + len(app._notifications)),
        ],
    ),
    "the film": (
        FilmPane,
        "5 f",
        [
            Key("right", frame, before="home", back="end"),
            Key("left", frame, before="end", back="end"),
            Key("home", frame, 0, before="end", back="end"),
            Key("end", frame, before="home", back="end"),
            Key("space", lambda app: app.query_one(FilmView).plays, True, back="space end"),
            Key("escape", focus, "rewrites-table", back="f"),
        ],
    ),
    "the difference": (
        DifferencePane,
        "5 v v enter",
        [
            Key("escape", focus, "rewrites-table", back="enter"),
            Key("j", scrolled, back="g"),
            Key("k", scrolled, before="j j", back="g"),
            Key("g", scrolled, before="G"),
            Key("G", scrolled),
        ],
    ),
    "Source": (VIEWS[5], "6", []),
    "Values": (
        VIEWS[6],
        "7",
        [
            *STEP_KEYS,
            Key("f", step, 7),
            Key("space", lambda app: "▶" in text_of(app, "#values-scrubber"), True, back="space"),
            Key("plus", lambda app: app.view._speed, back="minus"),
            Key("minus", lambda app: app.view._speed, back="plus"),
            Key("v", lambda app: text_of(app, "#values-one"), back="v v"),
            Key("e", asked, True, back="escape"),
            Key("colon", asked, True),
        ],
    ),
    "Output": (
        VIEWS[7],
        "8",
        [Key(key, notices) for key in ("enter", "D", "e", "E")],
    ),  # else: test_output.py
    "questions": (SearchInput, "7 colon", [Key("escape", focus, "values-table")]),
    "the search": (SearchInput, "5 slash", [Key("escape", focus, "rewrites-table")]),
    "help": (
        HelpScreen,
        "2 question_mark",
        [
            Key(key, lambda app: isinstance(app.screen, HelpScreen), False, back="question_mark")
            for key in ("escape", "q", "question_mark", "enter")
        ],
    ),
}
ELSEWHERE = {
    **dict.fromkeys(("c", "equals_sign"), "test_player.py: computing; plus without shift"),
    "ctrl+z": "test_tmux.py: only a real terminal can suspend",
    **dict.fromkeys(("s", "l", "escape", "q"), "test_live.py: leaving while a script runs"),
}


def looks(app, keys):
    """Return all that the keys of a part change, so that two looks at one application can be compared."""
    return app.state, type(app.screen), app.focused and app.focused.id, [_seen(key, app) for key in keys]


def _seen(key, app):
    try:
        return key.seen(app)
    except (AttributeError, NoMatches):  # there is only after what comes before the key
        return None


async def go(keys, pilot):
    """Press keys one after the other."""
    await pilot.press(*keys.split())


async def pressed(key, app, pilot, name):
    """Press a key after its preceding keys, and check its effect."""
    await go(key.before, pilot)
    found = key.seen(app)
    await pilot.press(key.keys)
    then = key.seen(app)
    assert then != found or key.expected is not CHANGED, f"{key.keys} of {name} changes nothing"
    assert key.expected is CHANGED or then == key.expected, key.keys


@pytest.mark.parametrize("name", PARTS)
def test_every_key_changes_the_screen_or_the_state(name):
    """One application serves many keys: another one is opened where a key leaves something that the state does not hold."""
    _, begin, keys = PARTS[name]
    waiting = list(reversed(keys))

    async def run():
        async with opened(size=SIZES.get(name, (80, 24))) as (app, pilot):
            app.state = app.state.at_step(3).at_rewrite(2)
            await go(begin, pilot)
            first = app.state
            as_begun = looks(app, keys)
            while waiting:
                key = waiting.pop()
                await pressed(key, app, pilot, name)
                if not app._exit:
                    await go(key.back, pilot)
                    app.state = first
                    await pilot.pause()
                    if (
                        " " not in begin and looks(app, keys) != as_begun
                    ):  # a key that chooses, and toggles nothing
                        await go(begin, pilot)
                if app._exit or looks(app, keys) != as_begun:
                    break

    while waiting:
        asyncio.run(run())


@pytest.mark.parametrize("name", PARTS)
def test_every_key_has_a_test(name):
    kind, _, keys = PARTS[name]
    bound = {
        key for binding in kind.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
    }
    assert bound - set(ELSEWHERE) <= {each.keys for each in keys}


@pytest.mark.parametrize("name", PARTS)
def test_every_key_is_explained_in_a_sentence(name):
    kind = PARTS[name][0]
    for binding in kind.BINDINGS:
        if isinstance(binding, Binding):
            assert is_explained(kind, binding) or binding.description == "stay", (name, binding.key)


def test_every_part_with_keys_is_listed():
    from textual.widget import Widget

    def below(kind):
        for subclass in kind.__subclasses__():
            yield subclass
            yield from below(subclass)

    ours = {
        each
        for each in below(Widget)
        if each.__module__.startswith("scanviz.tui.") and "BINDINGS" in vars(each)
    }
    assert {each for each in ours if each.BINDINGS} <= {kind for kind, _, _ in PARTS.values()} | {LeaveScreen}


SEARCHED = {
    "Profile": "h",
    "Steps": "9 of",  # steps 9, 19 and so on; why a step was kept depends on times
    "Graph": "h",
    "Variables": "t",
    "Rewrites": "co",
    "Source": "records",
    "Values": "h",
}


@waits
async def test_n_cycles_through_the_matches_of_slash():
    async with opened() as (app, pilot):
        first = app.state
        for title, searched in SEARCHED.items():
            app.state = first  # whatever was found in another tab
            await found_and_round_again(app, pilot, title, searched)


async def found_and_round_again(app, pilot, title, searched):
    keys = ["space" if letter == " " else letter for letter in searched]
    await pilot.press(NUMBERS[title], "slash", *keys, "enter")
    await pilot.pause()
    found = app.view.found
    assert len(found) > 1, title
    assert all(searched in app.view.rows()[each].casefold() for each in found)
    places = []
    for key in ["n"] * len(found) + ["N"]:
        places.append(found[app.view.found_at])
        await pilot.press(key)
    assert places == [*found, found[0]], title
    assert found[app.view.found_at] == found[-1]
    table = app.view.table()
    if table is not None:
        assert len(table.order) == len(found) and "escape shows all" in text_of(app, "#title")
        await pilot.press("escape")
        assert len(table.order) == len(table.all_rows) and "escape" not in text_of(app, "#title")


@waits
async def test_the_tree_is_searched_when_it_has_the_focus():
    async with opened() as (app, pilot):
        await pilot.press("t", "slash", *"grad", "enter")
        await pilot.pause()
        assert focus(app) == "tree" and app.state.loop_record.name == "grad_of_rnn"
        await pilot.press("slash", *"rnn", "enter", "n")
        first = app.state.loop
        await pilot.pause()
        await pilot.press("n")
        await pilot.pause()
        assert app.state.loop != first


@waits
async def test_every_command_of_the_palette_can_be_given():
    async with opened() as (app, pilot):
        own = [command for command in app.get_system_commands(app.screen) if command.help.startswith("key ")]
        assert len(own) > 30 and len({each.title for each in own}) == len(own)
        for title in (
            "Steps: slowest",
            "Values: watch",
            "Graph: open/close loops",
            "Table: sort",
            "Next rewrite",
            "Filter",
        ):
            assert title in [each.title for each in own]
        for each in own:
            each.callback()
            await pilot.pause()
            for box in app.query(SearchInput):
                box.action_close()
        if app.query_one(ValuesView).plays:  # or else it came to the end meanwhile
            next(each for each in own if each.title == "Values: play").callback()
        await pilot.pause()
        app.action_view(1)
        app.state = app.state.at_step(0)
        next(each for each in own if each.title == "Steps: first NaN").callback()
        await pilot.pause()
        assert app.state.step == 7
