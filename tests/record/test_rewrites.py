"""The history of rewrites in a record: replayed from deltas, the same in every process, small, without the machine's paths."""

import json
import math
import subprocess
import sys
from collections import Counter

import numpy as np
from hypothesis import given

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observe import observed_by
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.profiler.recording.recorder import Recorder
from scanviz.record.graphs.reading import levels_of
from scanviz.record.graphs.rewrites_snapshot import rewrites_of, rewrites_record
from scanviz.record.graphs.writing import GraphWriter
from scanviz.record.storage.codec import encode
from scanviz.testing import random_loops


def rnn():
    x, w, u = T.matrix("x"), T.matrix("w"), T.matrix("u")
    h, _ = scanviz.scan(
        lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)), x, T.zeros(3), [w, u], name="rnn"
    )
    cost = T.sum(h[-1] ** 2)
    cost.name = "cost"
    return scanviz.function([x, w, u], [cost, scanviz.grad(cost, w)], name="train")


def test_lines_keep_names_and_list_the_contents_of_loops():
    record = rewrites_of(rnn())
    first, last = record.lines(0), record.lines(len(record.applications))
    assert "    sitsot h[t-1] ← v2 gives h" in first
    assert any(line.startswith("h = loop rnn, ") for line in first)
    assert any("matmul" in line or "dot(x, w" in line for line in last if not line.startswith(" "))
    assert any(line.endswith(":= v25") or ":=" in line for line in last)
    assert last[-1].startswith("return cost, ")


def test_the_gain_of_a_rule_is_given_in_named_sizes():
    record = rewrites_of(rnn())
    (pushed,) = [
        application
        for application in record.applications
        if application.rule == "PushOutSeqScan" and "`rnn`" in application.message
    ]
    assert pushed.difference is not None and pushed.difference.operations.startswith("-")
    assert record.steps(pushed.index)["rnn"] == record.steps(pushed.index + 1)["rnn"] + 1
    assert any("joins `rnn` as sequence" in variable for variable in pushed.loop_variables)


def test_origins_lead_from_the_last_graph_to_the_line_of_the_script():
    record = rewrites_of(rnn())
    known = {origin.name: origin for origin in record.origins}
    assert known["h"].source.startswith("tests/record/test_rewrites.py:") and known["h"].rule == ""
    made = [origin for origin in record.origins if origin.rule not in ("", "gradient")]
    assert made and all(each.source for each in made)
    assert {name for origin in record.origins for name in origin.parents} <= set(known)


def test_a_long_history_is_small():
    x = T.vector("x")
    states = []
    value = x
    for k in range(46):
        h, _ = scanviz.scan(
            lambda v, h, c=0.1 * k + 0.1: T.tanh(h * c + v), value, T.constant(0.0), name=f"loop{k}"
        )
        states.append(h[-1])
        value = x * (k + 2.0)
    cost = sum(states, T.constant(0.0))
    f = scanviz.function([x], [cost, scanviz.grad(cost, x)], mode=Mode("numpy").excluding("ScanMerge"))
    record = rewrites_of(f)
    assert len(record.applications) >= 46
    assert len(json.dumps(encode(record)).encode()) < 1_100_000


SCRIPT = """
import json, scanviz
from scanviz import tensor as T
from scanviz.record.storage.codec import encode
from scanviz.record.graphs.rewrites_snapshot import rewrites_of
x, w, u = T.matrix("x"), T.matrix("w"), T.matrix("u")
h, _ = scanviz.scan(lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)), x, T.zeros(3), [w, u])
cost = T.sum(h[-1] ** 2)
f = scanviz.function([x, w, u], [cost, *scanviz.grad(cost, [w, u])])
data = encode(rewrites_of(f))
for each in data["applications"]:
    each["time_ns"] = 0
print(json.dumps(data, sort_keys=True))
"""


def test_every_process_writes_the_same_without_paths_of_the_machine(tmp_path):
    import os

    (tmp_path / "script.py").write_text(SCRIPT)
    texts = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "script.py")],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0] and "script.py:" in texts[0]


def test_a_profile_holds_the_rewrites_of_its_functions(tmp_path):
    from scanviz.record.storage.file import load, save

    with scanviz.profile() as p:
        rnn()(np.ones((4, 3)), np.eye(3), np.eye(3))
    save(p.record, tmp_path / "p.scanviz")
    (function,) = load(tmp_path / "p.scanviz").functions
    assert function.rewrites is not None
    assert {application.rule for application in function.rewrites.applications} >= {
        "PushOutDot1",
        "mitmot_to_sitsot",
    }


def test_unchanged_lines_are_not_repeated_in_an_edit():
    record = rewrites_of(rnn())
    edits = record.edits()
    for application in record.applications:
        lines = record.lines(application.index)
        gone = Counter(line for edit in edits[application.index] for line in lines[edit.start : edit.stop])
        new = Counter(line for edit in edits[application.index] for line in edit.lines)
        assert not gone & new, application.rule


