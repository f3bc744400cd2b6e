"""scanviz graph, as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import command
from tests.cli.scripts import RUN_ONCE

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = f"""{RUN_ONCE}
import sys
print("from the script")
if sys.argv[1:] == ["fail"]:
    raise ValueError("no")
"""


def scanviz(folder, *arguments):
    return command(*arguments, cwd=folder, PYTHONIOENCODING="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph")
    (path / "script.py").write_text(SCRIPT)
    assert scanviz(path, "profile", "-q", "-o", "kept.scanviz", "script.py").returncode == 0
    return path


def test_a_script_is_drawn_in_characters_and_its_output_goes_to_standard_error(folder):
    done = scanviz(folder, "graph", "script.py")
    assert done.returncode == 0
    assert "╔═ loop rnn" in done.stdout and "tanh" in done.stdout
    assert "from the script" not in done.stdout and "from the script" in done.stderr


def test_a_failing_script_still_gets_its_picture_and_exit_code(folder):
    done = scanviz(folder, "graph", "script.py", "fail")
    assert done.returncode == 1 and "ValueError: no" in done.stderr
    assert "╔═ loop rnn" in done.stdout


def test_a_file_is_drawn_in_every_format(folder):
    for form in ("svg", "dot", "txt", "json", "graphml", "html"):
        done = scanviz(folder, "graph", "-o", f"x.{form}", "kept.scanviz")
        assert done.returncode == 0 and f"wrote x.{form}" in done.stderr, done.stderr
        assert "tanh" in (folder / f"x.{form}").read_text("utf-8")
    assert "laid out by" in scanviz(folder, "graph", "-o", "x.svg", "kept.scanviz").stderr


def test_a_loop_is_closed_by_its_name_and_others_stay_open(folder):
    def drawn(*options):
        done = scanviz(folder, "graph", *options, "kept.scanviz")
        assert done.returncode == 0, done.stderr
        return done.stdout

    one = drawn("--closed", "rnn")
    assert "╔═ loop rnn" not in one and "╔═ loop grad_of_rnn" in one and "closed: rnn" in one
    both = drawn("--closed", "rnn", "--closed=grad_of_rnn")
    assert "╔═ loop" not in both and "closed: rnn, grad_of_rnn" in both
    assert "╔═ loop rnn" not in drawn("--closed", "rnn", "--diff", "PushOutSeqScan")
    behind = scanviz(folder, "graph", "kept.scanviz", "--closed", "rnn", "--closed", "grad_of_rnn")
    assert behind.stdout == both
    unknown = scanviz(folder, "graph", "--closed", "rmn", "kept.scanviz")
    assert (
        unknown.returncode == 2 and "there is no loop `rmn`" in unknown.stderr and "`rnn`" in unknown.stderr
    )
    other = scanviz(folder, "graph", "--closed", "rnn", "--mappings", "kept.scanviz")
    assert other.returncode == 2 and "--closed and --mappings cannot be combined" in other.stderr


def test_graph_options_choose_loops_depth_types_and_ascii(folder):
    whole = scanviz(folder, "graph", "kept.scanviz").stdout
    one = scanviz(folder, "graph", "--scan", "rnn", "kept.scanviz").stdout
    assert "grad_of_rnn" in whole and "grad_of_rnn" not in one
    assert "╔═" not in scanviz(folder, "graph", "--depth", "0", "kept.scanviz").stdout
    assert "float64[?]" in scanviz(folder, "graph", "--types", "kept.scanviz").stdout
    assert scanviz(folder, "graph", "--ascii", "kept.scanviz").stdout.isascii()


def test_graph_draws_the_unrewritten_graph_and_the_changes_of_one_rewrite(folder):
    built = scanviz(folder, "graph", "--before", "--scan", "rnn", "kept.scanviz").stdout
    assert "dot" in built.split("tanh")[0]
    changed = scanviz(folder, "graph", "--diff", "PushOutSeqScan", "kept.scanviz").stdout
    assert "+ dot" in changed and "− dot" in changed
    assert scanviz(folder, "graph", "--diff", "0", "kept.scanviz").returncode == 0
    done = scanviz(folder, "graph", "--diff", "PushOutSeqScn", "kept.scanviz")
    assert done.returncode == 2 and "did you mean PushOutSeqScan?" in done.stderr


def test_graph_draws_unrolled_steps_connections_and_mappings(folder):
    unrolled = scanviz(folder, "graph", "--unrolled", "3", "kept.scanviz").stdout
    assert all(f"h[{k}]" in unrolled for k in range(3)) and "∂h[0]" in unrolled
    assert scanviz(folder, "graph", "--unrolled", "30", "kept.scanviz").returncode == 2
    drawn = scanviz(folder, "graph", "--unrolled", "30", "-o", "steps.svg", "kept.scanviz")
    assert drawn.returncode == 0 and "no run had more than 4 steps" in drawn.stderr
    assert "--whole" not in drawn.stderr  # which is refused:
    whole = scanviz(folder, "graph", "--unrolled", "30", "--whole", "-o", "steps.svg", "kept.scanviz")
    assert whole.returncode == 2 and "1 to 8" in whole.stderr
    valued = scanviz(folder, "graph", "--unrolled", "4", "--values", "script.py")
    for text in ("h[0] = (3,) 0.", "∂h before = (3,) 1 1 1  (from the cost: (3,) 1 1 1)"):
        assert text in valued.stdout
    assert "µs" not in valued.stdout
    for options, problem in ((["--unrolled", "2"], "no values of rnn were kept"), ([], "needs --unrolled")):
        refused = scanviz(folder, "graph", "--values", *options, "kept.scanviz")
        assert refused.returncode == 2 and problem in refused.stderr
    for options, problem in (
        (["--unrolled", "2", "--width", "600", "-o", "x.svg"], "--unrolled N --pixels N"),
        (["--pixels", "600", "-o", "x.svg"], "--pixels needs --unrolled"),
        (["--unrolled", "2", "--pixels", "600"], "-o x.svg or x.png or x.html"),
    ):
        refused = scanviz(folder, "graph", *options, "kept.scanviz")
        assert refused.returncode == 2 and problem in refused.stderr
    other = scanviz(folder, "graph", "--unrolled", "3", "--open", "rnn", "kept.scanviz")
    assert other.returncode == 2 and "--open and --unrolled cannot be combined" in other.stderr
    matrix = scanviz(folder, "graph", "--connections", "--scan", "rnn", "kept.scanviz").stdout
    assert "●" in matrix and "n_steps" in matrix
    path = scanviz(folder, "graph", "--connections=h,h", "--scan", "rnn", "kept.scanviz").stdout
    assert "h[t-1]" in path and "tanh" in path
    done = scanviz(folder, "graph", "--connections=nothing,h", "--scan", "rnn", "kept.scanviz")
    assert done.returncode == 2 and "has no outer input" in done.stderr
    mappings = scanviz(folder, "graph", "--mappings", "--scan", "rnn", "kept.scanviz").stdout
    done = scanviz(folder, "graph", "--mappings", "--dark", "-o", "maps.svg", "kept.scanviz")
    assert done.returncode == 0 and "#0d1117" in (folder / "maps.svg").read_text("utf-8")
    done = scanviz(folder, "graph", "--film", "-o", "film.svg", "kept.scanviz")
    assert done.returncode == 0 and "frames" in done.stderr
    assert mappings.splitlines()[1].split("  ")[0] == "outer inputs"


def test_a_path_is_drawn_for_the_loop_that_has_both_ends(folder):
    assert "tanh" in scanviz(folder, "graph", "--connections=h,h", "kept.scanviz").stdout
    assert "result ∂h" in scanviz(folder, "graph", "--connections=∂h,∂h", "kept.scanviz").stdout


def test_options_may_stand_behind_a_file(folder):
    before = scanviz(folder, "graph", "--scan", "rnn", "--depth", "0", "kept.scanviz")
    after = scanviz(folder, "graph", "kept.scanviz", "--scan", "rnn", "--depth", "0")
    assert before.returncode == after.returncode == 0 and before.stdout == after.stdout
    two = scanviz(folder, "graph", "kept.scanviz", "other.scanviz")
    assert two.returncode == 2 and "takes one FILE, found 'other.scanviz' too" in two.stderr


def test_a_closed_pipe_is_no_error(folder):
    command = f"{sys.executable} -m scanviz graph kept.scanviz | head -n 2"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, timeout=300)
    assert done.stdout.decode().startswith("train\n") and b"Traceback" not in done.stderr
