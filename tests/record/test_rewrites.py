"""The history of rewrites in a record: replayed from deltas, the same in every process, small, without the machine's paths."""

import json
import subprocess
import sys

import numpy as np
from hypothesis import given

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.gradient.reverse import is_differentiable
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.record.codec import decode, encode
from scanviz.record.graph_lines import GraphLines
from scanviz.record.rewrites import RewritesRecord
from scanviz.record.rewrites_snapshot import rewrites_of, rewrites_record
from scanviz.testing import random_loops


def rnn():
    x, w, u = T.matrix("x"), T.matrix("w"), T.matrix("u")
    h, _ = scanviz.scan(
        lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)), x, T.zeros(3), [w, u], name="rnn"
    )
    cost = T.sum(h[-1] ** 2)
    cost.name = "cost"
    return scanviz.function([x, w, u], [cost, scanviz.grad(cost, w)], name="train")


@given(case=random_loops())
def test_replaying_the_deltas_gives_the_graph_at_every_moment(case):
    results, updates, inputs, _ = case.build()
    wanted = [*results, *dict(updates).values()]
    smooth = [each for each in results if is_differentiable(each)]
    wrt = [each for each, _ in inputs if is_differentiable(each)]
    if smooth and wrt:
        cost = sum((T.sum(T.cast(each, "float64")) for each in smooth), T.constant(0.0))
        wanted += scanviz.grad(cost, wrt, disconnected_inputs="ignore")
    history = RewriteHistory(wanted, Selection("all"))
    record = rewrites_record(history)
    writer = GraphLines()
    for k, graph in enumerate(history.all_graphs()):
        assert list(record.graph(k)) == writer.lines(graph)
    assert decode(RewritesRecord, json.loads(json.dumps(encode(record)))) == record
    assert [each.index for each in record.applications] == list(range(len(record.applications)))


def test_lines_keep_their_names_and_say_what_is_in_a_loop():
    record = rewrites_of(rnn())
    first, last = record.graph(0), record.graph(len(record.applications))
    assert "    sitsot h[t-1] ← v2 gives h" in first
    assert any(line.startswith("h = loop rnn, ") for line in first)
    assert any("matmul" in line or "dot(x, w" in line for line in last if not line.startswith(" "))
    assert any(line.endswith(":= v25") or ":=" in line for line in last)
    assert last[-1].startswith("return cost, ")


def test_what_a_rule_bought_is_told_in_named_sizes():
    record = rewrites_of(rnn())
    (pushed,) = [
        each for each in record.applications if each.rule == "PushOutSeqScan" and "`rnn`" in each.says
    ]
    assert pushed.difference is not None and pushed.difference.operations.startswith("-")
    assert record.steps(pushed.index)["rnn"] == record.steps(pushed.index + 1)["rnn"] + 1
    assert any("joins `rnn` as sequence" in each for each in pushed.loop_variables)


def test_origins_lead_from_the_last_graph_to_the_line_of_the_script():
    record = rewrites_of(rnn())
    known = {each.name: each for each in record.origins}
    assert known["h"].source.startswith("tests/record/test_rewrites.py:") and known["h"].rule == ""
    made = [each for each in record.origins if each.rule not in ("", "gradient")]
    assert made and all(each.source for each in made)
    assert {name for each in record.origins for name in each.parents} <= set(known)


def test_a_long_history_is_small():
    x = T.vector("x")
    states = []
    value = x
    for k in range(60):
        h, _ = scanviz.scan(
            lambda v, h, c=0.1 * k + 0.1: T.tanh(h * c + v), value, T.constant(0.0), name=f"loop{k}"
        )
        states.append(h[-1])
        value = x * (k + 2.0)
    cost = sum(states, T.constant(0.0))
    f = scanviz.function([x], [cost, scanviz.grad(cost, x)], mode=Mode("numpy").excluding("ScanMerge"))
    record = rewrites_of(f)
    assert len(record.applications) >= 100
    assert len(json.dumps(encode(record)).encode()) < 1_000_000


SCRIPT = """
import json, scanviz
from scanviz import tensor as T
from scanviz.record.codec import encode
from scanviz.record.rewrites_snapshot import rewrites_of
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
    from scanviz.record.file import load, save

    with scanviz.profile() as p:
        rnn()(np.ones((4, 3)), np.eye(3), np.eye(3))
    save(p.record, tmp_path / "p.scanviz")
    (function,) = load(tmp_path / "p.scanviz").functions
    assert function.rewrites is not None
    assert {each.rule for each in function.rewrites.applications} >= {"PushOutDot1", "ScanInplaceOptimizer"}
