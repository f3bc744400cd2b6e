"""Recording from Python with the engine: records of real loops."""

import io
from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.observe import observers
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.scan.layout import Layout
from scanviz.profiler.recording.operations import COLD
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.record.storage.file import load


@pytest.fixture(autouse=True)
def work_stays_in_loops(monkeypatch):
    """These loops are small enough to be computed without a loop, and here it is the loop that is looked at."""
    monkeypatch.setattr(scanviz.config, "rewrites", "all,-push_out")


def loop_named(record: ProfileRecord, name: str) -> LoopRecord:
    return next(loop for loop in record.loops if loop.name == name)


def table() -> scanviz.Function:
    """Return a function that sums the rows of a matrix, a loop in a loop."""
    x = T.matrix("x")

    def row(cells, total):
        sums, _ = scanviz.scan(lambda cell, s: s + cell * 2.0, cells, 0.0, name="cells")
        return total + sums[-1]

    totals, _ = scanviz.scan(row, x, 0.0, name="rows")
    return scanviz.function([x], totals, name="table")


def test_nested_loops_are_counted_and_linked() -> None:
    f = table()
    with scanviz.profile() as p:
        for _ in range(3):
            f(np.ones((5, 40)))
    record = p.record
    [function] = record.functions
    rows, cells = loop_named(record, "rows"), loop_named(record, "cells")
    assert (function.name, function.calls, function.backend) == ("table", 3, f.backend)
    assert (rows.function, rows.parent, cells.parent) == (function.key, None, rows.key)
    assert (rows.runs, rows.steps, cells.runs, cells.steps) == (3, 15, 15, 600)
    assert cells.step_times.count + cells.control_steps == 600
    assert 0 < cells.total_ns < rows.total_ns < function.total_ns < record.wall_ns
    assert record.outcome.status == "ok"
    assert 0 < record.cost.total_ns < record.wall_ns


def test_operations_are_timed_with_the_line_that_made_them() -> None:
    f = table()
    with scanviz.profile() as p:
        f(np.ones((5, 40)))
    cells = loop_named(p.record, "cells")
    assert [operation.kind for operation in cells.operations] == ["operation"] * 2
    assert cells.sampled_steps > 0
    assert all(operation.samples == cells.sampled_steps for operation in cells.operations)
    assert cells.body_ns == sum(operation.typical_ns for operation in cells.operations) > 0
    [source] = {operation.source for operation in cells.operations}
    assert source is not None
    assert source.file.endswith("test_session.py")
    assert "s + cell * 2.0" in source.text
    assert {operation.label for operation in cells.operations} == {"x[t][t] * 2", "s[t-1] + x[t][t] * 2"}


def test_detail_ops_times_the_operations_of_every_step() -> None:
    f = table()
    with scanviz.profile(detail="ops") as p:
        f(np.ones((5, 40)))
    cells = loop_named(p.record, "cells")
    assert p.record.detail == "ops"
    assert cells.steps == 200
    assert (
        cells.sampled_steps + cells.disturbed_steps == 200 - COLD - 4
    )  # cold ones, and the first of each other run


def test_an_unknown_detail_is_refused() -> None:
    with pytest.raises(ScanvizError, match="no such detail"):
        scanviz.profile(detail="everything")


def test_loop_variables_and_mappings_are_those_of_the_layout() -> None:
    x, h0, w = T.matrix("x"), T.vector("h0"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, h0, w, name="rnn")
    f = scanviz.function([x, h0, w], h)
    with scanviz.profile() as p:
        f(np.ones((4, 3)), np.ones(3), np.eye(3))
    found = loop_named(p.record, "rnn")
    [(loop, _)] = all_loops(f.program)
    layout = Layout(loop.op)
    assert len(found.var_mappings) == 12
    for name, entries in layout.var_mappings.items():
        expected = {str(k): tuple(v) if isinstance(v, list) else (v,) for k, v in entries.items()}
        assert found.var_mappings[name] == expected
    assert [list(row) for row in found.connection_pattern] == layout.connection_pattern()
    assert [list(row) for row in found.inner_connection_pattern] == layout.inner_connection_pattern()
    described = {(variable.kind, variable.name, variable.outer_input) for variable in found.variables}
    assert described == {("sequence", "x", "x"), ("sitsot", "h", "h0"), ("non_sequence", "w", "w")}