def test_operations_that_leave_a_loop_unchanged_are_listed():
    x, u = T.vector("x"), T.vector("u")
    h, _ = scanviz.scan(lambda x_t, h, u: h * T.sum(T.exp(u)) + x_t, x, T.constant(0.0), u, name="rnn")
    record = rewrites_of(scanviz.function([x, u], h))
    (pushed,) = [
        application for application in record.applications if application.rule == "PushOutNonSeqScan"
    ]
    assert "exp(u) in `rnn`" in pushed.moved_out and pushed.moved_in == ()


def test_results_of_a_loop_keep_their_names_as_others_change():
    x, w, b = T.matrix("x"), T.matrix("w"), T.vector("b")
    h, _ = scanviz.scan(lambda x_t, h, w, b: T.tanh(T.dot(h, w) * x_t + b), x, T.zeros(3), [w, b], name="rnn")
    cost = T.sum(h[-1] ** 2)
    record = rewrites_of(scanviz.function([x, w, b], scanviz.grad(cost, [w, b])))
    (summed,) = [application for application in record.applications if application.rule == "PushOutDot1"]
    heads, gives = [], []
    for k in (summed.index, summed.index + 1):
        lines = record.lines(k)
        heads.append(next(line for line in lines if "loop grad_of_rnn" in line).split(" = ")[0].split(", "))
        gives += [line.strip() for line in lines if line.strip().startswith("sitsot ∂b")]
    assert heads[0][:3] == ["∂h", "∂w", "∂b"] and "∂w" not in heads[1]
    assert len(gives) == 2 and gives[0] == gives[1] and gives[0].endswith("gives ∂b")


@given(case=random_loops())
def test_lines_follow_the_lines_that_they_read(case):
    results, updates, _, _ = case.build()
    history = RewriteHistory([*results, *dict(updates).values()], Selection("all"))
    graphs = rewrites_record(history).graphs
    for version in graphs.versions():
        for level in levels_of(graphs.nodes, version).values():
            ordered = list(level.ordered())
            places = {result.key: k for k, node in enumerate(ordered) for result in node.results}
            assert len(ordered) == len(level.nodes)
            assert all(
                places[each] < k for k, node in enumerate(ordered) for each in node.inputs if each in places
            )


def test_names_of_loops_may_hold_the_path_of_a_file():
    x = T.vector("x")
    outer, _ = scanviz.scan(
        lambda v, h: h + v + T.sum(scanviz.scan(lambda a: T.tanh(a * h), x, name="at a/in.py:2")[0]),
        x,
        T.constant(0.0),
        name="at a/out.py:1",
    )
    f = scanviz.function([x], outer, mode=Mode("numpy", rewrites="none"))
    assert rewrites_of(f).loops() == ("at a/out.py:1", "at a/in.py:2")


def recorded(max_bytes):
    recorder = Recorder(max_bytes=max_bytes)
    with observed_by(recorder):
        rnn()(np.ones((4, 3)), np.eye(3), np.eye(3))
    return recorder.record()


def test_without_room_for_graphs_the_list_is_kept():
    (whole,), (small,) = (recorded(size).functions for size in (64 * 2**20, 100_000))
    assert whole.rewrites is not None and small.rewrites is not None
    assert whole.rewrites.lines(0) and any(whole.rewrites.edits())
    text = [
        [(application.rule, application.message) for application in one.rewrites.applications]
        for one in (whole, small)
    ]
    assert text[0] == text[1] and len(text[0]) > 5
    assert not small.rewrites.has_versions and small.rewrites.lines(0) == ()
    assert small.calls == 1


def test_graphs_of_rewrites_leave_room_for_loops():
    recorder = Recorder(max_bytes=560_000)
    functions = [rnn() for _ in range(6)]  # with all of their rewrites they would take more
    for f in functions:
        recorder.compiled(CompiledFunction(f.key, f.name, f, f.program, f.backend, f.build_ns, f.where))
    record = recorder.record()
    kept = [bool(function.rewrites and function.rewrites.has_versions) for function in record.functions]
    assert kept[0] and not kept[-1] and record.functions[-1].rewrites is not None
    assert len(record.loops) == 12 and all(loop.operations and loop.variables for loop in record.loops)


def _loops_in_a_step(count):
    def step(x_t, h):
        for k in range(count):
            rows, _ = scanviz.scan(
                lambda s, k=k: T.tanh(s * (0.5 + k) + x_t), None, h, n_steps=3, name=f"l{k}"
            )
            h = rows[-1]
        return h

    x = T.vector("x")
    return scanviz.function([x], scanviz.scan(step, x, 0.0, name="outer")[0])


def test_the_work_of_recording_many_loops_grows_linearly(monkeypatch):
    counted, counts = Counter(), []
    written = GraphWriter._written

    def write(self, *given):
        counted["written"] += 1
        return written(self, *given)

    monkeypatch.setattr(GraphWriter, "_written", write)
    for loops in (8, 32):
        f = _loops_in_a_step(loops)
        counted.clear()
        record = rewrites_of(f)
        assert len(record.applications) >= loops
        changes = sum(len(node.versions) for node in record.graphs.nodes)
        counts.append([counted["written"], changes, len(record.graphs.nodes)])
    for few, many in zip(*counts, strict=True):
        assert math.log(many / few, 4) < 1.15, counts
