"""A script under live observation: real processes, which may end or be ended at any time."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from textual.widgets import Static

from scanviz.record.storage.file import load
from scanviz.tui.app import ScanvizApp
from scanviz.tui.around import EVERY
from scanviz.tui.asking import LeaveScreen
from scanviz.tui.model.live import LiveSource
from tests.tui.driver import PATIENCE, until_shown, waits

LOOP = """
import os, signal, sys, time
import numpy as np
import scanviz
from scanviz import tensor as T
x = T.vector("x")
h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros(()), name="rnn")
f = scanviz.function([x], h, name="run")
f(np.ones(50))
"""
WHEN_SEEN = """
while not os.path.exists("seen"):
    time.sleep(0.02)
"""
FOREVER = f"""{LOOP}
print("ready", flush=True)
while True:
    f(np.ones(50))
    time.sleep(0.02)
"""


@contextmanager
def running(folder, code, *options):
    (folder / "script.py").write_text(code)
    source = LiveSource([str(folder / "script.py")], folder / "script.scanviz", options)
    try:
        yield source
    finally:
        source.stop()
        source.close()


def until(condition, what):
    """Wait for something to become true."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"no {what} in {PATIENCE} s"
        time.sleep(0.02)


def ended(source):
    until(lambda: source.update() or source.finished, "end")
    until(lambda: source.finished or (source.update() and source.finished), "last record")


def printed(source):
    text = ""
    while more := source.output():
        text += more
    return text


def test_the_record_grows_while_the_script_runs_and_stays_when_it_has_ended(tmp_path):
    with running(tmp_path, FOREVER) as source:
        until(lambda: source.update() and source.record.loops, "loop")
        first = source.record.loops[0].steps
        assert source.status() == "running" and source.record.outcome.status == "running"
        until(lambda: source.update() and source.record.loops[0].steps > first, "further step")
        source.stop()
        ended(source)
        assert source.status() == "ended by SIGINT" and source.exit_code() == 130
        assert source.record.outcome.status == "interrupted"
        assert load(tmp_path / "script.scanviz").loops[0].steps == source.record.loops[0].steps > first
        source.close()
        assert str(tmp_path / "script.scanviz") in source.farewell()


def test_options_of_profile_are_passed_to_the_script_process(tmp_path):
    with running(tmp_path, LOOP, "--values=rnn", "--detail=ops") as source:
        ended(source)
        record = source.record
        assert record.detail == "values" and {trace.loop for trace in record.traces} == {record.loops[0].key}
        assert all(operation.samples > record.loops[0].steps // 2 for operation in record.loops[0].operations)


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        ("", "ended", 0),
        ("raise ValueError('no such thing')", "failed: ValueError: no such thing", 1),
        ("sys.exit(3)", "ended with exit code 3", 3),
        (f"{WHEN_SEEN}os._exit(4)", "ended with exit code 4", 4),
        (f"{WHEN_SEEN}os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL", 137),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(99)", "ended by SIGTERM", 143),
    ],
)
def test_the_record_is_saved_however_a_script_ends(tmp_path, end, status, code):
    with running(tmp_path, LOOP + end.replace('"seen"', repr(str(tmp_path / "seen")))) as source:
        if end.startswith(WHEN_SEEN):  # unreported events are lost when it is killed
            until(lambda: source.update() and [loop.steps for loop in source.record.loops] == [50], "loop")
            (tmp_path / "seen").touch()
        ended(source)
        assert (source.status(), source.exit_code()) == (status, code)
        assert [loop.name for loop in source.record.loops] == ["rnn"]
        saved = load(tmp_path / "script.scanviz")
        assert saved.loops[0].steps == 50 and saved.outcome.status != "running"
        assert (saved.outcome.code or 0) == code
        source.close()
        assert "saved " in source.farewell() and status in source.farewell()


def test_errors_are_printed_again_after_the_application(tmp_path):
    with running(
        tmp_path, LOOP + "print('the loss is \\x1b[31m17')\nraise ValueError('no such thing')"
    ) as source:
        ended(source)
        source.close()
        text = source.farewell()
        assert "the loss is 17" in text and "ValueError: no such thing" in text and "\x1b" not in text


