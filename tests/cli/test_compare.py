"""`scanviz compare` and `scanviz profile --repeat` as one types them, in real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from scanviz.cli import main
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load, save
from tests.cli.commands import command
from tests.profiler.compare.test_compare import SLOW_DOT, repeated, run

SCRIPT = """
import sys, os
import numpy as np, scanviz
from scanviz import tensor as T
x, w = T.matrix("x"), T.matrix("w")
def step(x_t, h, w):
    a = T.dot(x_t, w)
    return T.tanh(a + h)
h, _ = scanviz.scan(step, x, T.zeros(3), w, name="rnn")
f = scanviz.function([x, w], h[-1], name="train")
print("read", sys.stdin.readline().strip(), *sys.argv[1:])
for _ in range(5):
    f(np.ones((20, 2)), np.ones((2, 3)))
with open("counted", "a") as stream:
    stream.write("x")
if "fail" in sys.argv and os.path.getsize("counted") == 2:
    sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rnn.py").write_text(SCRIPT)
    (tmp_path / "given").write_text("a line\n")
    return tmp_path


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with (folder / "given").open() as given:
        return command(*arguments, cwd=folder, stdin=given, COLUMNS="80", NO_COLOR="1")


def saved(folder: Path, **records: ProfileRecord) -> list[str]:
    for name, record in records.items():
        save(record, folder / f"{name}.scanviz")
    return [f"{name}.scanviz" for name in records]


def test_repeats_are_runs_of_the_program_in_fresh_processes_in_one_profile(folder: Path) -> None:
    done = typed(folder, "profile", "--repeat", "3", "--detail", "ops", "rnn.py", "some", "--repeat")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "read a line some --repeat\n"  # of the first run alone
    assert (folder / "counted").read_text() == "xxx"
    assert "The first of 3 runs" in done.stderr
    record = load(folder / "rnn.scanviz")
    assert [repeat.arguments for repeat in (record, *record.repeats)] == [("some", "--repeat")] * 3
    assert [repeat.detail for repeat in record.repeats] == ["ops", "ops"]
    assert record.functions[0].graph is not None
    for repeat in record.repeats:
        assert repeat.functions[0].graph is None
        assert repeat.functions[0].calls == 5
        assert repeat.loops[0].steps == 100
        assert repeat.loops[0].step_times.count == 100
    assert len({repeat.loops[0].total_ns for repeat in (record, *record.repeats)}) > 1
    compared = typed(folder, "compare", "rnn.scanviz", "rnn.scanviz", "--fail-over", "1%")
    assert compared.returncode == 0, compared.stderr
    assert "A: 3 runs" in compared.stdout
    assert "no difference was found" in compared.stdout


