"""`scanviz check`, `scanviz profile --values` and `scanviz report --values` in real processes."""

import json
from pathlib import Path

import pytest

from scanviz.record.storage.file import load
from tests.cli.commands import command

RNN = """
import sys
import numpy as np, scanviz
from scanviz import tensor as T

x, w = T.matrix("x"), T.matrix("w")


def step(x_t, h, w):
    return T.tanh(h) + T.log(T.dot(h, w) + x_t + 2.0)


h, _ = scanviz.scan(step, x, T.zeros(3), w, name="rnn")
f = scanviz.function([x, w], h[-1], name="train")
data = np.zeros((1000, 3))
if "bad" in sys.argv:
    data[731, 1] = -40.0
print("before")
f(data, 0.1 * np.eye(3))
print("after")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "rnn.py").write_text(RNN)
    return tmp_path


def appended(folder: Path, text: str) -> None:
    (folder / "rnn.py").write_text(RNN + text)


def test_a_check_stops_at_the_first_nan_and_fails(script: Path) -> None:
    done = command("check", "rnn.py", "bad", cwd=script)
    assert done.returncode == 1
    assert done.stdout == "before\n"
    assert done.stderr.startswith("scanviz check: NaN in loop rnn at step 731\n")
    assert "rnn.py:10  return T.tanh(h) + T.log(T.dot(h, w) + x_t + 2.0)" in done.stderr
    assert "function   train, call 0" in done.stderr and "x[t]" in done.stderr
    assert "Traceback" not in done.stderr
    assert [each.name for each in script.iterdir()] == ["rnn.py"]


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_a_check_runs_functions_on_the_tier_of_its_option(script: Path, mode: str) -> None:
    appended(script, "print(f.backend)\n")
    done = command("check", "--mode", mode, "rnn.py", cwd=script)
    assert done.returncode == 0 and done.stdout == f"before\nafter\n{mode}\n"
    done = command("check", "--mode", mode, "rnn.py", "bad", cwd=script)
    assert done.returncode == 1 and "NaN in loop rnn at step 731" in done.stderr


def test_check_of_a_clean_script_exits_with_0_and_counts_calls_and_steps(script: Path) -> None:
    done = command("check", "rnn.py", cwd=script)
    assert done.returncode == 0 and done.stdout == "before\nafter\n"
    text = " ".join(done.stderr.split())  # lines are as wide as the terminal
    assert "nothing found in" in text and "1,000 steps of loops, 1 call" in text


def test_a_script_without_functions_is_reported(tmp_path: Path) -> None:
    done = command("check", "-c", "print(1)", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "1\n"
    assert "no scanviz function was called" in done.stderr


def test_a_script_that_fails_by_itself_keeps_its_exit_code(script: Path) -> None:
    appended(script, "sys.exit(7)\n")
    done = command("check", "rnn.py", cwd=script)
    assert done.returncode == 7 and "nothing found" in done.stderr
    appended(script, "raise ValueError('mine')\n")
    done = command("check", "rnn.py", cwd=script)
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr and "nothing found" in done.stderr
    assert "profiler" not in done.stderr  # no frames of scanviz


def test_a_script_that_catches_every_exception_fails_at_its_end(script: Path) -> None:
    text = RNN.replace(
        "f(data, 0.1 * np.eye(3))", "try:\n    f(data, 0.1 * np.eye(3))\nexcept BaseException:\n    pass"
    )
    (script / "rnn.py").write_text(text)
    done = command("check", "rnn.py", "bad", cwd=script)
    assert done.returncode == 1
    assert done.stdout == "before\nafter\n" and "at step 731" in done.stderr


def test_a_finding_in_a_thread_that_outlives_the_script_counts(script: Path) -> None:
    text = RNN.replace(
        "f(data, 0.1 * np.eye(3))",
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), f(data, 0.1 * np.eye(3)))).start()",
    )
    (script / "rnn.py").write_text(text)
    done = command("check", "rnn.py", "bad", cwd=script)
    assert done.returncode == 1
    assert done.stdout == "before\nafter\n" and "at step 731" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_prints_its_finding_as_json(script: Path) -> None:
    done = command("check", "--json", "rnn.py", "bad", cwd=script)
    assert done.returncode == 1 and done.stderr == ""
    data = json.loads(done.stdout.splitlines()[-1])
    assert data["finding"]["loops"][0]["step"] == 731
    assert data["finding"]["source"] == {
        "file": "rnn.py",
        "line": 10,
        "text": "return T.tanh(h) + T.log(T.dot(h, w) + x_t + 2.0)",
    }


def test_options_select_the_values_to_look_for(script: Path) -> None:
    assert command("check", "--inf", "rnn.py", "bad", cwd=script).returncode == 0
    assert command("check", "--nan", "rnn.py", "bad", cwd=script).returncode == 1
    big = command("check", "--big", "30", "rnn.py", "bad", cwd=script)
    assert big.returncode == 1 and "a number that is too big in loop rnn at step 731" in big.stderr
    both = command("check", "--dtype", "--shape", "rnn.py", "bad", cwd=script)
    assert both.returncode == 0 and both.stdout == "before\nafter\n"


def test_a_profile_with_values_is_saved_and_reported(script: Path) -> None:
    done = command("profile", "--values", "rnn.py", "bad", cwd=script)
    assert done.returncode == 0 and done.stdout == "before\nafter\n"
    assert "values are of a second computation" in " ".join(done.stderr.split())
    record = load(script / "rnn.scanviz")
    assert record.detail == "values"
    [trace] = record.traces
    assert 731 in trace.steps and trace.total_steps == 1000
    shown = command("report", "rnn.scanviz", "--values", cwd=script)
    assert shown.returncode == 0 and "first NaN: step 731" in shown.stdout
    assert "at step 731" in shown.stdout and "read t-1" in shown.stdout
    step = command("report", "--values", "--step", "0", "--scan", "rnn", "rnn.scanviz", cwd=script)
    assert "at step 0" in step.stdout
    asked = ["--values", "--step", "601", "--scan", "rnn", "rnn.scanviz"]
    assert "the nearest kept to step 601, which --recompute computes" in " ".join(
        command("report", *asked, cwd=script).stdout.split()
    )
    again = command("report", "--recompute", *asked, cwd=script)
    assert again.returncode == 0 and "at step 601\n" in again.stdout
    other = command("report", "--recompute", "--run", "1", *asked, cwd=script)
    assert other.returncode != 0 and "the inputs of run 1 of rnn are not in the record" in other.stderr
    ascii_only = command("report", "rnn.scanviz", "--values", cwd=script, PYTHONIOENCODING="ascii")
    assert ascii_only.returncode == 0 and ascii_only.stdout.isascii()


def test_a_pattern_without_a_matching_loop_is_reported(script: Path) -> None:
    done = command("profile", "--values=rmm*", "rnn.py", cwd=script)
    assert done.returncode == 1
    assert "no loop is named 'rmm*': no values; loops: rnn" in done.stderr
    assert load(script / "rnn.scanviz").traces == ()
    some = command("profile", "-q", "--values=r*", "rnn.py", cwd=script)
    assert some.stderr == "" and len(load(script / "rnn.scanviz").traces) == 1


@pytest.mark.parametrize("repeat", [(), ("--repeat", "1")])
def test_an_unknown_loop_is_an_error_and_the_whole_report_is_printed(
    script: Path, repeat: tuple[str, ...]
) -> None:
    done = command("profile", "--scan", "rmn", *repeat, "rnn.py", cwd=script)
    assert done.returncode == 1
    assert "is the slowest line" in done.stderr and "Saved " in done.stderr
    assert done.stderr.endswith("scanviz: there is no loop named 'rmn'; did you mean rnn?; loops: rnn\n")


def test_a_plain_profile_keeps_no_values(script: Path) -> None:
    assert command("profile", "-q", "rnn.py", cwd=script).returncode == 0
    record = load(script / "rnn.scanviz")
    assert record.traces == () and record.detail == "steps"
    shown = command("report", "rnn.scanviz", "--values", cwd=script)
    assert shown.returncode == 0 and "scanviz profile --values SCRIPT records them" in shown.stdout
