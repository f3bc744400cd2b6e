"""`scanviz rewrites` in real processes."""

import json
import re
from pathlib import Path

from tests.cli.commands import command
from tests.cli.scripts import folder_of_script  # noqa: F401  # the fixture is used by name

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FUSED = """
import numpy as np, scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import register
from tests.support.arena_tier import ArenaTier
x, w = T.matrix("x"), T.matrix("w")
h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t) * 2.0, x, T.zeros(3), w, name="rnn")
register("arena", ArenaTier)
f = scanviz.function([x, w], h, mode="arena")
f(np.ones((4, 3)), np.ones((3, 3)))
"""


def test_a_script_is_run_and_its_rewrites_are_listed(script):
    done = command("rewrites", "rnn.py", cwd=script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ran (3,)\n"
    assert "train: " in done.stderr and "PushOutDot1" in done.stderr and "operations a step" in done.stderr
    assert not list(script.glob("*.scanviz"))


def test_a_saved_profile_is_read(script):
    assert command("profile", "-q", "rnn.py", cwd=script).returncode == 0
    listed = command("rewrites", "rnn.scanviz", cwd=script)
    assert listed.returncode == 0 and "PushOutSeqScan" in listed.stdout
    data = json.loads(command("rewrites", "--json", "rnn.scanviz", cwd=script).stdout)
    assert data[0]["function"] == "train"
    assert {"lines", "applications", "refusals", "origins"} <= set(data[0]["rewrites"])
    step = next(
        each["index"] for each in data[0]["rewrites"]["applications"] if each["rule"] == "PushOutSeqScan"
    )
    diff = command("rewrites", "rnn.scanviz", "--step", str(step), cwd=script)
    assert "  - " in diff.stdout and "  + " in diff.stdout and "lines stay" in diff.stdout
    again = command("rewrites", "--step", str(step), "rnn.scanviz", cwd=script)
    assert again.stdout == diff.stdout


def test_functions_never_called_are_listed_and_their_absence_is_mentioned(script):
    with (script / "rnn.py").open("a") as file:
        file.write("scanviz.function([x], T.exp(x) + T.exp(x), name='unused')\n")
    done = command("rewrites", "rnn.py", cwd=script)
    assert re.search(r"^unused: 1 rewrite by 1 rule, .*, never called$", done.stderr, re.MULTILINE)
    assert "train: " in done.stderr and "never called" not in done.stderr.split("unused")[0]
    (script / "none.py").write_text("print('hi')\n")
    none = command("rewrites", "none.py", cwd=script)
    assert (none.returncode, none.stdout, none.stderr) == (0, "hi\n", "no function was built\n")


def test_rewrites_answers_why_and_why_not(script):
    why = command("rewrites", "--why", "5", "rnn.py", cwd=script)
    assert "  written at rnn.py:5" in why.stderr
    why_not = command("rewrites", "--why-not", "scan_merge_inouts", "--scan", "rnn", "rnn.py", cwd=script)
    assert "no two results of `rnn` are equal at every step" in why_not.stderr


def test_rewrites_lists_fused_groups_with_refusals(tmp_path):
    (tmp_path / "fused.py").write_text(FUSED)
    done = command("rewrites", "--scan", "rnn", "fused.py", cwd=tmp_path)
    assert (
        "fuse_elementwise" in done.stderr and "3 operations done in 1 group, 2 results never" in done.stderr
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    why_not = command("rewrites", "--why-not", "fuse_elementwise", str(tmp_path / "fused.py"), cwd=elsewhere)
    assert "`dot`, which is not elementwise, gives it" in why_not.stderr
    assert "in the step of `rnn` (fused.py:7)" in why_not.stderr
    printed = command("program", "--scan", "rnn", "fused.py", cwd=tmp_path)
    assert "    as one\n" in printed.stdout and "never in memory" in printed.stdout


def test_a_script_that_fails_still_shows_its_rewrites(script):
    with (script / "rnn.py").open("a") as file:
        file.write("raise ValueError('later')\n")
    done = command("rewrites", "rnn.py", cwd=script)
    assert done.returncode == 1
    assert "ValueError: later" in done.stderr and "PushOutDot1" in done.stderr


def test_all_rules_are_listed(tmp_path):
    done = command("rewrites", "--rules", cwd=tmp_path)
    assert done.returncode == 0
    for name in (
        "PushOutNonSeqScan",
        "ScanInplaceOptimizer",
        "Make one of states and results of a loop that are equal at every step.",
    ):
        assert name in done.stdout


def test_unknown_names_are_reported_with_the_known_ones(script):
    assert command("profile", "-q", "rnn.py", cwd=script).returncode == 0
    for option, message in (
        ("--scan=rn", "no loop named 'rn'; did you mean rnn?; loops: rnn, grad_of_rnn"),
        ("--function=tra", "no function named 'tra'; did you mean train?; functions: train"),
    ):
        of_file = command("rewrites", option, "rnn.scanviz", cwd=script)
        assert of_file.returncode == 2 and message in of_file.stderr and not of_file.stdout
        of_script = command("rewrites", option, "rnn.py", cwd=script)
        assert of_script.returncode == 0 and of_script.stdout == "ran (3,)\n"
        assert of_script.stderr.strip() == f"scanviz: there is {message}"


def test_costs_before_and_after_are_shown_in_named_sizes(script):
    done = command("rewrites", "--rule", "PushOutSeqScan", "--costs", "rnn.py", cwd=script)
    assert done.returncode == 0
    lines = [line.strip() for line in done.stderr.splitlines()]
    place = lines.index("operations of a step")
    before, after = re.match(r"loop `\w+`: (\d+) → (\d+) operations a step, ", lines[place + 1]).groups()
    assert int(after) < int(before)
    place = next(k for k, line in enumerate(lines) if line.startswith("operations, those of a step"))
    assert lines[place + 1].startswith("before  ") and lines[place + 2].startswith("after   ")
    refused = command("rewrites", "--costs", "--tree", "rnn.py", cwd=script)
    assert refused.returncode == 2 and "cannot be combined" in refused.stderr


def test_every_process_shows_the_same_change(script):
    shown = []
    for seed in ("1", "2"):
        done = command("rewrites", "--step", "2", "--tree", "rnn.py", cwd=script, PYTHONHASHSEED=seed)
        assert done.returncode == 0 and "  + " in done.stderr
        shown.append(re.sub(r"[\d.]+ (ns|µs|ms|s)\b", "TIME", done.stderr))
    assert shown[0] == shown[1]


def test_the_power_and_lstm_examples_show_the_gain_of_rewrites():
    power = command("rewrites", str(EXAMPLES / "power.py"), cwd=EXAMPLES)
    assert "keeps only its last row" in power.stderr and "rows kept" in power.stderr
    lstm = command("rewrites", "--function", "train", str(EXAMPLES / "train_char_lstm.py"), cwd=EXAMPLES)
    text = " ".join(lstm.stderr.split())
    assert "loop `grad_of_lstm`" in text and "products added up in the loop are one product after it" in text