def test_each_run_reads_the_same_input(folder: Path) -> None:
    (folder / "rnn.py").write_text(
        SCRIPT.replace("print(", "print(file=sys.stderr, *(").replace("[1:])", "[1:]))")
    )
    done = typed(folder, "profile", "-q", "--repeat", "2", "rnn.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("read a line") == 2


def test_each_repeated_run_reads_the_same_piped_input(folder: Path) -> None:
    (folder / "rnn.py").write_text(
        SCRIPT.replace("print(", "print(file=sys.stderr, *(").replace("[1:])", "[1:]))")
    )
    read, write = os.pipe()
    os.write(write, b"through a pipe\n")  # its end is not reported: nothing asks for it
    with open(read) as given:
        done = command("profile", "-q", "--repeat", "3", "rnn.py", cwd=folder, stdin=given)
    os.close(write)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("read through a pipe") == 3


def test_a_failing_run_ends_the_series_with_its_exit_code(folder: Path) -> None:
    done = typed(folder, "profile", "--repeat", "4", "-o", "kept.scanviz", "rnn.py", "fail")
    assert done.returncode == 3
    assert "run 2 of 4 ended with exit code 3; the profile holds 1 run" in done.stderr
    assert load(folder / "kept.scanviz").repeats == ()
    assert (folder / "counted").read_text() == "xx"


def test_a_missing_program_leaves_no_profile(folder: Path) -> None:
    done = typed(folder, "profile", "--repeat", "2", "nowhere.py")
    assert done.returncode != 0
    assert done.stderr.count("nowhere.py") == 1
    assert not list(folder.glob("*.scanviz"))


def test_compare_fails_only_beyond_the_given_share(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = saved(folder, a=repeated(4, jitter=0.01), b=repeated(4, 9, jitter=0.01, times=SLOW_DOT))
    assert main(["compare", *names]) == 0
    assert main(["compare", *names, "--fail-over", "5%"]) == 1
    assert main(["compare", "--fail-over=50", *names]) == 1
    assert main(["compare", *names, "--fail-over", "150 %"]) == 0
    assert main(["compare", *reversed(names), "--fail-over", "0%"]) == 0
    assert main(["compare", names[0], names[0], "--fail-over", "0%"]) == 0
    capsys.readouterr()
    assert main(["compare", *names, "--fail-over", "5%", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["failed"] is True
    assert data["fail_over"] == 0.05
    failing = [(each["kind"], each["name"]) for each in data["rows"] if each["fails"]]
    assert ("operation", "dot(h[t-1], U)") in failing


def test_unlike_runs_are_compared_only_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = saved(folder, a=run(), b=replace(run(), arguments=("--layers", "2")))
    assert main(["compare", *names]) == 2
    text = capsys.readouterr()
    assert text.out == ""
    assert "arguments: A none, B --layers 2" in text.err
    assert main(["compare", "--anyway", *names, "--fail-over", "5"]) == 0
    shown = capsys.readouterr().out
    assert "not alike" in shown
    assert "no difference was found" in shown
    assert main(["compare", "--anyway", "--json", *names]) == 0
    assert [each["what"] for each in json.loads(capsys.readouterr().out)["unlike"]] == ["arguments"]


def test_text_fits_80_columns_of_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    times = SLOW_DOT | {"index{entries=(Entry(kind='integer', start='input', stop=None))}(E, x[t])": 9e3}
    names = saved(folder, a=run(), b=run(times))
    assert main(["compare", *names, "--fail-over", "5%"]) == 1
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "index{entries" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_finished_runs_are_kept_when_the_next_is_interrupted(tmp_path):
    import signal
    import time

    marks = tmp_path / "marks"
    marks.mkdir()
    (tmp_path / "slow.py").write_text(
        "import os, time, pathlib, scanviz\n"
        "from scanviz import tensor as T\n"
        "x = T.vector('x')\n"
        "s, _ = scanviz.scan(lambda a, b: a + b, x, 0.0, name='s')\n"
        "scanviz.function([x], s, name='f')([1.0, 2.0])\n"
        "mark = pathlib.Path('marks') / str(os.getpid())\n"
        "mark.touch()\n"
        "if len(list(mark.parent.iterdir())) > 1:\n"
        "    time.sleep(600)\n"
    )
    command = [
        sys.executable,
        "-m",
        "scanviz",
        "profile",
        "-q",
        "--repeat",
        "3",
        "-o",
        "kept.scanviz",
        "slow.py",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 300
    while len(list(marks.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130 and b"run 2 of 3 ended with exit code 130" in errors
    assert [loop.name for loop in load(tmp_path / "kept.scanviz").loops] == ["s"]


FASTER = SCRIPT.replace(
    "    a = T.dot(x_t, w)\n    return T.tanh(a + h)\n", "    return T.tanh(T.dot(x_t, w) + h)\n"
)


def test_two_scripts_run_in_turns_with_the_same_arguments(folder: Path) -> None:
    (folder / "edited.py").write_text(FASTER)
    done = typed(folder, "compare", "--run", "--rounds", "2", "rnn.py", "edited.py", "one", "--two")
    assert done.returncode == 0, done.stderr
    assert (folder / "counted").read_text() == "xxxx"
    assert "rnn.py one --two → edited.py one --two" in done.stdout
    assert "A: 2 runs" in done.stdout
    assert "in turns" in done.stdout
    assert not list(folder.glob("*.scanviz"))
    data = json.loads(
        typed(folder, "compare", "--run", "--json", "--rounds=2", "rnn.py x", "edited.py yy").stdout
    )
    assert data["in_turns"] is True
    assert data["a"]["arguments"] == ["x"] and data["b"]["arguments"] == ["yy"]
    assert data["unlike"] == []
    assert {row["verdict"] for row in data["rows"]} <= {"same", "no verdict", "slower", "faster"}
    assert [row["name"] for row in data["rows"] if row["kind"] == "loop"] == ["rnn"]


def test_a_program_that_fails_while_compared_is_reported_with_its_output(folder: Path) -> None:
    (folder / "wrong.py").write_text("raise SystemExit('no data here')")
    done = typed(folder, "compare", "--run", "rnn.py", "wrong.py")
    assert done.returncode == 2
    assert "B (wrong.py) ended with exit code 1: nothing is compared" in done.stderr
    assert "no data here" in done.stderr