def test_an_unnamed_loop_is_named_by_its_line_and_no_path_of_the_machine_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text(
        "import scanviz\nfrom scanviz import tensor as T\nx = T.vector('x')\n"
        "s, _ = scanviz.scan(lambda a, b: a + b, x, 0.0)\nf = scanviz.function([x], s)\n"
    )
    names: dict[str, object] = {}
    exec(compile((tmp_path / "model.py").read_text(), str(tmp_path / "model.py"), "exec"), names)
    with scanviz.profile() as p:
        names["f"]([1.0, 2.0])  # type: ignore[operator]
    [found] = p.record.loops
    assert found.name == "scan at model.py:4"
    assert p.record.functions[0].name == "function at model.py:5"
    assert str(tmp_path) not in str(p.record.to_json())


def test_a_loop_in_a_branch_is_found() -> None:
    x, choice = T.vector("x"), T.scalar("choice")
    doubled, _ = scanviz.scan(lambda a: a * 2.0, x, name="doubled")
    f = scanviz.function([x, choice], scanviz.ifelse(choice > 0, doubled, x))
    with scanviz.profile() as p:
        f([1.0, 2.0], 1.0)
    found = loop_named(p.record, "doubled")
    assert (found.runs, found.steps, found.parent) == (1, 2, None)
    assert {operation.kind for operation in p.record.functions[0].operations} >= {"branch"}


def test_a_call_that_fails_is_recorded_and_the_next_goes_on() -> None:
    f = table()
    x, w = T.matrix("x"), T.matrix("w")
    bad, _ = scanviz.scan(lambda a, w: T.dot(a, w), x, non_sequences=w, name="bad")
    g = scanviz.function([x, w], bad, name="g")
    with scanviz.profile() as p:
        with pytest.raises(ScanvizError):
            g(np.ones((3, 4)), np.ones((5, 6)))
        f(np.ones((2, 2)))
    failed = next(function for function in p.record.functions if function.name == "g")
    assert (failed.calls, failed.errors) == (1, 1)
    assert loop_named(p.record, "bad").running == 0
    assert loop_named(p.record, "cells").steps == 4


def test_an_error_in_the_block_is_the_outcome_and_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), scanviz.profile() as p:
        1 / 0  # noqa: B018
    assert (p.record.outcome.status, p.record.outcome.message) == (
        "error",
        "ZeroDivisionError: division by zero",
    )
    with pytest.raises(KeyboardInterrupt), scanviz.profile() as p:
        raise KeyboardInterrupt
    assert p.record.outcome.status == "interrupted"
    assert not observers()


def test_nothing_is_recorded_outside_of_the_block() -> None:
    f = table()
    f(np.ones((2, 2)))
    with scanviz.profile() as p:
        f(np.ones((2, 2)))
    f(np.ones((2, 2)))
    assert p.record.functions[0].calls == 1


def test_a_function_that_profiles_itself_gives_its_record() -> None:
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda a, s: s + a, x, 0.0, name="sums")
    f = scanviz.function([x], sums, profile=True)
    f([1.0, 2.0])
    f([1.0, 2.0, 3.0])
    assert loop_named(f.profile, "sums").steps == 5


def test_a_session_is_saved_loaded_and_reported(tmp_path: Path) -> None:
    f = table()
    with scanviz.profile() as p:
        f(np.ones((5, 40)))
    p.save(tmp_path / "table.scanviz")
    record = load(tmp_path / "table.scanviz")
    assert record.loops == p.record.loops
    out = io.StringIO()
    p.report(out, full=True)
    assert out.getvalue().count("\n") <= 64  # a busy machine has a line or two of its own
    assert "cells" in out.getvalue()
    out = io.StringIO()
    p.report(out, scan="rows")
    assert "sitsot" in out.getvalue()


def test_a_loop_that_was_profiled_before_is_sampled_from_its_beginning_again() -> None:
    f = table()
    for _ in range(4):
        with scanviz.profile() as p:
            f(np.ones((3, 200)))
        assert (
            loop_named(p.record, "cells").sampled_steps + loop_named(p.record, "cells").disturbed_steps >= 8
        )