def test_a_missing_script_leaves_no_files(tmp_path):
    source = LiveSource([str(tmp_path / "nothing.py")], tmp_path / "nothing.scanviz")
    ended(source)
    assert "nothing.py" in printed(source) and source.exit_code() == 2
    source.close()
    assert not (tmp_path / "nothing.scanviz").exists() and "no profile was saved" in source.farewell()


def test_an_earlier_profile_is_not_taken_for_this_runs(tmp_path):
    with running(tmp_path, LOOP) as source:
        ended(source)
    before = (tmp_path / "script.scanviz").read_bytes()
    with running(tmp_path, "import os; os._exit(5)") as source:
        ended(source)
        assert not source.was_saved() and (tmp_path / "script.scanviz").read_bytes() == before


def test_no_printed_output_is_lost(tmp_path):
    code = r"""
import os, sys
os.write(1, b"x" * 700_000)            # a line longer than what is read at once
os.write(1, b"\n")
os.write(2, "caf\u00e9 on stderr\n".encode())
os.write(1, b"\xff\xfe not UTF-8\n")
os.write(1, b"10 %\r20 %\r\n")
for k in range(40_000): print("line", k)
sys.stdout.write("no end of line")
"""
    with running(tmp_path, code) as source:
        text = ""
        while not source.finished:
            source.update()
            text += source.output()
        text += printed(source)
        lines = text.split("\n")
        assert lines[0] == "x" * 700_000 and lines[1] == "café on stderr"
        assert lines[2] == "\ufffd\ufffd not UTF-8" and lines[3] == "10 %\r20 %\r"
        assert lines[4:-1] == [f"line {k}" for k in range(40_000)] and lines[-1] == "no end of line"


def test_a_line_that_has_not_ended_is_seen_at_once(tmp_path):
    with running(tmp_path, "import sys, time\nsys.stdout.write('caf\\u00e9: ')\ntime.sleep(600)") as source:
        found = []
        until(lambda: found.append(source.output()) or "".join(found) == "café: ", "part of a line")


def test_a_script_reads_typed_input_and_its_end(tmp_path):
    code = """
print("name:", flush=True)
print("hello", input())
try:
    input()
except EOFError:
    print("no more")
"""
    with running(tmp_path, code) as source:
        found = []
        until(lambda: found.append(source.output()) or "name:" in "".join(found), "question")
        assert source.takes_input and source.write_input("Ada\n") == ""
        assert "too long" in source.write_input("x" * 100_000)
        until(lambda: found.append(source.output()) or "hello Ada" in "".join(found), "answer")
        source.end_input()
        assert not source.takes_input and "has ended" in source.write_input("x\n")
        ended(source)
        assert "no more" in printed(source)


def test_a_script_left_running_saves_its_profile_and_stops_reporting(tmp_path):
    flag = tmp_path / "go"
    code = f"""{LOOP}
while not os.path.exists({str(flag)!r}):
    f(np.ones(50)); time.sleep(0.02)
print("the end")
"""
    with running(tmp_path, code) as source:
        until(lambda: source.update() and source.record.loops, "loop")
        source.close()
        assert (
            source.running and str(source.process) in source.farewell() and not source._live_folder.exists()
        )
        flag.touch()
        source._process.wait(PATIENCE)
        assert load(tmp_path / "script.scanviz").outcome.status == "ok"
        assert source.printed.read_text() == "the end\n" and not source._live_folder.exists()


def test_ending_the_watcher_at_once_leaves_the_script_running_to_its_end(tmp_path):
    (tmp_path / "script.py").write_text(LOOP + "time.sleep(1.5); print('the end')")
    watcher = (
        "import os, pathlib, sys\nfrom scanviz.tui.model.live import LiveSource\n"
        "LiveSource([sys.argv[1]], pathlib.Path(sys.argv[2]))\n"
        "os.kill(os.getpid(), 9)"
    )
    saved = tmp_path / "script.scanviz"
    done = subprocess.run(
        [sys.executable, "-c", watcher, str(tmp_path / "script.py"), str(saved)], timeout=PATIENCE
    )
    assert done.returncode == -signal.SIGKILL and not saved.exists()
    until(saved.exists, "profile")
    assert load(saved).outcome.status == "ok" and load(saved).loops[0].steps == 50


