"""The machine's limits: measurements after a run, and the report's comparison of operations with them."""

import subprocess
import sys
from pathlib import Path

from scanviz.profiler.recording.limits import best_ns, measured_limits
from scanviz.profiler.report.overview import render_report
from scanviz.record.measures import measures
from scanviz.record.storage.file import load

SCRIPT = """
import numpy as np, scanviz
from scanviz import tensor as T
x, w = T.matrix("x"), T.matrix("w")
h, _ = scanviz.scan(lambda x_t, h: T.tanh(T.dot(h, w) + x_t), x, T.zeros((64,)), name="rnn")
f = scanviz.function([x, w], h)
for _ in range(5):
    f(np.ones((400, 64)), np.ones((64, 64)))
"""


def test_every_limit_is_a_declared_number_of_the_run() -> None:
    found = measured_limits(each_ns=1_000_000)
    assert set(found) <= {measure.name for measure in measures("run")} and len(found) == 8
    assert all(value > 0 for value in found.values())


def test_the_best_of_several_attempts_counts() -> None:
    now, taken = 0, iter([900, 400, 700, 300, 800] + [1000] * 50)

    def action() -> None:
        nonlocal now
        now += next(taken) * 1_000_000

    assert best_ns(action, 2_500_000_000, lambda: now) == 300_000_000.0


def test_the_report_compares_operations_with_machine_limits_on_request(tmp_path: Path) -> None:
    (tmp_path / "rnn.py").write_text(SCRIPT)
    texts = []
    for option in ([], ["--roofline"]):
        command = [sys.executable, "-m", "scanviz", "profile", "--full", *option, "rnn.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        record = load(tmp_path / "rnn.scanviz")
        assert ("product_flops_per_s" in record.measures) is bool(option)
        texts.append(done.stderr)
        assert ("limits of the machine" in render_report(record)) is bool(option)
        full = render_report(record, scan_name="rnn", width=120)
        assert "GB/s" in full and "GFLOP/s" in full
    plain, roofline = texts
    assert "limits of the machine" not in plain
    heading = next(line for line in roofline.splitlines() if "bound by" in line)
    assert heading.split()[:2] == ["operation", "in"]
    assert any(
        "dot(" in line and line.split()[-1] in ("memory", "arithmetic", "call")
        for line in roofline.splitlines()
    )
