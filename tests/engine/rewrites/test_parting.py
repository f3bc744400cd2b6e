"""Histories that part: one goes on without some rules from where another first used one of them, as if it had begun without."""

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.rewrites import pipeline
from scanviz.engine.rewrites.changes import places
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from tests.engine.rewrites.test_pipeline import rnn

RULES = [
    "merge_residuals", "resolve_shapes", "merge_equal", "PushOutNonSeqScan", "PushOutSeqScan", "PushOutShortRows",
    "mitmot_to_sitsot", "ScanSaveMem",
]  # fmt: skip


def gated():
    """Return a gradient through two loops, one in the step of the other, on which many rules have work in several rounds."""
    x, w, u = T.tensor3("x"), T.matrix("w"), T.vector("u")

    def row(row, h, w, u):
        inner, _ = scanviz.scan(
            lambda v, s, u: T.tanh(s + v * T.exp(u) + 0.0), row, T.zeros(3), [u], name="inner"
        )
        return T.tanh(T.dot(h, w * 2.0) + inner[-1]), T.dot(row, w).sum()

    (h, more), _ = scanviz.scan(row, x, [T.zeros(3), None], [w, u], name="outer")
    cost = T.sum(h[-1] ** 2) + more.mean()
    return [cost, *scanviz.grad(cost, [w, u])]


def told(history):
    return [(record.index, record.phase, record.rule, record.message, record.paths) for record in history]


@pytest.fixture(scope="module")
def whole():
    return RewriteHistory(gated(), Selection("all"))


def test_what_two_histories_of_one_graph_have_in_common_is_done_once(monkeypatch):
    asked = []
    usual = pipeline.apply_rule
    monkeypatch.setattr(
        pipeline, "apply_rule", lambda rule, *given: asked.append(rule.name) or usual(rule, *given)
    )
    _, wanted = rnn()
    rules = ["PushOutDot1"]
    without = Selection("all").excluding(*rules)
    whole = RewriteHistory(wanted, Selection("all"), parts_at=rules)
    asked.clear()
    parted = whole.without(without)
    here, before = len(asked), [record for record in parted if not record.time_ns]
    assert "PushOutDot1" not in asked and before
    assert [record.message for record in before] == [record.message for record in whole][: len(before)]
    asked.clear()
    fresh = RewriteHistory(wanted, without)
    assert here < 0.9 * len(asked)
    assert [record.message for record in fresh] == [record.message for record in parted]
    assert str(parted.selection) == "all,-PushOutDot1"


def test_a_history_in_which_rules_did_nothing_parts_nowhere():
    _, wanted = rnn()
    history = RewriteHistory(wanted, Selection("all"), parts_at=["batch_draws"])
    assert history.without(Selection("all").excluding("batch_draws")) is None


@pytest.mark.parametrize("pauses", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_history_that_parts_is_as_if_it_had_begun_without_the_rules(rule, pauses, whole):
    """Whichever goes on first, neither takes anything of what the other found, and both can be replayed with the same node ids."""
    without, wanted = Selection("all").excluding(rule), whole.before
    first = RewriteHistory(wanted, Selection("all"), parts_at=[rule], pauses=pauses)
    assert first.waits_for == (rule if pauses else None)
    if not pauses:
        assert first.costs()  # what is known of all that it did is not known of the other
    parted = first.without(without)
    first.finish()
    fresh = RewriteHistory(wanted, without)
    assert told(first) == told(whole) and told(parted) == told(fresh)
    for mine, theirs in ((first, whole), (parted, fresh)):
        assert structurally_equal(mine.final, theirs.final)
        assert list(map(str, mine.costs())) == list(map(str, theirs.costs()))
        assert list(places(mine.all_graphs()[-1])) == list(places(mine.final))
    assert all(refused.rule != rule for refused in parted.refusals())
