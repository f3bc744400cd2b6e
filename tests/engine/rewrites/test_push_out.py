"""Work pushed out of loops: graphs before and after, results, and work that stays."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.program.instructions import loops
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.pipeline import Selection
from scanviz.engine.scan.loop import Scan
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import agree, kinds, refusals

RNG = np.random.default_rng(5)


def loop_in(outputs):
    (found,) = [node.op for node in toposort(outputs) if isinstance(node.op, Scan)]
    return found


def operations(op):
    return sorted(node.op.name for node in toposort(op.inner_outputs))


def outside(outputs):
    return [node.op.name for node in toposort(outputs) if not isinstance(node.op, Scan)]


# ---- PushOutNonSeqScan


def test_expressions_of_non_sequences_are_computed_once():
    x, w = T.vector("x"), T.vector("w")
    h, _ = scanviz.scan(lambda x_t, h, w: h * T.exp(w) + x_t, x, T.zeros(3), w, name="decay")
    assert operations(loop_in([h])) == ["add", "exp", "multiply"]
    after = rewritten_by("PushOutNonSeqScan", [h])
    assert operations(loop_in(after)) == ["add", "multiply"]
    assert "exp" in outside(after)
    assert ("non_sequence", "exp(w)") in kinds(loop_in(after))
    agree([x, w], [h], np.ones(4), RNG.normal(size=3))


def test_a_result_that_is_the_same_at_every_step_is_filled_without_the_loop():
    w, n = T.vector("w"), T.vector("x")
    (same, h), _ = scanviz.scan(lambda x_t, h, w: (w * 2.0, h + x_t), n, [None, T.constant(0.0)], w)
    after = rewritten_by("PushOutNonSeqScan", [same, h])
    assert [kind for kind, _ in kinds(loop_in(after))].count("nitsot") == 0
    agree([n, w], [same, h], np.ones(4), np.arange(3.0))
    agree([n, w], [same, h], np.ones(0), np.arange(3.0))


def test_a_loop_inside_a_step_that_depends_on_non_sequences_alone_is_run_once():
    x, w = T.vector("x"), T.vector("w")

    def step(x_t, w):
        inner, _ = scanviz.scan(lambda v, s: s + v, w, 0.0, name="inner")
        return x_t * inner[-1] + 1.0

    rows, _ = scanviz.scan(step, x, non_sequences=w, name="outer")
    after = rewritten_by("PushOutNonSeqScan", [rows])
    names = [node.op.scan_name for node in toposort(after) if isinstance(node.op, Scan)]
    assert names == ["inner", "outer"]
    agree([x, w], [rows], np.ones(4), np.arange(3.0))


def test_expressions_needed_by_a_branch_alone_stay_in_the_branch():
    x, w = T.vector("x"), T.matrix("w")

    def step(x_t, w):
        return scanviz.ifelse(T.gt(x_t, 0.0), T.sum(T.linalg.inv(w)), x_t)

    rows, _ = scanviz.scan(step, x, non_sequences=w)
    after = rewritten_by(["PushOutNonSeqScan", "PushOutSeqScan"], [rows])
    assert "inv" in operations(loop_in(after))
    f = scanviz.function([x, w], rows)
    assert f(-np.ones(3), np.zeros((2, 2))).tolist() == [-1.0] * 3  # a singular matrix in an untaken branch


def test_a_refusal_to_push_out_gives_the_reason():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h * x_t, x, 1.0, name="product")
    why = refusals([h], "PushOutNonSeqScan", [x], mode="numpy")
    assert "the 1 operation of `product` depends on more than its non-sequences" in why


# ---- PushOutSeqScan


def test_a_product_of_a_sequence_with_a_matrix_is_one_product_before_the_loop():
    x, w, u = T.tensor3("x"), T.matrix("w"), T.matrix("u")
    h, _ = scanviz.scan(lambda x_t, h, w, u: T.tanh(x_t @ w + h @ u), x, T.zeros((2, 3)), [w, u], name="rnn")
    assert operations(loop_in([h])).count("matmul") == 2
    after = rewritten_by("PushOutSeqScan", [h])
    assert operations(loop_in(after)) == ["add", "matmul", "tanh"]
    assert "dot" in outside(after)
    agree([x, w, u], [h], RNG.normal(size=(5, 2, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)))


@pytest.mark.parametrize(("rows", "stays"), [(None, True), (32, True), (1, False)])
def test_a_product_of_several_rows_with_a_matrix_stays_in_machine_code_for_the_step(rows, stays):
    x, w = T.tensor("float64", (None, rows, 4), "x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros((rows or 2, 3)), w)
    (loop,) = loops(scanviz.function([x, w], h, mode="native").program)
    assert ("dot" in [each.op.name for each in loop.body.instructions]) == stays


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (lambda v, m: T.dot(m, v), "dot"),
        (lambda v, m: T.dot(v, m), "dot"),
        (lambda v, m: T.sum(v) * T.ones(2), "sum"),
        (lambda v, m: T.max(v) * T.ones(2), "max"),
        (lambda v, m: T.nnet.softmax(v), "softmax"),
        (lambda v, m: T.solve(m, v), "solve"),
        (lambda v, m: T.sort(v), "sort"),
        (lambda v, m: T.concatenate([v, m[0]]) * 2.0, "concatenate"),
        (lambda v, m: T.concatenate([v, v]).reshape((2, 2)) * 2.0, "reshape"),
        (lambda v, m: v[::-1] * 2.0 + v[0], "index"),
        (lambda v, m: m[T.cast(v, "int64")], "index"),
        (lambda v, m: T.cumsum(v) + 1.0, "cumsum"),
    ],
)
def test_each_operation_of_a_row_has_one_over_all_rows(step, name):
    x, m = T.matrix("x"), T.matrix("m")
    rows, _ = scanviz.scan(step, x, non_sequences=m)
    after = scanviz.function([x, m], rows, mode="numpy")
    assert not [node for node in toposort(after.outputs) if isinstance(node.op, Scan)]
    assert name in outside(after.outputs)
    agree([x, m], [rows], np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [0.5, 3.0]]))


def test_a_sequence_that_is_too_short_is_reported_as_the_loop_would():
    a, n = T.vector("a"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda v: v * 2.0, a, n_steps=n, name="doubled")
    f = scanviz.function([a, n], rows, mode="numpy")
    assert not [node for node in toposort(f.outputs) if isinstance(node.op, Scan)]
    with pytest.raises(scanviz.ScanvizError, match="sequence `a` is too short for loop `doubled`"):
        f(np.ones(3), 4)
    with pytest.raises(scanviz.ScanvizError, match="asked for -1 steps"):
        f(np.ones(3), -1)
    assert f(np.ones(3), 2).tolist() == [2.0, 2.0]


def test_a_loop_that_may_end_early_keeps_its_rows():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda v, h: (h + T.exp(v), {}, scanviz.until(h > 3.0)), x, 0.0, name="stops")
    why = refusals([h], "PushOutSeqScan", [x], mode="numpy")
    assert "`stops` may end early: rows would be computed that no step reads" in why
    agree([x], [h], np.zeros(9))


def test_elementwise_work_on_long_rows_stays_where_the_cache_is():
    x = T.tensor("float64", (None, 100, 100), "x")
    h, _ = scanviz.scan(lambda v, h: h * T.tanh(v), x, T.ones((100, 100)))
    assert "only elementwise operations on long rows" in refusals([h], "PushOutSeqScan", [x], mode="numpy")


def test_elementwise_work_on_short_rows_leaves_a_loop_that_numpy_runs():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda v, h, w: T.tanh(T.dot(v, w) + 2.0 * v + h), x, T.zeros(3), w)
    native = scanviz.function([x, w], h, mode="native")
    assert operations(loop_in(native.outputs)) == ["add", "add", "multiply", "tanh"]
    assert operations(loop_in(rewritten_by("PushOutSeqScan", [h]))) == ["add", "tanh"]
    agree([x, w], [h], RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)))


def test_functions_of_single_numbers_leave_the_loop_on_every_tier_and_sums_do_not():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda v, h: h * T.exp(v) + (v + 1.0), x, 0.0)
    for mode, sums in (("native", 2), ("numpy", 1)):
        after = operations(loop_in(scanviz.function([x], h, mode=mode).outputs))
        assert "exp" not in after and after.count("add") == sums


def rewritten_loop(step, mode=None, of_loop=None):
    """Return the operations left in the step of a loop over rows of a matrix, and why some stay."""
    x = T.matrix("x")
    h, _ = scanviz.scan(step, x, T.zeros(3), mode=of_loop, name="loop")
    f = scanviz.function([x], h, mode=mode)
    return operations(loop_in(f.outputs)), [each.why for each in f.rewrites.refusals("PushOutSeqScan")]


@pytest.mark.parametrize(
    ("mode", "of_loop", "stays"),
    [
        (None, None, True), ("native", None, True), ("numpy", None, False), (None, "numpy", False),
        ("numpy", "native", True), ("native", "numpy", False), (None, "reference", False),
    ],
)  # fmt: skip
def test_elementwise_work_stays_in_steps_of_machine_code(mode, of_loop, stays):
    left, why = rewritten_loop(lambda v, h: h + v * v, mode, of_loop)
    assert left == (["add", "multiply"] if stays else ["add"])
    assert any("machine code runs `loop`" in each for each in why) == stays


@pytest.mark.parametrize(
    "step",
    [
        lambda v, h: h + T.sort(v * v),
        lambda v, h: h + T.Print("v")(v * v),
        lambda v, h: h + (v * v)[v > 0].sum(),
    ],
)
def test_a_loop_that_machine_code_does_not_run_is_rewritten_for_numpy(step):
    left, _ = rewritten_loop(step)
    assert "multiply" not in left


def test_a_loop_around_a_numpy_loop_is_rewritten_for_numpy():
    x = T.tensor3("x")

    def step(rows, h, mode):
        inside, _ = scanviz.scan(lambda v, s: s + v, rows, T.zeros(3), mode=mode)
        return h + inside[-1] + rows[0] * rows[1]

    for mode, stays in ((None, True), ("numpy", False)):
        h, _ = scanviz.scan(lambda rows, h, mode=mode: step(rows, h, mode), x, T.zeros(3))
        f = scanviz.function([x], h)
        assert ("multiply" in operations(loop_in(f.outputs))) == stays


def test_push_out_makes_no_rows_longer_than_the_kept_ones():
    words, table = T.lvector("words"), T.matrix("table")
    h, _ = scanviz.scan(lambda word, h, table: T.tanh(table[word] * h + 1.0), words, T.ones(3), table)
    assert "may be much longer than the loop" in refusals(
        [h[-1]], "PushOutSeqScan", [words, table], mode="numpy"
    )
    f = scanviz.function([words, table], h, mode="numpy")  # rows as long are asked for
    assert any(rewrite.rule == "PushOutSeqScan" for rewrite in f.rewrites)
    agree([words, table], [h], np.array([1, 0, 3]), RNG.normal(size=(4, 3)))


def test_too_many_bytes_of_rows_are_not_made():
    x, w = T.tensor("float64", (50_000, 64, 64), "x"), T.tensor("float64", (64, 64), "w")
    h, _ = scanviz.scan(lambda v, h, w: T.tanh(h + v @ w), x, T.zeros((64, 64)), w)
    assert "more than 1073741824" in refusals([h], "PushOutSeqScan", [x, w], mode="numpy")


def kernel(known):
    """Return the pairs of rows of 60 matrices compared, in three nested loops, and the matrices."""
    x = T.tensor("float64", (60, 80, 16) if known else (None, None, None), "x")

    def pair(b, a):
        return T.exp(-T.sqr(a - b).sum())

    def row(a, rows):
        return scanviz.scan(pair, rows, non_sequences=a, return_updates=False)

    def matrix(rows):
        return scanviz.scan(row, rows, non_sequences=rows, return_updates=False)

    return x, scanviz.scan(matrix, x, return_updates=False)


@pytest.mark.parametrize("mode", ["auto", "native", "numpy"])
@pytest.mark.parametrize("known", [True, False])
def test_rows_of_pairs_are_not_all_held_at_once(mode, known):
    x, found = kernel(known)
    f = scanviz.function([x], found, mode=mode)
    given = RNG.normal(size=(60, 80, 16))
    assert f.memory_forecast(given.shape).peak_bytes < 8e6  # all differences take 49
    np.testing.assert_allclose(f(given)[3, 4, 5], np.exp(-np.square(given[3, 4] - given[3, 5]).sum()))


# ---- PushOutDot1


def weight_gradient(batch):
    x, w = (T.tensor3("x") if batch else T.matrix("x")), T.matrix("w")
    first = T.zeros((2, 3)) if batch else T.zeros(3)
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, first, w, name="rnn")
    cost = T.sum(h[-1] ** 2)
    return [x, w], [cost, scanviz.grad(cost, w)]


@pytest.mark.parametrize("batch", [True, False])
def test_weight_gradients_become_one_product(batch):
    inputs, wanted = weight_gradient(batch)
    f = scanviz.function(inputs, wanted)
    backward = next(
        node.op
        for node in toposort(f.outputs)
        if isinstance(node.op, Scan) and node.op.scan_name == "grad_of_rnn"
    )
    assert [name for kind, name in kinds(backward) if kind == "sitsot"] == ["∂h"]  # no sum of ∂w
    spread = f.outputs[1].owner
    assert (spread.op.name, spread.inputs[0].owner.op.name) == ("state_shape", "dot")
    assert any(rewrite.rule == "PushOutDot1" and "`∂w`" in rewrite.message for rewrite in f.rewrites)
    shape = (6, 2, 4) if batch else (6, 4)
    agree(inputs, wanted, RNG.normal(size=shape), RNG.normal(size=(4, 3)), tolerance=1e-10)


def test_the_initial_state_is_added_and_the_stop_condition_kept():
    a, b, s0 = T.tensor3("a"), T.tensor3("b"), T.matrix("s0")

    def step(a_t, b_t, s):
        return s + T.dot(a_t, b_t), {}, scanviz.until(a_t[0, 0] > 0.9)

    sums, _ = scanviz.scan(step, [a, b], s0, name="sums")
    f = scanviz.function([a, b, s0], sums[-1])
    assert any(rewrite.rule == "PushOutDot1" for rewrite in f.rewrites)
    left, right, first = RNG.uniform(0, 0.5, (6, 2, 3)), RNG.normal(size=(6, 3, 2)), RNG.normal(size=(2, 2))
    left[3, 0, 0] = 1.0
    expected = first + sum(left[k] @ right[k] for k in range(4))
    np.testing.assert_allclose(f(left, right, first), expected, rtol=1e-12)


def test_the_last_row_of_no_rows_is_still_an_error():
    a, b = T.tensor3("a"), T.tensor3("b")
    sums, _ = scanviz.scan(lambda p, q, s: s + T.dot(p, q), [a, b], T.zeros((2, 2)))
    f = scanviz.function([a, b], sums[-1])
    assert any(rewrite.rule == "PushOutDot1" for rewrite in f.rewrites)
    with pytest.raises(scanviz.ScanvizError, match="index -1"):
        f(np.zeros((0, 2, 3)), np.zeros((0, 3, 2)))


def test_a_sum_that_is_read_in_the_step_or_whole_stays():
    a, b = T.tensor3("a"), T.tensor3("b")
    whole, _ = scanviz.scan(lambda p, q, s: s + T.dot(p, q), [a, b], T.zeros((2, 2)), name="whole")
    read, _ = scanviz.scan(lambda p, q, s: s + T.dot(p, q) * T.sum(s), [a, b], T.ones((2, 2)), name="read")
    assert "more of `s` is read than its last row" in refusals([whole], "PushOutDot1", [a, b], mode="numpy")
    assert "the step reads `s` elsewhere too" in refusals([read[-1]], "PushOutDot1", [a, b], mode="numpy")


# ---- PushOutScanOutput


def test_a_layer_on_top_of_a_state_is_one_product_after_the_loop():
    x, w, v = T.tensor3("x"), T.matrix("w"), T.matrix("v")

    def step(x_t, h, w, v):
        h = T.tanh(x_t + T.dot(h, w))
        return h, T.nnet.softmax(T.dot(h, v))

    (h, y), _ = scanviz.scan(step, x, [T.zeros((2, 3)), None], [w, v], name="rnn")
    after = rewritten_by("PushOutScanOutput", [y])
    assert operations(loop_in(after)) == ["add", "dot", "tanh"]
    assert [name for name in outside(after) if name in ("dot", "softmax")] == ["dot", "softmax"]
    agree([x, w, v], [h, y], RNG.normal(size=(5, 2, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 4)))


def test_a_layer_read_at_its_last_row_alone_stays_in_the_loop():
    x, w = T.tensor3("x"), T.matrix("w")

    def step(x_t, h, w):
        h = T.tanh(x_t + h)
        return h, T.dot(h, w)

    (_, y), _ = scanviz.scan(step, x, [T.zeros((2, 3)), None], w)
    assert "only last rows of the results are read" in refusals(
        [y[-1]], "PushOutScanOutput", [x, w], mode="numpy"
    )


def test_rows_are_not_kept_only_to_be_made_smaller_after_the_loop():
    x, w = T.matrix("x"), T.matrix("w")

    def step(x_t, h, total, w):
        h = T.tanh(x_t + T.dot(h, w))
        return h, total + T.outer(h, h), T.sum(h**2)

    (h, total, norms), _ = scanviz.scan(step, x, [T.zeros(3), T.zeros((3, 3)), None], w, name="rnn")
    f = scanviz.function([x, w], [h[-1], total[-1], norms], mode="numpy")
    reasons = {
        rule: [refusal.why for refusal in f.rewrites.refusals(rule)]
        for rule in ("PushOutScanOutput", "PushOutDot1")
    }
    assert any(
        "which are larger than the results that leave" in reason for reason in reasons["PushOutScanOutput"]
    )
    assert any("the rows of neither factor are kept" in reason for reason in reasons["PushOutDot1"])
    agree([x, w], [h[-1], total[-1], norms], RNG.normal(size=(5, 3)), RNG.normal(size=(3, 3)))
    kept = scanviz.function([x, w], [h, norms], mode="numpy")  # here the rows are asked for
    assert any(rewrite.rule == "PushOutScanOutput" for rewrite in kept.rewrites)


def test_existing_rows_are_summed_after_the_loop():
    x = T.matrix("x")
    sums, _ = scanviz.scan(lambda x_t, s: s + x_t, x, T.zeros(3), name="sums")
    f = scanviz.function([x], sums[-1])
    assert not [node for node in toposort(f.outputs) if isinstance(node.op, Scan)]
    values = RNG.normal(size=(7, 3))
    np.testing.assert_allclose(f(values), values.sum(0), rtol=1e-12)


# ---- split_factorisation


@pytest.mark.parametrize("assume", ["gen", "pos"])
def test_a_matrix_that_stays_is_factorised_once(assume):
    a, b = T.matrix("a"), T.vector("b")
    x, _ = scanviz.scan(
        lambda x, a: T.solve(a, T.tanh(x), assume_a=assume) + 1.0, outputs_info=b, non_sequences=a, n_steps=4
    )
    f = scanviz.function([a, b], x)
    inside = operations(loop_in(f.outputs))
    assert "solve" not in inside and ("lu_solve" in inside or "cholesky_solve" in inside)
    assert ("lu_factor" if assume == "gen" else "cholesky") in outside(f.outputs)
    matrix = RNG.normal(size=(3, 3))
    agree([a, b], [x], matrix @ matrix.T + 3 * np.eye(3), RNG.normal(size=3))
    with pytest.raises(scanviz.ScanvizError, match="singular" if assume == "gen" else "positive definite"):
        f(np.zeros((3, 3)), np.ones(3))


def test_a_matrix_that_changes_is_solved_with_as_it_is():
    a, b = T.matrix("a"), T.vector("b")
    x, _ = scanviz.scan(
        lambda x, a: T.solve(a * (1.0 + x[0] ** 2), x), outputs_info=b, non_sequences=a, n_steps=3
    )
    assert "changes from step to step" in refusals([x], "split_factorisation", [a, b], mode="numpy")


def test_kept_last_rows_do_not_count_the_steps_of_a_loop():
    x = T.matrix("x")

    def step(x_t, total, level):
        return [total + x_t, level + 1.0], scanviz.until(level >= 3.0)

    (totals, levels), _ = scanviz.scan(step, x, [T.zeros((3,)), np.float64(0)], name="rnn")
    saved = RewriteHistory([totals[-1], levels[-1]], Selection("all").excluding("PushOutScanOutput")).final
    again = RewriteHistory(saved, Selection("all")).final
    f = scanviz.function([x], again, mode="reference")
    total, level = f(np.ones((9, 3)))
    np.testing.assert_array_equal(total, [4.0, 4.0, 4.0])
    assert level == 4.0
