"""Rewrites as text: the list, one change in three styles, why and why not."""

import re

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.profiler.report_rewrites import RewritesView, render_rewrites
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.rewrites_snapshot import rewrites_of


@pytest.fixture(scope="module")
def record():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), w, name="rnn")
    cost = T.sum(h[-1] ** 2)
    f = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name="train")
    function = FunctionRecord(key=1, name="train", source=None, backend="numpy", rewrites=rewrites_of(f))
    return ProfileRecord(functions=(function,))


def steps(text):
    return {rule: int(index) for index, rule in re.findall(r"^ +(\d+)  (\w+)", text, re.MULTILINE)}


def test_the_list_says_what_each_did_and_what_it_bought(record):
    text = render_rewrites(record)
    assert text.startswith("train: ") and "PushOutDot1" in text
    assert "`grad_w`: products added up in the loop are one product after it" in text
    assert re.search(r"loop `rnn`: 3 → 2 operations a step", text)
    assert "in all: loop `rnn`: 3 → 2 operations a step" in text
    assert "--why-not" not in text and "--why-not PushOutNonSeqScan" in render_rewrites(
        record, RewritesView(everything=True)
    )


def test_one_rule_or_one_loop_alone(record):
    text = render_rewrites(record, RewritesView(rule="PushOutDot1"))
    assert set(steps(text)) == {"PushOutDot1"}
    of_rnn = render_rewrites(record, RewritesView(scan="rnn"))
    assert "PushOutSeqScan" in of_rnn and "grad_of_rnn`: " not in of_rnn


@pytest.mark.parametrize("style", ["unified", "side-by-side", "tree"])
def test_one_change_line_by_line(record, style):
    step = steps(render_rewrites(record, RewritesView(scan="rnn")))["PushOutSeqScan"]
    text = render_rewrites(record, RewritesView(step=step, style=style), width=120)
    assert "dot(x[t], w)" in text and "sequence dot(x[t], w)" in text
    rewrites = record.functions[0].rewrites
    unchanged = set(rewrites.graph(step)) & set(rewrites.graph(step + 1))
    assert all((line in text) for line in unchanged) == (style == "tree")
    assert all(len(line) <= 120 for line in text.splitlines())


def test_why_follows_the_rules_down_to_the_users_line(record):
    rewrites = record.functions[0].rewrites
    made = next(each for each in reversed(rewrites.origins) if each.rule == "PushOutDot1" and each.parents)
    text = render_rewrites(record, RewritesView(why=made.name))
    assert f"{made.name} = {made.op}(…)  made by PushOutDot1" in text
    assert "test_report_rewrites.py:" in text
    line = next(each.source for each in rewrites.origins if each.op.startswith("scan{rnn"))
    assert "scan{rnn}(…)  written" in render_rewrites(record, RewritesView(why=line.rpartition(":")[2]))
    assert "nothing is called 'nonsense'" in render_rewrites(record, RewritesView(why="nonsense"))


def test_why_not_says_the_precondition_in_words(record):
    text = render_rewrites(record, RewritesView(why_not="inline_one_step"))
    assert "loop `rnn`" in text and "the number of steps of `rnn` is not known when building, not 1" in text
    nowhere = render_rewrites(record, RewritesView(why_not="split_factorisation"))
    assert "nowhere refused" in nowhere


def test_colours_and_control_characters(record):
    coloured = render_rewrites(record, RewritesView(step=0), color=True)
    assert "\x1b[" in coloured and "\x1b[" not in render_rewrites(record, RewritesView(step=0))
    x = T.vector("bad\x1b[31mname")
    f = scanviz.function([x], T.exp(x) + T.exp(x), name="evil\x07")
    function = FunctionRecord(key=1, name=f.name, source=None, backend="numpy", rewrites=rewrites_of(f))
    text = render_rewrites(ProfileRecord(functions=(function,)), RewritesView(step=0))
    assert "\x1b" not in text and "\x07" not in text and "bad\\x1b[31mname" in text


def test_a_number_that_is_no_rewrite_and_a_record_without_rewrites(record):
    assert "there is no rewrite 99" in render_rewrites(record, RewritesView(step=99))
    assert "no function named 'g' was recorded" in render_rewrites(record, RewritesView(function="g"))
    assert render_rewrites(ProfileRecord()) == "no function's rewrites were recorded\n"
