"""The work of instructions, from shapes, against figures computed by hand."""

from typing import Any

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.cost import Work
from scanviz.engine.program.instructions import all_loops, loops
from scanviz.engine.program.lower import lower
from scanviz.engine.program.plan import chains, plan_loop
from scanviz.engine.program.work import work_of
from tests.support.arena import EVERYTHING

M, N, K = 12, 20, 7


def work_of_step(step: Any, rewrites: str = "none") -> dict[str, Work | None]:
    """Return the work of the operations of a step over a state of shape (M, N), with a (M, K) and b (K, N), by name."""
    a, b, start = T.matrix("a"), T.matrix("b"), T.matrix("start")
    rows, _ = scanviz.scan(lambda h: step(h, a, b), outputs_info=start, n_steps=4)
    f = scanviz.function([a, b, start], rows, mode=scanviz.Mode("numpy", rewrites), on_unused_input="ignore")
    f(np.ones((M, K)), np.ones((K, N)), np.ones((M, N)))
    [(loop, _)] = all_loops(f.program)
    found = work_of(loop.body, f.memory_plans()[loop.key])
    return {each.op.name: work for each, work in zip(loop.body.instructions, found, strict=True)}


def test_a_product_has_two_operations_for_each_number_that_is_summed() -> None:
    work = work_of_step(lambda h, a, b: T.dot(a, b) + h)["dot"]
    assert work == Work(2 * M * N * K, 2 * M * N * K, 8 * (M * K + K * N + M * N))


def test_a_function_counts_ten_operations_an_element_and_an_addition_one() -> None:
    found = work_of_step(lambda h, a, b: T.tanh(h) + h)
    assert found["tanh"] == Work(10 * M * N, 0, 2 * 8 * M * N)
    assert found["add"] == Work(M * N, 0, 3 * 8 * M * N)


def test_views_count_no_work_and_broadcast_rows_move_once() -> None:
    found = work_of_step(lambda h, a, b: h + T.exp(h[0]))
    assert found["index"] == Work(0, 0, 0)
    assert found["add"] == Work(M * N, 0, 8 * (2 * M * N + N))


def test_an_in_place_assignment_counts_its_part_alone() -> None:
    found = work_of_step(lambda h, a, b: T.exp(T.set_subtensor(T.exp(h)[2], 1.5)), "all")
    assert found["assign"] == Work(0, 0, 8 * N)
    found = work_of_step(lambda h, a, b: T.exp(T.inc_subtensor(T.exp(h)[2:4], 1.5)), "all")
    assert found["assign"] == Work(0, 0, 2 * 8 * 2 * N)


def test_registers_never_in_memory_count_no_bytes() -> None:
    start = T.matrix("start")
    rows, _ = scanviz.scan(lambda h: T.tanh(h * 2.0) + h, outputs_info=start, n_steps=4)
    [loop] = loops(lower([start], [rows], "test"))
    planned = plan_loop(loop, [(M, N)], chains, EVERYTHING)
    assert planned.groups == ((0, 1, 2),)
    found = work_of(loop.body, planned)
    assert [work.bytes for work in found if work] == [
        8 * M * N,
        0,
        8 * M * N,
    ]  # h is read once, the next h written
    assert [work.flops for work in found if work] == [M * N, 10 * M * N, M * N]


def test_work_of_shapes_that_depend_on_values_is_unknown() -> None:
    assert work_of_step(lambda h, a, b: h + T.sum(T.exp(h[h > 0.5])))["exp"] is None


def test_work_outside_of_loops_is_of_the_shapes_that_were_met() -> None:
    a, b = T.matrix("a"), T.matrix("b")
    f = scanviz.function([a, b], T.dot(a, b), name="f")
    with scanviz.profile() as p:
        f(np.ones((M, K)), np.ones((K, N)))
    [operation] = p.record.functions[0].operations
    assert operation.measures["flops"] == operation.measures["product_flops"] == 2 * M * N * K
    assert operation.measures["bytes"] == 8 * (M * K + K * N + M * N)


def test_work_that_varies_between_calls_is_unknown() -> None:
    """Its time is that of both: what one of them moved by that is what neither moved in any time."""
    a, b = T.matrix("a"), T.vector("b")
    f = scanviz.function([a, b], [T.exp(a), T.tanh(b)], mode="numpy")
    with scanviz.profile() as p:
        for rows in (M, M, N, M):
            f(np.ones((rows, K)), np.ones(K))
            kept = p.record
    exp, tanh = kept.functions[0].operations
    assert not exp.measures.keys() & {"bytes", "flops"}
    assert tanh.measures["flops"] == 10 * K


def test_the_work_of_an_ongoing_run_follows_its_sizes() -> None:
    n = T.lscalar("n")
    f = scanviz.function([n], T.exp(T.arange(n) * 1.0), mode=scanviz.Mode("numpy", "none"))
    with scanviz.profile() as p:
        f(M)
        first = p.record.functions[0].operations[-1]
        f(N)
        later = p.record.functions[0].operations[-1]
    assert first.measures["flops"] == 10 * M
    assert "flops" not in later.measures


def test_work_of_a_step_that_varies_between_calls_is_unknown() -> None:
    """A loop's typical step is that of all its calls: a short last call must not produce impossible rates."""
    x, h, n = T.matrix("x"), T.vector("h"), T.vector("n")
    rows, _ = scanviz.scan(lambda x_t, h, n: [T.tanh(x_t + h) + T.exp(n).sum()], x, h, n)
    f = scanviz.function([x, h, n], rows, mode=scanviz.Mode("numpy", "none"))
    f(np.ones((5, 2)), np.ones(2), np.ones(2))  # unobserved
    with scanviz.profile(detail="ops") as p:
        for width in (40, 40, 3):
            first = p.record
            f(np.ones((50, width)), np.ones(width), np.ones(K))
    text, untold = (
        {operation.label: operation.measures.get("flops") for operation in record.loops[0].operations}
        for record in (first, p.record)
    )
    assert text["tanh(x[t] + h[t-1])"] == 400 and text["exp(n)"] == untold["exp(n)"] == 10 * K
    assert untold["tanh(x[t] + h[t-1])"] is untold["x[t] + h[t-1]"] is None


def test_a_profile_counts_only_its_own_shapes() -> None:
    a = T.matrix("a")
    f = scanviz.function([a], T.exp(a), mode="numpy")
    for rows in (M, N):
        with scanviz.profile() as p:
            f(np.ones((rows, K)))
        [exp] = p.record.functions[0].operations
        assert exp.measures["flops"] == 10 * rows * K
