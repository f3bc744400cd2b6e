"""Indices of indices are one index; rows are picked before they are computed.  Values and errors stay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.ops.index_pattern import IndexEntry
from scanviz.engine.rewrites.indexing.places import sizes_to_try
from scanviz.engine.rewrites.indexing.subtensor import one_row, one_slice
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import after, check_kept, check_same, reasons, written

CHAINS, LIFT = "subtensor_chains", "subtensor_lift"
x, y = T.vector("x"), T.vector("y")
m, w = T.matrix("m"), T.matrix("w")
c = T.tensor3("c")
n, i = T.lscalar("n"), T.iscalar("i")
five = T.tensor("float64", (5,), "five")
RNG = np.random.default_rng(3)
GIVENS = {
    x: np.arange(6.0),
    y: np.arange(6.0) - 3,
    m: RNG.standard_normal((5, 6)),
    w: RNG.standard_normal((5, 6)),
    c: RNG.standard_normal((4, 5, 6)),
    n: 2,
    i: 1,
    five: np.arange(5.0),
}

MERGED = [
    (five[1:][-1], "index[-1](five)"),
    (x[2:][0], "index[2](x)"),
    (x[2:][3:], "index[5:](x)"),
    (x[1:][:-1], "index[1:-1](x)"),
    (x[:-1][1:], "index[1:-1](x)"),
    (x[:4][:2], "index[:2](x)"),
    (x[:4][1], "index[1](x)"),
    (x[::-1][0], "index[-1](x)"),
    (x[::-1][-1], "index[0](x)"),
    (x[::-1][::-1], "x"),
    (x[::-1][1:], "index[-2::-1](x)"),
    (x[1:][::-1], "index[:0:-1](x)"),
    (x[:-1][::-1], "index[-2::-1](x)"),
    (x[::2][1], "index[2](x)"),
    (x[1::2][::3], "index[1::6](x)"),
    (x[-3:][-1], "index[-1](x)"),
    (x[-3:][-2:], "index[-2:](x)"),
    (five[-3:][0], "index[-3](five)"),
    (five[:-1][0], "index[0](five)"),
    (five[1::2][-1], "index[3](five)"),
    (m[n][i], "index[?, ?](m, n, cast<int64>(i))"),
    (m[1][2], "index[1, 2](m)"),
    (m[1:][2, 0], "index[3, 0](m)"),
    (m[:, 1][2], "index[2, 1](m)"),
    (m[:, n][1:], "index[1:, ?](m, n)"),
    (c[1, :, 2:][::-1, 0], "index[1, ::-1, 2](c)"),
    (m[:, None][1:, 0], "index[1:](m)"),
    (m[2][None, 1:], "index[2, None, 1:](m)"),
    (m[1:][:, None, 2], "index[1:, None, 2](m)"),
    (m[1:][2:][::-1][0], "index[-1](index[3:](m))"),
    (x[:], "x"),
    (x[0:], "x"),
    (m[:, ::1], "m"),
    (x[: x.shape[0]], "x"),
    (m[: m.shape[0], 0 : m.shape[1]], "m"),
    (five[:9], "five"),
]


@pytest.mark.parametrize(
    ("before", "expected"), MERGED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_an_index_of_an_index_is_one_index(before, expected):
    (found,) = check_kept(CHAINS, [before], GIVENS)
    assert written(found) == expected
    assert found.type == before.type or None in before.type.shape


NOT_MERGED = [
    (x[:-1][0], "the array may have fewer than 2 rows, which the index needs"),
    (x[1:-2][2], "the array may have fewer than 6 rows, which the index needs"),
    (x[-3:][0], "the array may have fewer than 3 rows, which the index needs"),
    (x[1:][-2:], "the merged slice depends on the number of rows"),
    (x[:3][-1], "the array may have fewer than 3 rows, which the index needs"),
    (x[:3][3], "the merged slice depends on the number of rows"),
    (x[n:][0], "the merged slice depends on the number of rows"),
    (x[::2][-1], "the merged slice depends on the number of rows"),
    (x[None][n], "the merged slice depends on the number of rows"),
]


@pytest.mark.parametrize(
    ("before", "why"), NOT_MERGED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_slices_that_depend_on_the_number_of_rows_are_kept(before, why):
    assert after(CHAINS, before) == written(before)
    assert reasons(CHAINS, before) == [why]


def test_slices_that_are_not_whole_and_lists_of_places_stay():
    for before in (x[1:], x[:n], five[:4], m[[0, 1]][0], m[1:][[0, 1]]):
        assert after(CHAINS, before) == written(before)
        assert reasons(CHAINS, before) == []


def test_an_index_known_to_be_too_large_keeps_its_error():
    rows = T.concatenate([five, x])  # at least five rows
    assert after(CHAINS, rows[1:][-1]).startswith("index[-1](concatenate")
    with pytest.raises(scanviz.ScanvizError):
        five[4:][-2]  # found when building
    early = rewritten_by(CHAINS, [x[:3][3]])[0]
    with pytest.raises(scanviz.ScanvizError):
        evaluate(early, GIVENS)


def test_the_last_row_behind_the_first_keeps_only_one_row():
    h, _ = scanviz.scan(lambda h: h + 1.0, outputs_info=T.constant(0.5), n_steps=7, name="total")
    f = scanviz.function([], h[1:][-1])
    assert [rewrite.message for rewrite in f.rewrites if rewrite.rule == "ScanSaveMem"] == [
        "`h` keeps only its last row"
    ]
    assert f() == 7.5


@pytest.mark.parametrize("pick", [lambda h: h[1:][-1], lambda h: h[2:][-2], lambda h: h[:-1][0]])
def test_a_row_that_a_slice_does_not_have_is_no_row_of_the_whole(pick):
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.constant(0.5), name="total")
    f = scanviz.function([x], pick(h))
    assert f([1.0, 2.0, 3.0, 4.0]).shape == ()
    for few in ([], [1.0]):
        with pytest.raises(IndexError):
            f(few)


NUMBERS = st.one_of(st.none(), st.integers(-7, 7))
STEPS = st.sampled_from([None, 1, 2, 3, -1, -2])


SLICES = st.tuples(NUMBERS, NUMBERS, STEPS)


@given(SLICES, SLICES, st.integers(0, 12))
def test_a_merged_slice_agrees_with_two_slices_for_any_number_of_rows(first, second, known):
    sizes = sizes_to_try(known, IndexEntry("slice", *first), IndexEntry("slice", *second))
    numbers = one_slice(slice(*first), slice(*second), sizes)
    if numbers is not None:
        for count in range(known, 200):
            assert range(count)[slice(*numbers)] == range(count)[slice(*first)][slice(*second)]


@given(SLICES, st.integers(-6, 6), st.integers(0, 12))
def test_a_row_of_a_slice_is_that_row_of_the_whole_or_an_error_of_both(first, index, known):
    sizes = sizes_to_try(known, IndexEntry("slice", *first), IndexEntry("integer", index))
    place = one_row(slice(*first), index, sizes)
    for count in range(known, 200) if isinstance(place, int) else ():
        picked = range(count)[slice(*first)]
        there = -len(picked) <= index < len(picked)
        assert there == (-count <= place < count)
        assert not there or picked[index] == range(count)[place]


PICKED = [
    (T.tanh(x + y)[-1], "tanh(index[-1](add(x, y)))"),
    (T.tanh(x)[-1], "tanh(index[-1](x))"),
    (T.exp(m * 2.0)[0], "exp(multiply(index[0](m), 2.0))"),
    (T.exp(m)[:, 1], "exp(index[:, 1](m))"),
    (T.exp(m)[-2:], "exp(index[-2:](m))"),
    (T.exp(m)[:2, 1], "exp(index[:2, 1](m))"),
    ((m + T.constant([[1.0] * 6]))[1], "add(index[1](m), index[0]([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]))"),
    ((m + five[:, None])[0], None),
    (T.cast(m, "float32")[1], "cast<float32>(index[1](m))"),
    (T.alloc(T.constant(2.0), 5, n)[3], "alloc(2.0, n)"),
    (T.alloc(T.constant(2.0), 5)[3], "2.0"),
    (T.alloc(five, 3, 5)[0, 2], "index[2](five)"),
    (T.alloc(T.constant(2.0), 5, n)[:2], "alloc(2.0, 2, n)"),
    (m.T[1], "index[:, 1](m)"),
    (m.T[:, -1], "index[-1](m)"),
    (c.dimshuffle(2, "x", 0, 1)[0, :, 1], "dimshuffle<(None, 0)>(index[1, :, 0](c))"),
    (x.dimshuffle("x", 0)[0], "x"),
    (T.as_tensor_variable([T.sum(x), T.max(x)])[1:], "make_vector(max<(0,),None>(x))"),
]


@pytest.mark.parametrize(
    ("before", "expected"), PICKED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_rows_are_picked_before_they_are_computed(before, expected):
    (found,) = check_kept(LIFT, [before], GIVENS)
    assert written(found) == (written(before) if expected is None else expected)


NOT_PICKED = [
    ((x + y)[-1], "the operands that broadcast along an indexed axis are not known"),
    (T.alloc(T.constant(2.0), n)[3], "the array may have fewer rows"),
    (
        T.alloc(T.constant(2.0), n)[::-1],
        "the size may be negative, which would be an error",
    ),
]


@pytest.mark.parametrize(
    ("before", "why"), NOT_PICKED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_rows_are_not_picked_where_an_error_could_be_lost(before, why):
    assert after(LIFT, before) == written(before)
    assert reasons(LIFT, before) == [why]


def test_rows_of_an_array_with_other_readers_are_not_lifted():
    whole = T.tanh(x)
    assert [written(each) for each in rewritten_by(LIFT, [whole[-1], whole])] == [
        "index[-1](tanh(x))",
        "tanh(x)",
    ]
    assert reasons(LIFT, whole[-1] + T.sum(whole)) == ["another operation reads the whole array"]


def test_indices_are_not_lifted_without_a_gain():
    row = T.tensor("float64", (1, None), "row")
    for before in (T.tanh(x)[1:], T.tanh(x)[::-1], T.exp(row)[0], T.tanh(x)[n], T.tanh(m)[:, None]):
        assert after(LIFT, before) == written(before)


def test_only_the_last_row_of_a_function_of_a_loops_rows_is_computed():
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.constant(0.5), name="total")
    f = scanviz.function([x], T.tanh(h * 2.0)[-1])
    assert [rewrite.message for rewrite in f.rewrites if rewrite.rule == "ScanSaveMem"] == [
        "`h` keeps only its last row"
    ]
    np.testing.assert_allclose(f([1.0, 0.25]), np.tanh(3.5))


def test_errors_of_indices_are_kept():
    for before in (T.tanh(x)[-7], T.concatenate([five, x])[20], T.exp(m)[:, 9], m.T[8], x[3:][4]):
        for graph in ([before], rewritten_by([CHAINS, LIFT], [before])):
            with pytest.raises(scanviz.ScanvizError):
                evaluate(graph, GIVENS)


def test_rules_about_indices_work_together_with_all_others():
    before = T.tanh(m[::-1] * 2.0)[0] + m.T[:, -1]
    f = scanviz.function([m], before)
    assert [instruction.op.name for instruction in f.program.instructions].count("index") == 1
    plain = scanviz.function([m], before, mode=Mode("reference", "none"))
    check_same(f(GIVENS[m]), plain(GIVENS[m]))
