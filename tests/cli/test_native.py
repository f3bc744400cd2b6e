"""`scanviz native` in processes of its own."""

import pytest

from scanviz.engine.backends.registry import availability
from tests.cli.commands import command

if not availability("native").works:
    pytest.skip(availability("native").why, allow_module_level=True)

SCRIPT = """
import numpy as np, scanviz
from scanviz import tensor as T
x, a = T.matrix("x"), T.tensor("float64", (None, 2, 2), "a")
h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros(3), name="chain")
k, _ = scanviz.scan(lambda a_t, k: T.linalg.pinv(a_t + k * 0.1), a, T.eye(2), name="inverse")
scanviz.function([x, a], [h, k])(np.ones((4, 3)), np.ones((2, 2, 2)) + np.eye(2))
print("ran")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    return tmp_path


def test_the_code_is_printed_with_the_users_lines(folder):
    done = command("native", "--scan", "chain", "s.py", cwd=folder, COLUMNS="")
    assert done.returncode == 0 and done.stderr == "ran\n", done.stderr
    assert done.stdout.startswith("loop `chain`: machine code for the shapes met\n")
    assert "define i64 @scanviz_loop" in done.stdout and "; tanh  s.py:5: h, _ = scanviz.scan" in done.stdout


def test_the_processors_instructions_are_marked_with_the_users_lines(folder):
    done = command("native", "--asm", "--scan", "chain", "s.py", cwd=folder, COLUMNS="")
    assert done.returncode == 0, done.stderr
    assert "scanviz_loop:" in done.stdout and "s.py:5: h, _ = scanviz.scan" in done.stdout


def test_a_loop_without_native_code_has_its_reason(folder):
    done = command("native", "s.py", cwd=folder, COLUMNS="")
    assert "loop `chain`: machine code" in done.stdout
    assert (
        "loop `inverse`: no native code: callouts would cost more than native code gains: `pinv`"
        in done.stdout
    )


def test_native_refuses_conflicting_options_and_unknown_loops(folder):
    done = command("native", "--ir", "--asm", "s.py", cwd=folder, COLUMNS="")
    assert done.returncode == 2 and "cannot be combined" in done.stderr
    done = command("native", "--scan", "chian", "s.py", cwd=folder, COLUMNS="")
    assert done.returncode == 2 and "did you mean chain?" in done.stderr


def test_misplaced_options_and_profiles_are_explained(folder):
    done = command("native", "s.py", "--asm", cwd=folder, COLUMNS="")
    assert done.returncode == 0
    text = "scanviz: --asm after s.py goes to s.py: options of scanviz stand before it"
    assert done.stderr.splitlines() == [text, "ran"]
    assert command("profile", "-o", "p.scanviz", "s.py", cwd=folder, COLUMNS="").returncode == 0
    done = command("native", "p.scanviz", "--scan", "chain", cwd=folder, COLUMNS="")
    assert done.returncode == 2 and not done.stdout
    assert "p.scanviz holds no machine code" in done.stderr and "scanviz native s.py" in done.stderr
