"""The cell magic in IPython's own shell, as a notebook has it."""

import html
import re

import pytest

from scanviz.engine import traceback_hooks

IPython = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")

CELL = """
import numpy as np, scanviz
from scanviz import tensor as T
x = T.vector("x")
sums, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t + s), sequences=x, outputs_info=0.0, name="sums")
f = scanviz.function([x], sums, name="<b>sums</b>")
f(np.ones(50))
"""


@pytest.fixture
def shell():
    """Return a shell that has loaded scanviz, with displayed objects in ``shown``."""
    made = IPython.InteractiveShell.instance(history_load_length=0)
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "scanviz")
    made.shown = []
    made.display_pub.publish = lambda data, **_: made.shown.append(data)
    yield made
    IPython.InteractiveShell.clear_instance()


def run(shell, cell: str):
    return shell.run_cell(cell, store_history=True)


def test_a_cell_is_recorded_and_its_report_shown(shell):
    run(shell, f"%%scanviz recorded{CELL}")
    session = shell.user_ns["recorded"]
    [loop] = session.record.loops
    assert (loop.name, loop.steps, loop.source.file) == ("sums", 50, "In[1]")
    assert session.record.script == "cell In[1]"
    [data] = shell.shown
    assert "where the time goes" in data["text/html"] and "In[1]:" in data["text/html"]
    assert data["text/plain"].startswith("cell In[1] took ")


def test_the_page_is_shown_in_an_isolated_frame(shell):
    run(shell, f"%%scanviz --page{CELL}")
    [data] = shell.shown
    found = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^<>]*></iframe>', data["text/html"]
    )
    page = html.unescape(found[1])
    assert page.startswith("<!DOCTYPE html>") and "<b>sums</b>" not in page
    assert "_scanviz" in shell.user_ns


def test_a_failing_cell_shows_its_error_and_its_record(shell, capsys):
    run(shell, f"%%scanviz{CELL}1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert shell.user_ns["_scanviz"].record.loops[0].steps == 50
    [data] = shell.shown
    assert "sums" in data["text/html"]


def test_a_loop_of_a_record_shows_its_variables_with_their_kinds(shell):
    run(shell, f"%%scanviz{CELL}")
    bundle = shell.user_ns["_scanviz"].record.loops[0]._repr_mimebundle_()
    assert "sitsot" in bundle["text/html"] and "single input tap" in bundle["text/html"]


def test_a_keyword_or_import_of_another_system_is_an_error_with_a_replacement(shell, capsys):
    traceback_hooks._answer_in(shell)
    run(shell, 'import scanviz\nscanviz.scan(lambda x: x, scanviz.tensor.vector("x"), reverse=True)')
    assert "go_backwards=True" in capsys.readouterr().out
    run(shell, "from scanviz import while_loop")
    assert "scanviz.until(~cond(body(s)))" in capsys.readouterr().out
    run(shell, "1 / 0")
    assert "write:" not in capsys.readouterr().out