def test_ctrl_c_of_the_terminal_does_not_reach_the_script(tmp_path):
    with running(tmp_path, FOREVER) as source:
        assert os.getpgid(source.process) == source.process != os.getpgrp()


# the application on a script that runs


@waits
async def watched(folder, code, steps):
    """Run the application on a script and do something with it."""

    with running(folder, code) as source:
        app = ScanvizApp(source)
        async with app.run_test(size=(120, 40)) as pilot:
            await steps(app, pilot, source)


def title(app):
    return str(app.query_one("#title", Static).render())


def test_the_tree_and_the_steps_grow_and_the_place_is_kept(tmp_path):
    async def steps(app, pilot, source):
        await until_shown(pilot, lambda: app.state.loop is not None, "loop")
        tree = app.query_one("#tree")
        assert "running" in title(app)
        await pilot.press("2")
        app.state = app.state.at_step(17)
        await pilot.pause()
        first, label = app.state.loop_record.steps, str(tree._by_key["loop", app.state.loop].label)
        nodes = dict(tree._by_key)
        await until_shown(pilot, lambda: app.state.loop_record.steps > first, "further step")
        assert app.state.step == 17 and app.view.TITLE == "Steps"
        assert tree._by_key == nodes  # the tree is not built anew
        await until_shown(pilot, lambda: str(tree._by_key["loop", app.state.loop].label) != label, "new time")

    watched(tmp_path, FOREVER, steps)


def test_the_application_stays_on_the_last_record_when_the_script_is_killed(tmp_path):
    async def steps(app, pilot, source):
        await until_shown(pilot, lambda: app.state.loop is not None, "loop")
        os.kill(source.process, signal.SIGKILL)
        await until_shown(pilot, lambda: "ended by SIGKILL" in title(app), "word of the end")
        assert app.state.loop_record.name == "rnn" and app.is_running
        await pilot.press("8")
        assert "ready" in app.view.rows()
        await pilot.press("q")
        assert not isinstance(app.screen, LeaveScreen)  # nothing runs: nothing to ask

    watched(tmp_path, FOREVER, steps)


def test_a_script_that_fails_at_once_shows_its_output(tmp_path):
    async def steps(app, pilot, source):
        await until_shown(pilot, lambda: app.view.TITLE == "Output", "output")
        await until_shown(
            pilot, lambda: any("ZeroDivisionError" in line for line in app.view.rows()), "error"
        )
        assert "failed: ZeroDivisionError" in title(app)

    watched(tmp_path, "1 / 0", steps)


@pytest.mark.parametrize(
    ("key", "stop", "leaves"), [("s", True, True), ("l", False, True), ("escape", False, False)]
)
def test_q_asks_before_leaving_a_running_script(tmp_path, key, stop, leaves):
    async def steps(app, pilot, source):
        await pilot.press("q")
        assert isinstance(app.screen, LeaveScreen)
        await pilot.press(key)
        await pilot.pause()
        assert app.stop_wanted is stop and app._exit is leaves and source.running

    watched(tmp_path, "import time; time.sleep(600)", steps)


def test_the_screen_is_notified_at_most_ten_times_a_second(tmp_path):
    async def steps(app, pilot, source):
        text = []
        take = source.output
        source.output = lambda: text.append(time.monotonic()) or take()

        def slow_enough():  # where the machine stands still for a while some are late, and the next follow at once
            lately = text[-5:]
            return len(lately) == 5 and lately[-1] - lately[0] > 3.5 * EVERY

        await until_shown(pilot, slow_enough, "pause between two looks")
        assert EVERY >= 0.1

    watched(tmp_path, FOREVER, steps)


def test_updates_arrive_while_help_or_a_question_is_open(tmp_path):
    async def steps(app, pilot, source):
        await until_shown(pilot, lambda: app.state.loop is not None, "loop")
        for key in ("question_mark", "q"):
            await pilot.press(key)
            assert len(app.screen_stack) == 2
            first = app.state.loop_record.steps
            await until_shown(pilot, lambda first=first: app.state.loop_record.steps > first, "further step")
            await pilot.press("escape")
        assert app.is_running and len(app.screen_stack) == 1

    watched(tmp_path, FOREVER, steps)
