"""Loops and their gradients side by side: the pair in the record, and the report's table."""

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import observed_by
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.report.gradients import pairs
from scanviz.profiler.report.overview import render_report
from scanviz.record.loops import TierRecord
from scanviz.record.storage.file import load, save


def recorded(build, *values, mode="numpy"):
    inputs, outputs = build()
    recorder = Recorder()
    with observed_by(recorder):
        scanviz.function(inputs, outputs, mode=mode)(*values)
    return recorder.record()


def two_exps():
    x, h0 = T.matrix("x"), T.vector("h0")
    y, _ = scanviz.scan(lambda x_t, y: T.exp(x_t * y) * 0.1 + T.exp(-y), x, h0, name="two")
    return [x, h0], [y[-1], scanviz.grad(T.sum(y[-1]), x)]


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_the_backward_loop_points_to_its_forward_loop_and_the_rows_kept_are_counted(mode):
    record = recorded(two_exps, np.ones((50, 4)) * 0.1, np.ones(4), mode=scanviz.Mode(mode, "all"))
    loops = {loop.name: loop for loop in record.loops}
    assert loops["grad_of_two"].gradient_of == loops["two"].key and loops["two"].gradient_of is None
    kept = [
        (variable.name, variable.row_bytes) for variable in loops["two"].variables if variable.read_backwards
    ]
    assert kept == [("y", 51 * 32), ("exp(-y[t-1])", 50 * 32), ("exp(x[t] * y[t-1])", 50 * 32)]
    assert loops["two"].kept_bytes == (51 + 50 + 50) * 32
    assert not any(variable.read_backwards for variable in loops["grad_of_two"].variables)


def test_the_report_has_one_line_per_gradient_pair(tmp_path):
    record = recorded(two_exps, np.ones((50, 4)) * 0.1, np.ones(4))
    save(record, tmp_path / "pair.scanviz")
    again = load(tmp_path / "pair.scanviz")
    assert again == record
    text = render_report(again, width=100)
    (line,) = [each for each in text.splitlines() if each.startswith("  two  ") and "×" in each]
    assert "4.72 KiB" in line and " y, " in line and " 50 " in line
    narrow = render_report(again, width=60)
    assert "forward and" in narrow and max(map(len, narrow.splitlines())) <= 60


def test_compilation_is_excluded_from_the_cost_ratio_of_a_gradient():
    record = recorded(two_exps, np.ones((50, 4)) * 0.1, np.ones(4))
    code = (TierRecord("native", "machine code for the shapes met", 1, 90_000_000),)
    times = {"two": (100_000_000, code), "grad_of_two": (30_000_000, ())}
    loops = [
        replace(loop, total_ns=times[loop.name][0], tiers=times[loop.name][1], setup_ns=0)
        for loop in record.loops
    ]
    text = render_report(replace(record, loops=tuple(loops)), width=100)
    (line,) = [each for each in text.splitlines() if each.startswith("  two  ") and "×" in each]
    assert "10.0 ms" in line and "30.0 ms" in line and "3.0×" in line
    assert "without compilation" in text


def test_compilation_of_inner_loops_is_excluded_from_the_cost_of_a_gradient():
    def build():
        x, w = T.tensor3("x"), T.vector("w")

        def outer(rows, h, w):
            inner, _ = scanviz.scan(lambda r, h, w: T.tanh(h * w + r), rows, h, w, name="inner")
            return inner[-1]

        rows, _ = scanviz.scan(outer, x, w, w, name="outer")
        return [x, w], [T.sum(rows), scanviz.grad(T.sum(rows), w)]

    record = recorded(build, np.ones((3, 5, 2)) * 0.1, np.ones(2))
    assert {loop.name for loop in record.loops if loop.parent is not None} == {"inner", "grad_of_inner"}
    own, inside = (
        (TierRecord("native", "machine code for the shapes met", 1, ms * 1_000_000),) for ms in (20, 50)
    )
    times = {  # of "outer" 10 ms are work, and of its gradient 30
        "outer": (80_000_000, own), "inner": (55_000_000, inside),
        "grad_of_outer": (80_000_000, ()), "grad_of_inner": (58_000_000, inside),
    }  # fmt: skip
    loops = [
        replace(loop, total_ns=times[loop.name][0], tiers=times[loop.name][1], setup_ns=0)
        for loop in record.loops
    ]
    text = render_report(replace(record, loops=tuple(loops)), width=100)
    lines = {line.split()[0]: line for line in text.splitlines() if "×" in line}
    assert all(number in lines["outer"] for number in ("10.0 ms", "30.0 ms", "3.0×"))
    assert all(number in lines["inner"] for number in ("5.00 ms", "8.00 ms", "1.6×"))


def test_second_order_has_a_pair_for_each_gradient():
    def build():
        x = T.vector("x")
        y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t * y), x, T.constant(0.5), name="h")
        return [x], [scanviz.grad(T.sum(scanviz.grad(y[-1], x) ** 2), x)]

    record = recorded(build, np.linspace(0, 1, 20))
    by_key = {loop.key: loop.name for loop in record.loops}
    found = [(by_key[loop.gradient_of], loop.name) for loop in record.loops if loop.gradient_of is not None]
    assert found == [("h", "grad_of_h#1"), ("grad_of_h#1", "grad_of_grad_of_h"), ("h", "grad_of_h#2")]
    assert [len(backward) for _, backward in pairs(record)] == [2, 1]


def test_loops_without_a_gradient_have_no_table():
    def build():
        x = T.vector("x")
        y, _ = scanviz.scan(lambda x_t, y: x_t + y, x, T.constant(0.5), name="sums")
        return [x], [y]

    record = recorded(build, np.ones(5))
    assert not pairs(record) and "forward and backward" not in render_report(record)
    assert record.loops[0].kept_bytes == 0


def test_a_forward_loop_in_another_function_is_no_pair_here():
    x = T.vector("x")
    y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t + y), x, T.constant(0.5), name="h")
    recorder = Recorder()
    with observed_by(recorder):
        scanviz.function([x], y)([0.1, 0.2])
    assert not pairs(recorder.record())
