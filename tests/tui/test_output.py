"""The tab Output on a simulated script: its output, its input, and searches by keys."""

from scanviz.record.model import ProfileRecord
from scanviz.tui.app import ScanvizApp
from scanviz.tui.model.source import Source
from scanviz.tui.views.output import PrintedPane
from tests.support.idle import unseen
from tests.tui.driver import waits


class Played(Source):
    """A script that runs as long as one likes."""

    live = running = takes_input = True
    finished = False

    def __init__(self):
        super().__init__(ProfileRecord(script="played.py"), "played.scanviz")
        self.texts, self.taken = [], []

    def output(self):
        return self.texts.pop(0) if self.texts else ""

    def status(self):
        return "running"

    def write_input(self, text):
        self.taken.append(text)
        return ""

    def end_input(self):
        self.takes_input = False


@waits
async def played(steps, size=(80, 24)):
    """Open the tab on a script and do something with it."""

    app = unseen(ScanvizApp(Played()))
    async with app.run_test(size=size) as pilot:
        app.news.stop()  # output arrives on the test's request
        await pilot.press("8")
        await steps(app, pilot, app.query_one(PrintedPane))


async def feed(app, pilot, text):
    app.source.texts.append(text)
    app.news.take()
    await pilot.pause()


def screen(app):
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def test_the_output_follows_its_end_except_while_scrolled_up():
    async def steps(app, pilot, pane):
        await feed(app, pilot, "".join(f"line {k}\n" for k in range(100)))
        assert pane.follows and "line 99" in screen(app) and "running · 100 lines" in screen(app)
        await pilot.press("g")
        await feed(app, pilot, "line 100\n")
        assert pane.scroll_offset.y == 0 and "line 0" in screen(app)
        assert f"{pane.size.height} of 101" in screen(app)
        await pilot.press("G")
        await feed(app, pilot, "line 101\n")
        assert pane.follows and "line 101" in screen(app)

    played(steps)


def test_the_end_stays_in_sight_in_a_smaller_window():
    async def steps(app, pilot, pane):
        await feed(app, pilot, "".join(f"line {k}\n" for k in range(100)))
        await pilot.resize_terminal(80, 15)
        await pilot.pause()
        assert pane.follows and "line 99" in screen(app)

    played(steps)


def test_a_progress_bar_is_one_line_that_changes():
    async def steps(app, pilot, pane):
        await feed(app, pilot, "epoch 1\n 10 %|#         |")
        await feed(app, pilot, "\r 20 %|##        |")
        assert app.view.rows() == ["epoch 1", " 20 %|##        |"]
        assert " 20 %|##" in screen(app) and " 10 %" not in screen(app)

    played(steps)


def test_a_typed_line_reaches_the_script_and_is_echoed():
    async def steps(app, pilot, pane):
        await feed(app, pilot, "(Pdb) ")
        await pilot.press("enter", *"p q 8", "enter")
        await pilot.pause()
        assert app.source.taken == ["p q 8\n"] and app.view.rows() == ["(Pdb) p q 8"]
        assert app.focused is pane and app.view.TITLE == "Output"  # 8 and q were letters
        assert "enter writes a line to it" in screen(app)
        await pilot.press("D")
        await pilot.pause()
        assert not app.source.takes_input and "enter writes a line to it" not in screen(app)

    played(steps)


def test_errors_and_search_matches_are_found():
    async def steps(app, pilot, pane):
        trouble = "Traceback (most recent call last):\n  File 'a'\nValueError: no such thing\n"
        await feed(app, pilot, "fine\n" * 50 + trouble + "fine\n" * 50 + "KeyError: 'x'\n" + "fine\n" * 50)
        for key, line in (("e", 50), ("e", 52), ("e", 103), ("e", 50), ("E", 103)):
            await pilot.press(key)
            assert app.view.found[app.view.found_at] == line, key
            assert pane.found == line
            assert pane.scroll_offset.y <= line < pane.scroll_offset.y + pane.size.height
        await pilot.press("slash", *"such", "enter")
        await pilot.pause()
        assert app.view.found == [52] and pane.wanted == "such" and "no such thing" in screen(app)

    played(steps)


@waits
async def test_a_saved_profile_shows_the_whole_message_about_missing_output():
    app = ScanvizApp(Source(ProfileRecord(script="saved.py"), "saved.scanviz"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("8")
        await pilot.pause()
        assert "while the script\n runs." in screen(app)
