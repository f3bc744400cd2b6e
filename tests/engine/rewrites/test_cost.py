"""Costs: counted by hand, as polynomials in named sizes, and the same in numbers where these are known."""

import pytest
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.engine.rewrites import cost
from scanviz.engine.rewrites.cost import cost_of
from scanviz.engine.sizes.polynomial import Polynomial
from scanviz.testing import random_loops, rewritten_by


def rnn():
    x, w, u = T.tensor3("x"), T.matrix("w"), T.matrix("u")
    h, _ = scanviz.scan(
        lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)), x, T.zeros((2, 4)), [w, u], name="rnn"
    )
    return [x, w, u], h


def test_an_rnn_is_counted_as_by_hand():
    _, h = rnn()
    cost = cost_of([h])
    assert cost.operations_per_step == {("rnn",): 4}
    assert str(cost.operations) == "4·x.shape[0] + 1"  # and the zeros it starts from
    known = (
        T.tensor("float64", (7, 2, 3), "x"),
        T.tensor("float64", (3, 4), "w"),
        T.tensor("float64", (4, 4), "u"),
    )
    h, _ = scanviz.scan(
        lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)),
        known[0],
        T.zeros((2, 4)),
        known[1:],
        name="rnn",
    )
    cost = cost_of([h])
    assert cost.operations.number == 28 + cost_of([T.zeros((2, 4))]).operations.number
    assert cost.flops.number == 7 * (2 * 2 * 3 * 4 + 2 * 2 * 4 * 4 + 8 + 10 * 8)
    assert cost.buffer_bytes.number == 8 * 8 * (7 + 1)


def test_moving_a_product_out_lowers_the_operations_of_a_step_and_keeps_the_flops():
    _, h = rnn()
    before, after = cost_of([h]), cost_of(rewritten_by("PushOutSeqScan", [h]))
    assert (before.operations_per_step[("rnn",)], after.operations_per_step[("rnn",)]) == (4, 3)
    assert before.flops == after.flops


def test_unkept_rows_are_not_counted():
    a = T.tensor("float64", (100,), "a")
    power, _ = scanviz.scan(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=1000)
    assert cost_of([power]).buffer_bytes.number == 8 * 100 * 1001
    assert cost_of(rewritten_by("ScanSaveMem", [power[-1]])).buffer_bytes.number == 8 * 100 * 2


def test_loops_in_loops_count_as_often_as_they_run():
    x = T.matrix("x")
    rows, _ = scanviz.scan(
        lambda r: scanviz.scan(lambda v, s: s + v * 2.0, r, 0.0, name="inner")[0][-1], x, name="outer"
    )
    cost = cost_of([rows])
    assert cost.operations_per_step == {("outer", "inner"): 2, ("outer",): 0}
    assert cost.operations == Polynomial.of("x.shape[0]") * Polynomial.of("x.shape[1]") * 2


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda a, b: T.dot(a, b), 2 * 3 * 4 * 4),
        (lambda a, b: T.linalg.cholesky(b), 64 / 3),
        (lambda a, b: T.solve(b, b[0]), 2 * 64 / 3 + 2 * 16),
        (lambda a, b: T.sum(a), 12),
        (lambda a, b: a.T, 0),
        (lambda a, b: T.exp(a), 120),
    ],
)
def test_operations_are_counted_as_textbooks_do(make, expected):
    a, b = T.tensor("float64", (3, 4), "a"), T.tensor("float64", (4, 4), "b")
    assert cost_of([make(a, b)]).flops.number == pytest.approx(expected)


@given(case=random_loops(updates=False))
def test_costs_of_any_loop_are_never_negative_and_fall_with_its_rows(case):
    results, _, _, _ = case.build()
    cost = cost_of(results)
    names = {
        name
        for each in (cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes)
        for name in each.names
    }
    for size in (0, 1, 5):
        sizes = dict.fromkeys(names, size)
        assert (
            min(each.at(sizes) for each in (cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes))
            >= 0
        )
    last = [result[-1] for result in results if case.n_steps]
    if last:
        kept = cost_of(rewritten_by("ScanSaveMem", last)).buffer_bytes
        assert kept.at(dict.fromkeys({*names, *kept.names}, 5)) <= cost_of(last).buffer_bytes.at(
            dict.fromkeys({*names, *kept.names, *cost_of(last).buffer_bytes.names}, 5)
        )


def test_every_history_has_a_cost_before_and_after_each_application():
    inputs, h = rnn()
    f = scanviz.function(inputs, [h[-1], scanviz.grad(T.sum(h[-1]), inputs[1])], mode="numpy")
    for each in f.rewrites.of_graph:
        assert each.cost_before.operations_per_step and each.cost_after.flops.names
    (push,) = [
        each for each in f.rewrites.of_graph if each.rule == "PushOutSeqScan" and "`rnn`" in each.message
    ]
    assert push.cost_after.operations_per_step[("rnn",)] < push.cost_before.operations_per_step[("rnn",)]


def test_program_rewrites_leave_the_cost_of_the_graph_unchanged():
    inputs, h = rnn()
    f = scanviz.function(inputs, [T.sum(h**2), *scanviz.grad(T.sum(h**2), inputs[:2])], mode="numpy")
    *_, last = f.rewrites.of_graph
    of_program = list(f.rewrites)[len(f.rewrites.of_graph) :]
    assert len(of_program) > 1
    for application in of_program:
        assert application.cost_before == application.cost_after == last.cost_after


def test_costs_of_versions_are_those_of_their_graphs_and_rebuilt_loops_are_not_counted_again(monkeypatch):
    counted, count = [], cost._loop_cost
    monkeypatch.setattr(cost, "_loop_cost", lambda node, scope: counted.append(1) or count(node, scope))
    rows, matrices = T.tensor3("x"), [T.matrix(f"w{k}") for k in range(4)]
    first = rows
    for w in matrices:
        rows = scanviz.scan(
            lambda row, h, w: T.tanh(row + h @ w), rows, T.zeros_like(rows[0]), w, return_updates=False
        )
    history = scanviz.function([first, *matrices], T.grad((rows**2).sum(), matrices)).rewrites
    found, loops = history.costs(), len(counted)
    assert found == [cost_of(graph) for graph in history.all_graphs()]
    assert loops < (len(counted) - loops) / 3
