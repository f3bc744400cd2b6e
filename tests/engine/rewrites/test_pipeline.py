"""The pipeline itself: phases, selections, cycles, checks, and a history that can be rebuilt at any moment."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import InternalError, ScanvizError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops import elementwise as e
from scanviz.engine.rewrites import rule as rules
from scanviz.engine.rewrites.families import all_rules, rules_of
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.pipeline import RewriteCycleWarning, rewritten, sweeps
from scanviz.engine.rewrites.rule import PHASES, Match, Refusal
from scanviz.engine.rewrites.rule_pass import MOST_VERSIONS
from scanviz.engine.rewrites.selection import Selection, as_selection
from scanviz.engine.rewrites.versions import places
from scanviz.profiler.report.rewrites import RewritesOptions, render_rewrites


@pytest.fixture
def extra(monkeypatch):
    """Return a decorator that registers rules for one test, tried last."""
    all_rules()  # a file that is imported meanwhile would not be imported again
    monkeypatch.setattr(rules, "RULES", dict(rules.RULES))

    def register(name, on, phase="canonical"):
        monkeypatch.setattr(rules, "ORDER", (*rules.ORDER, name))
        return rules.rule(name=name, phase=phase, on=on, tags=("for a test",))

    all_rules()
    return register


def rnn(gradient=True):
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, T.zeros(3), w, name="rnn")
    cost = T.sum(h**2)
    return [x, w], [cost, scanviz.grad(cost, w)] if gradient else [cost]


def two_taps():
    x = T.matrix("x")
    taps = {"initial": T.zeros((2, 3)), "taps": [-2, -1]}
    h, _ = scanviz.scan(lambda x_t, before, h: T.tanh(x_t + before * h), x, taps, name="two_taps")
    return [x], [scanviz.grad(T.sum(h**2), x)]


def test_every_rule_has_a_description_a_place_and_phases():
    for rule in all_rules():
        assert rule.doc.endswith("."), rule
        assert rule.phases and set(rule.phases) <= set(PHASES)
        file, line = rule.where.split(":")
        assert file.startswith("scanviz/engine/") and file.endswith(".py") and int(line) > 1
    documented = {
        "remove_constants_and_unused_inputs_scan", "PushOutNonSeqScan", "PushOutSeqScan", "PushOutScanOutput",
        "PushOutDot1", "ScanInplaceOptimizer", "ScanSaveMem", "ScanMerge", "scan_merge_inouts",
    }  # fmt: skip
    assert documented <= {rule.name for rule in all_rules()}


def test_rules_about_programs_can_be_left_out_before_anything_was_compiled():
    code = "import scanviz; print(scanviz.Mode('numpy').excluding('ScanInplaceOptimizer'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ScanInplaceOptimizer" in done.stdout, done.stderr


def undo_one_another(extra):
    """Register two rules that undo one another."""

    @extra("to_sum", (e.multiply,))
    def to_sum(node, level):
        if node.inputs[0] is node.inputs[1]:
            return Match({node.outputs[0]: build_one(Op(e.add), *node.inputs)}, "a product becomes a sum")
        return None

    @extra("to_product", (e.add,))
    def to_product(node, level):
        return Match({node.outputs[0]: build_one(Op(e.multiply), *node.inputs)}, "a sum becomes a product")


def test_rules_that_undo_one_another_are_stopped_and_named(extra):
    undo_one_another(extra)

    x = T.vector("x")
    with pytest.warns(RewriteCycleWarning, match="to_product") as caught:
        history = RewriteHistory([x + x], Selection("all"))
    assert "to_sum" in str(caught[0].message) and "excluding" in str(caught[0].message)
    assert len(history) < 200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RewriteHistory([x + x], Selection("all").excluding("to_sum"))


def test_refusals_are_kept_when_rules_undo_one_another(extra):
    @extra("shy", (e.exp,))
    def shy(node, level):
        return Refusal("it does not want to", 3)

    undo_one_another(extra)

    x = T.vector("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewriteCycleWarning)
        with scanviz.profile() as p:
            f = scanviz.function([x], T.exp(x + x))
            f([1.0])
        (found,) = f.rewrites.refusals("shy")
        assert f.rewrites.kept().refusals("shy") == [found]
    assert found.why == "it does not want to"
    text = render_rewrites(p.record, RewritesOptions(why_not="shy"))
    assert "exp" in text and "it does not want to" in text


def test_a_rule_that_breaks_a_type_is_found_after_its_phase(extra):
    @extra("breaks", (e.tanh,))
    def breaks(node, level):
        wrong = T.cast(node.inputs[0], "float32")
        return Match({node.outputs[0]: wrong}, "a wrong dtype")

    x = T.vector("x")
    (loop, _) = scanviz.scan(lambda v, h: T.tanh(h), x, T.constant(0.0))
    for wanted in (loop, T.tanh(x)):
        with pytest.raises(InternalError, match="phase 'canonical'|rows of state `h` differ"):
            RewriteHistory([wanted], Selection("none").including("breaks"))


def test_a_rule_without_a_match_gives_its_reasons(extra):
    @extra("shy", (e.exp,))
    def shy(node, level):
        return Refusal("it does not want to", 3)

    x = T.vector("x")
    f = scanviz.function([x], T.exp(x) + 1.0)
    (found,) = f.rewrites.refusals("shy")
    assert (found.why, found.preconditions_met, found.path, found.node) == (
        "it does not want to",
        3,
        (),
        "exp(x)",
    )
    assert found.source.startswith("tests/engine/rewrites/test_pipeline.py:")


def test_rules_are_chosen_by_name_and_by_tag():
    inputs, wanted = rnn()
    names = {rewrite.rule for rewrite in scanviz.function(inputs, wanted).rewrites}
    assert {"PushOutDot1", "merge_equal", "rows_over_sequences"} <= names
    without = Mode("numpy").excluding("push_out", "rows_over_sequences")
    found = {rewrite.rule for rewrite in scanviz.function(inputs, wanted, mode=without).rewrites}
    assert not found & {"PushOutDot1", "PushOutSeqScan", "PushOutNonSeqScan", "rows_over_sequences"}
    only = Mode("numpy", ["PushOutDot1"])
    assert {rewrite.rule for rewrite in scanviz.function(inputs, wanted, mode=only).rewrites} == {
        "PushOutDot1"
    }
    again = without.including("PushOutDot1")
    assert "PushOutDot1" in {
        rewrite.rule for rewrite in scanviz.function(inputs, wanted, mode=again).rewrites
    }


def test_a_selection_is_written_as_words():
    assert str(as_selection("all,-PushOutDot1,+unfill")) == "all,-PushOutDot1,+unfill"
    assert as_selection("-unfill") == Selection("all").excluding("unfill")
    assert as_selection("unfill, merge_equal") == as_selection(["unfill", "merge_equal"])
    unsafe = [rule for rule in all_rules() if rules.UNSAFE in rule.tags]
    assert not any(Selection("all").has(each) for each in unsafe)
    assert all(Selection("all").including(rules.UNSAFE).has(each) for each in unsafe)
    for wrong, message in [
        ("", "cannot be empty"),
        ("all,-nonsense", "no rewrite or tag named 'nonsense'"),
        ("all,-PushOutSeq", "PushOutSeqScan"),
        (3, "cannot be used"),
        ("fast_run", "'all'"),  # Theano's optimizers, not names that happen to look alike
        ("fast_compile", "'none'"),
    ]:
        with pytest.raises(ScanvizError, match=message):
            as_selection(wrong)
    assert repr(Mode("numpy", "none")) == "Mode('numpy', rewrites='none')"
    assert Mode("numpy", "none") != Mode("numpy") == Mode("numpy", "all")


def test_the_environment_and_the_configuration_choose_for_all_functions(monkeypatch):
    inputs, wanted = rnn()
    monkeypatch.setattr(scanviz.config, "rewrites", "none")
    assert len(scanviz.function(inputs, wanted).rewrites) == 0
    code = "import scanviz; from scanviz import tensor as T; x = T.vector('x'); print(scanviz.Mode('numpy'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**_environment(), "SCANVIZ_REWRITES": "all,-unfill"},
    )
    assert done.stdout.strip() == "Mode('numpy', rewrites='all,-unfill')", done.stderr


def _environment():
    import os

    return dict(os.environ)


def test_any_version_of_the_graph_is_rebuilt_with_the_same_nodes():
    inputs, wanted = rnn()
    f = scanviz.function(inputs, wanted)
    history = f.rewrites
    graphs = history.all_graphs()
    count = len(history.of_graph)
    assert len(graphs) == count + 1 and structurally_equal(graphs[0], wanted)
    for k in range(count + 1):
        assert structurally_equal(history.graph(k), graphs[k])
        assert list(places(history.graph(k))) == list(places(graphs[k]))
    assert list(places(graphs[-1])) == list(places(history.final))
    with pytest.raises(ScanvizError, match="no graph after 1000 rewrites"):
        history.graph(1000)


def test_functions_built_at_the_same_time_have_node_ids_of_their_own():
    import threading

    found = {}

    def make(k):
        inputs, wanted = rnn()
        found[k] = scanviz.function(inputs, wanted).rewrites

    threads = [threading.Thread(target=make, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for history in found.values():
        assert list(places(history.all_graphs()[-1])) == list(places(history.final))
    made = [{node_id for node_id in places(history.final) if node_id < 0} for history in found.values()]
    assert all(not a & b for k, a in enumerate(made) for b in made[:k])


def test_a_record_lists_the_changes():
    inputs, wanted = rnn()
    f = scanviz.function(inputs, wanted)
    (record,) = [rewrite for rewrite in f.rewrites if rewrite.rule == "PushOutDot1"]
    assert record.phase == "loops" and record.where.startswith("scanviz/engine/rewrites/loops/push_sums.py:")
    assert len(record.added) > 2
    assert any(" * " in each and "grad_of_rnn" in each for each in record.removed), record.removed
    moves = [str(variable) for variable in record.loop_variables]
    assert "`∂w` (sitsot) leaves `grad_of_rnn`" in moves
    assert record.time_ns > 0 and record.count == 1


MEMORY = {
    "share_state_history": "`{0}` gives `{1}` with the initial rows in front, without a copy",
    "lay_rows_backwards": "`grad_of_{0}` lays down",
    "rows_over_sequences": "`grad_of_{0}` may write",
    "ScanInplaceOptimizer": "`grad_of_{0}` works in the array that it starts from: `∂{1}`",
    "reuse_buffers": "",
}


@pytest.mark.parametrize("loop", [rnn, two_taps])
def test_rules_about_the_program_are_recorded_and_can_be_left_out(loop):
    inputs, wanted = loop()
    values = (np.random.default_rng(0).normal(size=(6, 3)), np.eye(3) / 2)[: len(inputs)]
    f = scanviz.function(inputs, wanted)
    expected = f(*values)
    memory = {rewrite.rule: rewrite.message for rewrite in f.rewrites if rewrite.phase == "memory"}
    foreign = (
        "ScanInplaceOptimizer" if loop is rnn else "rows_over_sequences"
    )  # a buffer is begun with, or rows are read
    assert set(memory) == set(MEMORY) - {foreign}
    names = ("rnn", "h") if loop is rnn else ("two_taps", "before")
    assert all(message.startswith(MEMORY[rule].format(*names)) for rule, message in memory.items()), memory
    for rule in memory:
        g = scanviz.function(inputs, wanted, mode=Mode("numpy").excluding(rule))
        for a, b in zip(g(*values), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        assert rule not in {rewrite.rule for rewrite in g.rewrites}
    plain = scanviz.function(inputs, wanted, mode=Mode("numpy").excluding("memory"))
    plain(*values)
    assert not [rewrite for rewrite in plain.rewrites if rewrite.phase == "memory"]
    assert all(
        slot.history is None
        for loop in plain.program.instructions
        if hasattr(loop, "states")
        for slot in loop.states
    )


def test_phases_run_in_their_order_and_rules_in_theirs():
    _, wanted = rnn()
    entries = [entry for sweep in sweeps(wanted, Selection("all")) for entry, _ in sweep]
    assert [PHASES.index(entry.phase) for entry in entries] == sorted(
        PHASES.index(entry.phase) for entry in entries
    )
    assert [entry.index for entry in entries] == list(range(len(entries)))
    for phase in PHASES:
        order = [rules.ORDER.index(each.name) for each in rules_of(phase)]
        assert order == sorted(order)


def test_a_pickled_function_is_rewritten_with_the_same_rules():
    import pickle

    inputs, wanted = rnn(gradient=False)
    f = scanviz.function(inputs, wanted, mode=Mode("numpy").excluding("PushOutSeqScan"))
    g = pickle.loads(pickle.dumps(f))
    assert g.spec.mode == f.spec.mode
    assert [each.message for each in g.rewrites.of_graph] == [each.message for each in f.rewrites.of_graph]


def test_many_loops_that_each_keep_their_last_row_are_no_cycle():
    x = T.vector("x")
    total = T.constant(0.0)
    for k in range(30):
        h, _ = scanviz.scan(lambda x_t, h, k=k: T.tanh(x_t + h * 0.1 * k), x[k:], 0.0, name=f"loop{k}")
        total = total + h[-1]
    f = scanviz.function([x], total)  # a warning would be an error here
    assert sum(rewrite.rule == "ScanSaveMem" for rewrite in f.rewrites) == 30


def test_several_of_very_many_loops_share_one_rewrite_that_lists_them():
    x, h = T.vector("x"), T.constant(0.0)
    for k in range(2 * MOST_VERSIONS + 5):
        h = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, h, name=f"loop{k}")[0][-1]
    history = scanviz.function([x], h).rewrites
    kept = [rewrite for rewrite in history if rewrite.rule == "ScanSaveMem"]
    assert len(kept) <= MOST_VERSIONS
    assert all(
        "keeps only its last row" in rewrite.message and "3 times" in rewrite.message for rewrite in kept[:-1]
    )


def test_a_rule_is_asked_again_about_the_graph_that_it_gave():
    x = T.matrix("x")
    rows = T.exp(T.tanh(T.exp(T.tanh(T.exp(T.sin(x))))))
    (out,) = rewritten([rows[0]], Selection("none").including("subtensor_lift"))
    assert [node.op.name for node in toposort([out])] == ["index", "sin", "exp", "tanh", "exp", "tanh", "exp"]


def test_an_early_phase_runs_again_after_a_late_one():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(h * x_t) + x_t, x, 0.0, name="h")
    first = RewriteHistory([h[:-1]], Selection("all"))
    after = [record.rule for record in first if record.phase != "keep"][-1]
    assert "fewer_steps" in [record.rule for record in first] and after == "subtensor_chains"
    assert not list(RewriteHistory(first.final, Selection("all")))


def test_rules_of_two_phases_that_undo_one_another_are_stopped_and_named(extra):
    @extra("to_sum", (e.multiply,), phase="loops")
    def to_sum(node, level):
        if node.inputs[0] is not node.inputs[1]:
            return None
        return Match({node.outputs[0]: build_one(Op(e.add), *node.inputs)}, "a product becomes a sum")

    @extra("to_product", (e.add,), phase="clean")
    def to_product(node, level):
        return Match({node.outputs[0]: build_one(Op(e.multiply), *node.inputs)}, "a sum becomes a product")

    x = T.vector("x")
    with pytest.warns(RewriteCycleWarning, match="several phases") as caught:
        history = RewriteHistory([x + x], Selection("all"))
    assert len(caught) == 1
    assert "to_sum" in str(caught[0].message) and "to_product" in str(caught[0].message)
    assert len(history) < 50
