"""`scanviz rewrites --ablate` in real processes, and measured output in a terminal."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from scanviz.record.storage.file import load
from tests.cli.measured_scripts import SCRIPT, runner


@pytest.fixture
def run(tmp_path):
    return runner(tmp_path)


def test_ablating_a_wrong_rule_changes_the_results(run):
    done = run("--ablate", "--budget", "1", "--function", "f", "wrong.py")
    assert done.returncode == 1
    assert "without wrong the results are not the same" in done.stderr
    assert "without all of them the results are not the same" in done.stderr
    assert "without merge_equal the results" not in done.stderr


def test_the_effect_of_each_rule_is_measured(run):
    done = run("--ablate", "--budget", "1", "rnn.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    lines = done.stderr.splitlines()
    assert "as it is: " in lines[2] and "peak memory" in lines[2]
    assert lines[3].split() == [
        "without",
        "a",
        "call",
        "with",
        "it",
        "ratio",
        "quartiles",
        "peak",
        "ratio",
        "range",
    ]
    for rule in ("PushOutSeqScan", "all of them"):
        (row,) = [line for line in lines if line.startswith(f"  {rule} ")]
        assert re.search(
            r" ([\d.]+|noise) +[\d.]+–[\d.]+ +[\d.]+ (B|KiB) +([\d.]+|same) +[\d.]+–[\d.]+$", row
        )


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_stays_within_the_terminal(run, tmp_path, columns):
    ours, theirs = pty.openpty()
    set_size(theirs, columns)
    command = [sys.executable, "-m", "scanviz", "rewrites", "--ablate", "--budget", "1", "rnn.py"]
    plain = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    environment = {**plain, "NO_COLOR": "1"}
    with subprocess.Popen(command, cwd=tmp_path, stderr=theirs, stdout=subprocess.DEVNULL, env=environment):
        os.close(theirs)
        lines = read_all(ours).splitlines()
    assert max(map(len, lines)) <= columns
    (heading,) = [line for line in lines if "quartiles" in line]
    assert ("with it" in heading) == (columns == 120)


def set_size(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def test_ablation_can_be_restricted_to_one_rule_or_loop(run):
    rule = run("--ablate", "--budget", "1", "--rule", "PushOutSeqScan", "rnn.py").stderr
    assert "PushOutSeqScan" in rule and "all of them" not in rule and "ScanSaveMem" not in rule
    loop = run("--ablate", "--budget", "1", "--scan", "grad_of_rnn", "rnn.py").stderr
    assert "PushOutDot1" in loop and "all of them" not in loop
    none = run("--ablate", "--budget", "1", "--rule", "split_factorisation", "rnn.py")
    assert none.returncode == 0 and "there is no rewrite to leave out" in none.stderr


SLOW = SCRIPT.replace("np.ones((4, 2))", "np.ones((20_000, 2))")


def test_an_interrupt_shows_finished_measurements_without_a_traceback(run, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "scanviz", "rewrites", "--ablate", "--budget", "600", "slow.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    seen = ""
    while "measuring" not in seen and process.poll() is None:
        seen += process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=300)
    assert process.returncode == 130
    assert rest.endswith("scanviz: interrupted; the results above are complete\n") and "Traceback" not in rest


def test_colours_are_for_terminals_and_can_be_switched_off(run, tmp_path):
    for environment, colored in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "scanviz", "rewrites", "--verify", "rnn.py"]
        plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        with subprocess.Popen(
            command, cwd=tmp_path, stderr=theirs, stdout=subprocess.DEVNULL, env={**plain, **environment}
        ):
            os.close(theirs)
            text = read_all(ours)
        assert "values agree" in text and ("\x1b[" in text) == colored


def read_all(terminal):
    found = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # closed at the other end
            return found.decode()
        if not data:
            return found.decode()
        found += data


def profile_of(folder):
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-m", "scanviz", "profile", "-q", "-o", "kept.scanviz", "rnn.py"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=300)
    return folder / "kept.scanviz"


def test_measured_effects_are_saved_in_a_profile_and_shown_with_each_rewrite(run, tmp_path):
    (tmp_path / "rnn.py").write_text(SCRIPT)
    kept = profile_of(tmp_path)
    for rule in ("PushOutSeqScan", "PushOutDot1"):  # the second keeps the effect of the first
        done = run("--ablate", "--budget", "1", "--rule", rule, "--into", "kept.scanviz", "rnn.py")
        assert done.returncode == 0 and "put into kept.scanviz" in done.stderr
    record = load(kept)
    rewrites = next(function.rewrites for function in record.functions if function.name == "train")
    assert [each.rule for each in rewrites.effects] == ["PushOutSeqScan", "PushOutDot1"]
    effect = rewrites.effect("PushOutSeqScan")
    assert 0 < effect.low <= effect.ratio <= effect.high and effect.rounds >= 5 and effect.with_ns > 0
    shown = run("--step", "9", "kept.scanviz").stdout + run("kept.scanviz").stdout
    assert " ".join(effect.words().split()) in " ".join(shown.split())
