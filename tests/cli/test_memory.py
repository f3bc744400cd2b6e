"""`scanviz memory` in real processes."""

from tests.cli.test_program import scanviz_

SCRIPT = """
import numpy as np, scanviz
from scanviz import tensor as T
x = T.matrix("x")
h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros((64,)), name="rnn")
f = scanviz.function([x], h, name="run")
for n in (10, 2000, 10):
    print(n, f(np.ones((n, 64))).shape)
"""


def test_forecast_and_measured_bytes_are_shown_side_by_side(tmp_path):
    (tmp_path / "rnn.py").write_text(SCRIPT)
    done = scanviz_("memory", "rnn.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.endswith("10 (10, 64)\n"), done.stderr
    heading, row = done.stdout.splitlines()
    assert heading.split() == ["function", "forecast", "measured", "calls", "at", "line"]
    cells = row.split()
    assert (cells[0], cells[5], cells[6], cells[7]) == ("run", "3", "rnn", "rnn.py:5")
    assert cells[1:3] == cells[3:5] and 970 < float(cells[1]) < 1030, row


def test_a_call_beyond_the_memory_limit_is_refused(tmp_path):
    (tmp_path / "rnn.py").write_text(SCRIPT)
    done = scanviz_("memory", "--limit", "100K", "rnn.py", cwd=tmp_path)
    assert done.returncode == 1 and "10 (10, 64)\n" in done.stderr and "2000 (" not in done.stderr
    assert "OutOfMemoryError: rnn.py:5: the call of `run` would hold 1.0 MB, most of it at rnn" in done.stderr
    assert "–" in done.stdout or "KiB" in done.stdout
    done = scanviz_("memory", "--limit", "much", "rnn.py", cwd=tmp_path)
    assert done.returncode == 2 and "--limit takes a size such as 500M or 4G, not 'much'" in done.stderr
