"""`scanviz rewrites --verify`, `--bisect` and `--ablate` in real processes."""

import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np, scanviz
from scanviz import tensor as T
x, w = T.matrix("x"), T.matrix("w")
h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), w, name="rnn")
f = scanviz.function([x, w], [h[-1], scanviz.grad(T.sum(h[-1]), w)], name="train")
for _ in range(3):
    f(np.ones((4, 2)), np.ones((2, 3)))
print("done")
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "rnn.py").write_text(SCRIPT)

    def scanviz_(*arguments):
        command = [sys.executable, "-m", "scanviz", "rewrites", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return scanviz_


def test_values_and_gradients_are_compared_on_the_inputs_of_the_script(run):
    done = run("--verify", "--bisect", "rnn.py")
    assert done.returncode == 0 and done.stdout == "done\n"
    assert "train, on the inputs of one of its calls (3 in all)" in done.stderr
    assert (
        "values agree before and after each rewrite" in done.stderr and "gradients agree after" in done.stderr
    )
    assert "no rewrite changed a value" in done.stderr


def test_the_effect_of_each_rule_is_measured(run):
    done = run("--ablate", "--budget", "1", "rnn.py")
    assert done.returncode == 0, done.stderr
    for text in ("without", "quartiles", "no rewrites at all", "PushOutSeqScan"):
        assert text in done.stderr


def test_a_saved_profile_cannot_be_run_again(run, tmp_path):
    command = [sys.executable, "-m", "scanviz", "profile", "-q", "rnn.py"]
    profile = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    assert profile.returncode == 0
    done = run("--verify", "rnn.scanviz")
    assert done.returncode == 2 and "takes a SCRIPT, not a saved profile" in done.stderr
