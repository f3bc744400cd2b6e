"""Rewrites as text: the list, one change in three styles, why and why not."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import Observer, observed_by
from scanviz.profiler.report.diff import side_by_side
from scanviz.profiler.report.rewrites import RewritesOptions, render_rewrites
from scanviz.profiler.report.text import columns
from scanviz.record.graphs.rewrites_snapshot import rewrites_of
from scanviz.record.model import FunctionRecord, ProfileRecord


@pytest.fixture(scope="module")
def record():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), w, name="rnn")
    cost = T.sum(h[-1] ** 2)
    f = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name="train")
    function = FunctionRecord(
        key=1, name="train", source=None, backend="numpy", calls=1, rewrites=rewrites_of(f)
    )
    return ProfileRecord(functions=(function,))


def steps(text):
    return {rule: int(index) for index, rule in re.findall(r"^ +(\d+)  (\w+)", text, re.MULTILINE)}


def test_the_list_shows_the_effect_and_gain_of_each_rewrite(record):
    text = render_rewrites(record)
    assert text.startswith("train: ") and "PushOutDot1" in text
    assert "`∂w`: products added up in the loop are one product after it" in text
    assert re.search(r"loop `rnn`: 3 → 2 operations a step", text)
    assert "in all: loop `rnn`: 3 → 2 operations a step" in text
    assert "--why-not" not in text and "--why-not PushOutNonSeqScan" in render_rewrites(
        record, RewritesOptions(everything=True)
    )


def test_rewrites_can_be_listed_for_one_rule_or_loop(record):
    text = render_rewrites(record, RewritesOptions(rule="PushOutDot1"))
    assert set(steps(text)) == {"PushOutDot1"}
    of_rnn = render_rewrites(record, RewritesOptions(scan="rnn"))
    assert "PushOutSeqScan" in of_rnn and "grad_of_rnn`: " not in of_rnn


def test_operations_moved_out_of_a_loop_are_listed_under_it(record):
    of_gradient = render_rewrites(record, RewritesOptions(scan="grad_of_rnn"))
    assert "PushOutDot1" in steps(of_gradient) and "`∂w` (sitsot) leaves `grad_of_rnn`" in of_gradient


@pytest.mark.parametrize("style", ["unified", "side-by-side", "tree"])
def test_one_rewrite_is_shown_line_by_line(record, style):
    step = steps(render_rewrites(record, RewritesOptions(scan="rnn")))["PushOutSeqScan"]
    text = render_rewrites(record, RewritesOptions(step=step, style=style), width=120)
    assert "dot(x[t], w)" in text and "sequence dot(x[t], w)" in text
    rewrites = record.functions[0].rewrites
    unchanged = set(rewrites.lines(step)) & set(rewrites.lines(step + 1))
    assert all((line in text) for line in unchanged) == (style == "tree")
    assert all(len(line) <= 120 for line in text.splitlines())


def test_why_follows_the_rules_down_to_the_users_line(record):
    rewrites = record.functions[0].rewrites
    made = next(
        origin for origin in reversed(rewrites.origins) if origin.rule == "PushOutDot1" and origin.parents
    )
    text = render_rewrites(record, RewritesOptions(why=made.name))
    assert f"{made.name} = {made.op}  made by PushOutDot1" in text
    assert "test_rewrites.py:" in text
    line = next(origin.source for origin in rewrites.origins if origin.op.startswith("scan{rnn"))
    assert "scan{rnn}  written" in render_rewrites(record, RewritesOptions(why=line.rpartition(":")[2]))
    assert "nothing is called 'nonsense'" in render_rewrites(record, RewritesOptions(why="nonsense"))


def test_why_not_prints_the_failed_precondition(record):
    text = render_rewrites(record, RewritesOptions(why_not="scan_merge_inouts"))
    assert "scan_merge_inouts was not applied:" in text
    assert "loop `rnn`" in text and "no two results of `rnn` are equal at every step" in text
    nowhere = render_rewrites(record, RewritesOptions(why_not="split_factorisation"))
    assert "nowhere refused" in nowhere


def test_listings_have_colours_and_no_control_characters(record):
    coloured = render_rewrites(record, RewritesOptions(step=0), color=True)
    assert "\x1b[" in coloured and "\x1b[" not in render_rewrites(record, RewritesOptions(step=0))
    x = T.vector("bad\x1b[31mname")
    f = scanviz.function([x], T.exp(x) + T.exp(x), name="evil\x07")
    function = FunctionRecord(
        key=1, name=f.name, source=None, backend="numpy", calls=1, rewrites=rewrites_of(f)
    )
    text = render_rewrites(ProfileRecord(functions=(function,)), RewritesOptions(step=0))
    assert "\x1b" not in text and "\x07" not in text and "bad\\x1b[31mname" in text


def test_unknown_numbers_and_records_without_rewrites_are_reported(record):
    assert "there is no rewrite 99" in render_rewrites(record, RewritesOptions(step=99))
    assert "no function named 'g' was recorded" in render_rewrites(record, RewritesOptions(function="g"))
    assert render_rewrites(ProfileRecord()) == "no function's rewrites were recorded\n"


class Weighed(Observer):
    weighs = True


def test_with_the_shapes_of_a_call_costs_are_numbers():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(T.dot(x_t, w) + h), x, T.zeros(4), name="rnn")
    f = scanviz.function([x, w], h, mode="numpy", name="train")
    with observed_by(Weighed()):
        f(np.ones((7, 3)), np.ones((3, 4)))
    record = recorded(f, "train")
    text = render_rewrites(record, width=200)
    assert (
        "in all: loop `rnn`: 3 → 2 operations a step, 68 → 44 floating-point operations, 312 B → 160 B read and written"
        in text
    )
    assert "in all: a call: 22 → 15 operations" in text
    assert (
        "with the sizes of the last call: w.shape[0] = 3, w.shape[1] = 4, x.shape[0] = 7, x.shape[1] = 3"
        in text
    )
    step = steps(text)["PushOutSeqScan"]
    shown = render_rewrites(record, RewritesOptions(step=step, style="costs"), width=200)
    assert "before and after  2·w.shape[1]·x.shape[0]·x.shape[1] + 44·x.shape[0] = 476" in shown


GOLDEN = """\
twice: 1 rewrite by 1 rule, TIME
  canonical
    0  merge_equal  -1 +0 operations  TIME
       1 exp had an equal
       operations: -1
       floating-point operations: -10·x.shape[0]

