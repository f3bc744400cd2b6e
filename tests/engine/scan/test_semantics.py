"""What scan means, corner by corner, on every tier."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.shape import dimension
from scanviz.engine.scan.loop import Scan


@pytest.fixture(params=["reference", "numpy"])
def mode(request):
    return request.param


def run(mode, inputs, outputs, *values, **options):
    return scanviz.function(inputs, outputs, mode=mode, **options)(*values)


def test_results_agree_with_the_guide(mode):
    x, k = T.vector("x"), T.iscalar("k")
    result, updates = scanviz.scan(
        lambda p, a: p * a, outputs_info=T.ones_like(x), non_sequences=x, n_steps=k
    )
    assert run(mode, [x, k], result[-1], range(10), 4, updates=updates).tolist() == [
        float(n**4) for n in range(10)
    ]
    limit = T.scalar("limit")
    powers, _ = scanviz.scan(
        lambda p, m: (p * 2, scanviz.until(p * 2 > m)),
        outputs_info=T.constant(1.0),
        non_sequences=limit,
        n_steps=1024,
    )
    assert run(mode, [limit], powers, 45).tolist() == [2, 4, 8, 16, 32, 64]


def test_outputs_of_all_kinds_come_in_the_order_of_outputs_info(mode):
    a, b = T.vector("a"), T.scalar("b")
    outputs, _ = scanviz.scan(
        lambda b_tm1, a_tm2, a_tm1: (b_tm1 + 1, a_tm1 * 2, a_tm2 + a_tm1),
        outputs_info=[b, None, dict(initial=a, taps=[-2, -1])],
        n_steps=3,
    )
    found = run(mode, [a, b], outputs, [1.0, 1.0], 0.0)
    assert [each.tolist() for each in found] == [[1, 2, 3], [2, 4, 6], [2, 3, 5]]


def test_no_steps_give_no_rows_of_the_right_shape_and_leave_state_alone(mode):
    m, h0, n = T.matrix("m"), T.vector("h0"), T.lscalar("n")
    count = scanviz.shared(5, "count")

    def step(row, h):
        return (h + row, T.outer(row, h), row.sum()), {count: count + 1}

    outputs, updates = scanviz.scan(step, m, [h0, None, None], n_steps=n)
    found = run(mode, [m, h0, n], outputs, np.ones((4, 3)), np.zeros(3), 0, updates=updates)
    assert [each.shape for each in found] == [(0, 3), (0, 3, 3), (0,)]
    assert count.get_value() == 5


def test_no_steps_give_rows_of_a_size_that_a_row_chooses_among_equal_ones(mode):
    m, h0 = T.matrix("m"), T.vector("h0")

    def step(row, h):
        wide = T.where(row.sum() > 0, row.shape[0], h.shape[0])
        return T.full((wide, 2), row.sum())

    outputs, _ = scanviz.scan(step, m, non_sequences=h0)
    assert run(mode, [m, h0], outputs, np.ones((0, 3)), np.zeros(3)).shape == (0, 3, 2)


def test_one_step_known_when_building_is_unrolled_and_honours_everything(mode):
    x, s = T.vector("x"), scanviz.shared(1.0, "s")
    result, updates = scanviz.scan(
        lambda a, h: (h + a, {s: s * 2}, scanviz.until(h > 100)),
        dict(input=x, taps=[-1]),
        0.0,
        n_steps=1,
        go_backwards=True,
    )
    assert not any(isinstance(node.op, Scan) for node in toposort([result]))
    assert run(mode, [x], result, np.arange(4.0), updates=updates).tolist() == [2.0]
    assert s.get_value() == 2.0
    ahead, _ = scanviz.scan(lambda a: a, dict(input=x, taps=[2]), n_steps=1)
    assert run(mode, [x], ahead, np.arange(4.0)).tolist() == [2.0]


def test_updates_are_symbolic_and_applied_when_passed(mode):
    a = scanviz.shared(1, "a")
    _, updates = scanviz.scan(lambda: {a: a + 1}, n_steps=10)
    b, c = a + 1, updates[a] + 1
    assert [int(each) for each in run(mode, [], [b, c], updates=updates)] == [2, 12]
    assert a.get_value() == 11


def test_until_stops_with_updates_after_the_triggering_step(mode):
    a = scanviz.shared(0, "a")
    result, updates = scanviz.scan(lambda v: (v, {a: a + 1}, scanviz.until(v > 2)), T.arange(10))
    assert run(mode, [], [result, result.shape[0]], updates=updates)[1] == 4
    assert a.get_value() == 4


def test_a_sum_of_large_whole_numbers_from_a_python_number_is_exact(mode):
    q = T.tensor("uint64", (None,), "q")
    large = np.array([2**60 + 1, 1], "uint64")
    for loop, last in (
        (scanviz.scan(lambda v, s: s + v, q, 0)[0], -1),
        (scanviz.foldl(lambda v, s: s + v, q, 0)[0], ()),
        (scanviz.foldr(lambda v, s: s + v, q, 0)[0], ()),
        (scanviz.reduce(lambda v, s: s + v, q, 0)[0], ()),
        (scanviz.scan_checkpoints(lambda v, s: s + v, q, 0, save_every_N=1)[0], -1),
        (scanviz.scan(lambda v, s: (s + v, scanviz.until(s > 2**61)), q, 0)[0], -1),
        (scanviz.scan(lambda v, a, b: b + v, q, dict(initial=[0, 0], taps=[-2, -1]))[0], -1),
    ):
        assert run(mode, [q], loop, large)[last] == 2**60 + 2
    counted = scanviz.scan(lambda v, k, s: (k + 1, s + k * v), q, [1, 0])[0]
    assert [found[-1] for found in run(mode, [q], counted, large)] == [3, 2**60 + 3]


def test_a_loop_in_a_step_runs_over_the_dtypes_it_was_built_for(mode):
    q = T.tensor("uint8", (None,), "q")

    def step(v, total):
        inner, _ = scanviz.scan(lambda r, g: g + r, T.stack([v, v]), 0)
        return total + inner[-1]

    totals, _ = scanviz.scan(step, q, 0)
    assert totals.dtype == "uint8"
    assert run(mode, [q], totals, np.array([1, 2], "uint8")).tolist() == [2, 6]
    started, _ = scanviz.scan(lambda v, g: scanviz.scan(lambda r, h: h + r, T.stack([v, v]), g)[0][-1], q, 0)
    assert run(mode, [q], started, np.array([100, 100], "uint8")).tolist() == [200, 400]


def test_a_value_joined_with_a_state_keeps_its_joined_dtype(mode):
    f = T.fvector("f")
    sums, _ = scanviz.scan(lambda v, h: (T.concatenate([h[None], v[None]]).sum(), h + v), f, [0.0, None])
    assert [run(mode, [f], each, [1.0, 2.0]).dtype for each in sums] == [each.dtype for each in sums]


def test_a_returned_python_number_takes_the_dtype_of_its_state(mode):
    f = T.fvector("f")
    reset, _ = scanviz.scan(lambda v, h: 0, f, np.float32(1.5))
    assert reset.dtype == "float32"
    assert run(mode, [f], reset, [1.0], on_unused_input="ignore").tolist() == [0]


def test_variables_built_before_the_loop_are_computed_before_it(mode):
    x, w = T.vector("x"), T.scalar("w")
    squared = w**2
    result, _ = scanviz.scan(lambda v: v * squared, x)
    (loop,) = [node for node in toposort([result]) if isinstance(node.op, Scan)]
    assert squared in loop.inputs
    assert run(mode, [x, w], result, [1.0, 2.0], 3.0).tolist() == [9, 18]


def test_a_random_number_drawn_before_the_loop_is_drawn_once(mode):
    stream = T.random.RandomStreams(3)
    noise = stream.uniform()
    outside, _ = scanviz.scan(lambda v: v * 0 + noise, T.arange(4.0))
    assert len(set(run(mode, [], outside).tolist())) == 1
    inside, updates = scanviz.scan(lambda v: v * 0 + stream.uniform(), T.arange(4.0))
    f = scanviz.function([], inside, updates=updates, mode=mode)
    assert len({*f().tolist(), *f().tolist()}) == 8


def test_random_numbers_in_nested_loops_go_on_from_call_to_call(mode):
    stream = T.random.RandomStreams(4)

    def outer(v):
        inner, updates = scanviz.scan(lambda: stream.normal(), n_steps=3)
        return inner, updates

    rows, updates = scanviz.scan(outer, T.arange(5.0))
    f = scanviz.function([], rows, updates=updates, mode=mode)
    assert len({*f().ravel().tolist(), *f().ravel().tolist()}) == 30


def test_nested_loops_may_use_variables_of_every_outer_loop(mode):
    x, w = T.vector("x"), T.scalar("w")

    def outer(x_t):
        def middle(i, acc):
            inner, _ = scanviz.scan(lambda j, s: s + j * x_t * w, T.arange(3.0), 0.0)
            return acc + inner[-1] + i

        rows, _ = scanviz.scan(middle, T.arange(2.0), 0.0)
        return rows[-1]

    result, _ = scanviz.scan(outer, x)
    assert run(mode, [x, w], result, [1.0, 2.0], 10.0).tolist() == [61.0, 121.0]


def test_arguments_of_the_caller_are_not_changed():
    x = T.vector("x")
    sequence, info = dict(input=x, taps=-1), dict(initial=0.0)
    sequences, infos = [sequence], [info]
    scanviz.scan(lambda v, h: h + v, sequences, infos)
    assert sequence == dict(input=x, taps=-1) and info == dict(initial=0.0)
    assert len(sequences) == len(infos) == 1


def test_return_list_and_return_updates_shape_the_result():
    x = T.vector("x")
    assert isinstance(scanviz.scan(lambda v: v, x, return_list=True)[0], list)
    assert scanviz.scan(lambda v: v, x, return_updates=False).ndim == 1
    s = scanviz.shared(0.0)
    assert scanviz.scan(lambda: {s: s + 1}, n_steps=2)[0] is None
    with pytest.raises(scanviz.ScanvizError, match="return_updates=False would lose"):
        scanviz.scan(lambda: {s: s + 1}, n_steps=2, return_updates=False)


def test_outputs_and_updates_may_come_in_either_order(mode):
    s = scanviz.shared(0.0, "s")
    for step in (
        lambda v: ([v], {s: s + v}),
        lambda v: ({s: s + v}, [v]),
        lambda v: (v, [(s, s + v)]),
        lambda v: [[v], {s: s + v}],
    ):
        s.set_value(0.0)
        result, updates = scanviz.scan(step, T.arange(4.0))
        assert run(mode, [], result, updates=updates).tolist() == [0, 1, 2, 3]
        assert s.get_value() == 6


@pytest.mark.parametrize("nothing", [[], (), {}], ids=repr)
def test_a_step_may_return_empty_updates_in_any_form(mode, nothing):
    x, s = T.vector("x"), scanviz.shared(0.0, "s")
    stop = scanviz.until(s > 10)
    for returned in ((nothing,), (nothing, stop)):
        for outputs in (s * 2, [s * 2], [s * 2, s]):
            for ordered in ((outputs, *returned), (*returned[:1], outputs, *returned[1:])):
                found, updates = scanviz.scan(lambda x_t, r=ordered: r, x, return_list=True)
                assert len(found) == (len(outputs) if isinstance(outputs, list) else 1) and updates == {}
                assert run(mode, [x], found[0], [1.0, 2.0]).tolist() == [0.0, 0.0]
    for returned in (nothing, (nothing, nothing), (nothing, stop)):
        assert scanviz.scan(lambda x_t, r=returned: r, x) == (None, {})
    _, updates = scanviz.scan(lambda x_t: (list(nothing), {s: s + x_t}), x)
    assert list(updates) == [s]


def test_asking_for_the_shape_of_a_result_does_not_run_the_loop():
    m = T.matrix("m")
    rows, _ = scanviz.scan(lambda r, h: (T.outer(r, r), h + r.sum()), m, [None, 0.0])
    f = scanviz.function([m], [rows[0].shape[k] for k in range(3)] + [rows[1].shape[0]])
    assert not any("scan" in str(instruction.op) for instruction in f.program.instructions)
    assert [int(each) for each in f(np.ones((4, 3)))] == [4, 3, 3, 4]
    assert dimension(rows[0], 0) is not None


def test_only_rows_that_are_read_are_kept(mode):
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda h: h * 1.0 + 1.0, outputs_info=x, n_steps=1000)
    f = scanviz.function([x], [rows[-1], rows[-3]], mode=scanviz.Mode(mode, "all"))
    (loop,) = [instruction for instruction in f.program.instructions if "scan" in str(instruction.op)]
    assert loop.states[0].keep_last == 3
    assert [each.tolist() for each in f([0.0])] == [[1000.0], [998.0]]
    whole = scanviz.function([x], [rows[-1], rows], mode=scanviz.Mode(mode, "all"))
    (loop,) = [instruction for instruction in whole.program.instructions if "scan" in str(instruction.op)]
    assert loop.states[0].keep_last is None


def test_a_loop_can_be_given_a_tier_of_its_own():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda v, h: h + v, x, 0.0, mode="reference")
    assert scanviz.function([x], rows, mode="numpy")([1.0, 2.0]).tolist() == [1, 3]


def test_foldl_foldr_filter_and_map_agree_with_python(mode):
    x = T.vector("x")
    left, _ = scanviz.foldl(lambda v, acc: acc * 10 + v, x, 0.0)
    right, _ = scanviz.foldr(lambda v, acc: acc * 10 + v, x, 0.0)
    kept, _ = scanviz.filter(lambda v: v > 1, x)
    squares, _ = scanviz.map(lambda v: v**2, x)
    found = run(mode, [x], [left, right, kept, squares], [1.0, 2.0, 3.0])
    assert [each.tolist() for each in found] == [123, 321, [2, 3], [1, 4, 9]]


def test_equal_loops_are_equal_and_hash_alike():
    x = T.vector("x")
    first, _ = scanviz.scan(lambda v, h: h + v, x, 0.0, name="first")
    second, _ = scanviz.scan(lambda v, h: h + v, x, 0.0, name="second")
    third, _ = scanviz.scan(lambda v, h: h - v, x, 0.0, name="third")
    assert first.owner.op == second.owner.op != third.owner.op
    assert hash(first.owner.op) == hash(second.owner.op)