--step N shows one rewrite line by line; --why NAME tells where something comes from; more: --help
"""
GOLDEN_STEP = """\
twice: 1 rewrite by 1 rule, TIME
  0  merge_equal  -1 +0 operations  TIME  (canonical, scanviz/engine/rewrites/arithmetic/fold.py:LINE)
     1 exp had an equal
     operations: -1
     floating-point operations: -10·x.shape[0]

    v1 = exp(x)
  - v2 = exp(x)
  - v3 = add(v1, v2)
  + v3 = add(v1, v1)
    return v3
"""


def without_times(text):
    return re.sub(r"fold.py:\d+", "fold.py:LINE", re.sub(r"[\d.]+ (ns|µs|ms|s)\b", "TIME", text))


def recorded(function, name):
    kept = FunctionRecord(
        key=1, name=name, source=None, backend="numpy", calls=1, rewrites=rewrites_of(function)
    )
    return ProfileRecord(functions=(kept,))


def test_the_list_and_one_rewrite_are_printed_as_expected():
    x = T.vector("x")
    found = recorded(scanviz.function([x], T.exp(x) + T.exp(x)), "twice")
    assert without_times(render_rewrites(found)) == GOLDEN
    for view in (
        RewritesOptions(step=0),
        RewritesOptions(rule="merge_equal"),
    ):  # the few of a rule are shown at once
        assert without_times(render_rewrites(found, view, width=120)) == GOLDEN_STEP


def test_a_style_shows_all_rewrites_of_a_loop_line_by_line(record, monkeypatch):
    monkeypatch.setattr("scanviz.profiler.report.rewrites.FEW", 1)
    listed = render_rewrites(record, RewritesOptions(scan="rnn"))
    assert len(steps(listed)) > 1 and "return " not in listed
    shown = render_rewrites(record, RewritesOptions(scan="rnn", style="tree"))
    assert steps(shown) == steps(listed) and shown.count("return ") >= 2


def test_lines_that_give_the_same_name_stand_together():
    before, after = ["a = f(x)", "b = g(a)", "return b"], ["b = g(p)", "c = h(b)", "return c"]
    rows = [each.text.split("  ")[1:] for each in side_by_side(before, after, 80)]
    texts = [" ".join(" ".join(row).split()) for row in rows]
    assert texts == ["a = f(x) <", "b = g(a) │ b = g(p)", "> c = h(b)", "return b │ return c"]


def test_lines_too_long_for_their_half_still_show_how_they_differ():
    same = "v1 = multiply(0.0999999999999999, "
    rows = [each.text for each in side_by_side([same + "d(cost)/d(W))"], [same + "d(cost)/d(W)~2)"], 80)]
    left, right = rows[0].split(" │ ")
    assert left.split()[0] == right.split()[0] == "v1" and left.split()[1] == "…"
    assert left.rstrip().endswith("d(cost)/d(W))") and right.endswith("d(cost)/d(W)~2)")
    assert all(len(row) <= 80 for row in rows)
    far = [
        each.text
        for each in side_by_side(["v1 = f(" + "a" * 99 + "b" * 99], ["v1 = f(" + "a" * 99 + "c" * 99], 80)
    ]
    assert "aab" in far[0] and "aac" in far[0] and len(far[0]) <= 80


def test_why_finds_a_rewritten_variable_by_its_old_name():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), w, name="rnn")
    cost = T.sum(h[-1] ** 2)
    cost.name = "cost"
    found = recorded(scanviz.function([x, w], [cost, scanviz.grad(cost, w)]), "train")
    text = render_rewrites(found, RewritesOptions(why="∂w"))
    assert re.search(r"^  ∂w~\d+ = state_shape\{.*\}  made by PushOutDot1$", text, re.MULTILINE)


def test_why_accepts_loops_results_and_partial_paths(record):
    text = [
        render_rewrites(record, RewritesOptions(why=each)).splitlines()[1:]
        for each in ("rnn", "h", f"test_rewrites.py:{line_of(record)}")
    ]
    assert text[0] == text[1] and text[0][0].startswith("  h = scan{rnn}  written at ")
    assert text[0][0] in text[2] and len(text[2]) > len(text[0])
    gone = render_rewrites(record, RewritesOptions(why="∂w"))
    assert render_rewrites(record, RewritesOptions(why="grad_w")) == gone
    assert "scan{grad_of_rnn}  made by gradient" in gone


def line_of(record):
    (line,) = {origin.source for origin in record.functions[0].rewrites.origins if origin.op == "scan{rnn}"}
    return line.rpartition(":")[2]


def test_values_made_by_no_operation_are_called_given(record):
    for name in ("w", "x[t]"):
        assert f"no operation makes '{name}'" in render_rewrites(record, RewritesOptions(why=name))
    assert "nearest: " in render_rewrites(record, RewritesOptions(why="99999"))
    nothing = render_rewrites(record, RewritesOptions(why="y"))
    assert "nothing is called 'y'" in nothing


def test_a_line_with_many_operations_is_reported_once(record):
    lines = render_rewrites(record, RewritesOptions(why=line_of(record))).splitlines()[1:]
    names = [line.split(" = ")[0].strip() for line in lines if " = " in line]
    assert len(names) == len(set(names)) > 3


def test_functions_never_called_or_without_rewrites_are_reported_as_such():
    x = T.vector("x")
    f = scanviz.function([x], T.exp(x), mode="numpy", name="plain")
    once = FunctionRecord(key=1, name="f", source=None, backend="numpy", rewrites=rewrites_of(f))
    text = render_rewrites(ProfileRecord(functions=(once,)))
    assert text.splitlines()[0] == "f: no rewrites, never called" and "nothing of that" not in text
    called = render_rewrites(ProfileRecord(functions=(replace(once, calls=1),)))
    assert called.splitlines()[0] == "f: no rewrites"


def test_long_costs_are_cut_between_terms_in_the_list_and_whole_line_by_line(record):
    (function,) = record.functions
    terms = [f"{k}·maximum(x.shape[{k}] - {k}, 0)" for k in range(2, 12)]
    (first, *others) = function.rewrites.applications
    cost = replace(first.difference, flops="-" + " - ".join(terms))
    rewrites = replace(function.rewrites, applications=(replace(first, difference=cost), *others))
    long = ProfileRecord(functions=(replace(function, rewrites=rewrites),))
    listed = " ".join(render_rewrites(long).split())
    assert f"floating-point operations: -{' - '.join(terms[:3])} … " in listed and terms[3] not in listed
    shown = " ".join(render_rewrites(long, RewritesOptions(step=first.index)).split())
    assert f"floating-point operations: -{' - '.join(terms)} " in shown


def test_refusals_are_counted_with_the_command_for_more(record):
    text = render_rewrites(record, RewritesOptions(everything=True), width=60)
    counted = text[text.index("  refused\n") :]
    assert "(--why-not remove_constants_and_unused_inputs_scan)" in " ".join(counted.split())
    (function,) = record.functions
    none = ProfileRecord(functions=(replace(function, rewrites=replace(function.rewrites, refusals=())),))
    assert "refused" not in render_rewrites(none, RewritesOptions(everything=True))


def test_the_number_of_applications_of_a_rule_is_given_in_words(record):
    text = render_rewrites(record, RewritesOptions(why_not="PushOutSeqScan"))
    times = sum(
        application.rule == "PushOutSeqScan" for application in record.functions[0].rewrites.applications
    )
    assert (
        f"PushOutSeqScan was applied {'once' if times == 1 else f'{times} times'}; where it was not:" in text
    )
    assert "1 times" not in text


@pytest.mark.parametrize("style", ["unified", "side-by-side", "tree"])
@pytest.mark.parametrize("width", [40, 80, 160])
def test_every_view_stays_within_its_width(record, style, width):
    for step in range(len(record.functions[0].rewrites.applications)):
        text = render_rewrites(record, RewritesOptions(step=step, style=style), width=width)
        assert max(map(columns, text.splitlines())) <= width


def test_a_loop_called_by_the_path_of_its_file_is_found():
    x = T.vector("x")

    def step(v, h):
        inner, _ = scanviz.scan(lambda a, g: T.tanh(g * a + v), x, h, name="at a/in.py:2")
        return inner[-1]

    h, _ = scanviz.scan(step, x, T.constant(0.0), name="at a/out.py:1")
    found = recorded(scanviz.function([x], h), "f")
    refused = render_rewrites(found, RewritesOptions(why_not="scan_merge_inouts", scan="at a/out.py:1"))
    assert "loop `at a/in.py:2` in the step of `at a/out.py:1`" in refused
    none = render_rewrites(found, RewritesOptions(why_not="scan_merge_inouts", scan="in.py:2"))
    assert "nowhere refused" in none


def test_a_record_with_the_list_alone_explains_missing_graphs(record):
    (function,) = record.functions
    small = ProfileRecord(functions=(replace(function, rewrites=function.rewrites.list_only()),))
    assert "PushOutDot1" in render_rewrites(small)
    shown = render_rewrites(small, RewritesOptions(step=0))
    assert "only the list was kept of this function" in shown and "the graph stays" not in shown
