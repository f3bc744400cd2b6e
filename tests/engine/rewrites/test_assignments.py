"""Assignments of everything, of the same place twice, and of what is read right back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.evaluate import evaluate
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import after, check_kept, reasons, written

RULE = "simplify_assignments"
x, y = T.vector("x"), T.vector("y")
m = T.matrix("m")
i = T.lvector("i")
n = T.lscalar("n")
s = T.scalar("s")
five = T.tensor("float64", (5,), "five")
three = T.tensor("float64", (3,), "three")
GIVENS = {
    x: np.array([1.0, -0.0, np.nan, 4.0, 5.0]),
    y: np.array([2.0, 1.0, 1.0, 0.0, np.inf]),
    m: np.arange(10.0).reshape(2, 5),
    i: np.arange(4),
    n: 1,
    s: -0.0,
    five: np.array([-0.0, 1.0, 2.0, 3.0, 4.0]),
    three: np.array([7.0, 8.0, 9.0]),
}
zeros = T.alloc(T.constant(0.0), x.shape[0])

GOLDEN = [
    (T.set_subtensor(x[:], x * 2.0), "multiply(x, 2.0)"),
    (T.set_subtensor(x[:], 0.0), "alloc(0.0, dimension<0>(x))"),
    (T.set_subtensor(m[:], x), "alloc(x, dimension<0>(m), dimension<1>(m))"),
    (T.set_subtensor(five[:], y), "alloc(y, 5)"),
    (T.inc_subtensor(x[:], s), "add(x, s)"),
    (T.inc_subtensor(x[:], T.exp(x)), "add(x, exp(x))"),
    (T.inc_subtensor(zeros[:], x), "add(x, 0.0)"),
    (T.inc_subtensor(T.alloc(T.constant(0), i.shape[0])[:], i), "i"),
    (T.set_subtensor(T.set_subtensor(x[1], 3.0)[1], s), "assign[1]=(x, s)"),
    (T.set_subtensor(T.inc_subtensor(x[n], 3.0)[n], s), "assign[?]=(x, s, n)"),
    (T.set_subtensor(T.set_subtensor(five[:3], three)[:3], 0.0), "assign[:3]=(five, 0.0)"),
    (T.inc_subtensor(T.inc_subtensor(x[0], 3.0)[0], s), None),
    (T.set_subtensor(five[2], s)[2], "s"),
    (T.set_subtensor(x[1:], s)[1:], None),
    (T.set_subtensor(five[:3], three)[:3], "three"),
    (T.set_subtensor(five[:3], s)[:3], "alloc(s, 3)"),
    (T.set_subtensor(five[1], s)[2], None),
]


@pytest.mark.parametrize(
    ("before", "expected"), GOLDEN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_assignments_that_are_not_needed_are_left_out(before, expected):
    (found,) = check_kept(RULE, [before], GIVENS)
    if written(before).startswith("index[1:](assign"):
        assert written(found).startswith("alloc(s, ")
    else:
        assert written(found) == (written(before) if expected is None else expected)


STAY = [
    (T.set_subtensor(x[:], y), "the size along axis 0 is not known to stay the same"),
    (T.inc_subtensor(x[:], y), "the value may not fit its place, which would be an error"),
    (
        T.set_subtensor(T.set_subtensor(x[1:3], y)[1:3], 0.0),
        "the value may not fit its place, which would be an error",
    ),
    (T.set_subtensor(x[2], s)[2], "it is not known that the place exists"),
    (T.set_subtensor(x[n], s)[n], "it is not known that the place exists"),
]


@pytest.mark.parametrize(("before", "why"), STAY, ids=lambda each: each if isinstance(each, str) else "")
def test_assignments_that_may_be_an_error_stay(before, why):
    if why.startswith("the size along"):
        assert after(RULE, before) == "alloc(y, dimension<0>(x))"  # which checks that y fits
        with pytest.raises(scanviz.ScanvizError):
            evaluate(rewritten_by(RULE, [before]), {x: np.zeros(3), y: np.zeros(2)})
        return
    assert after(RULE, before) == written(before)
    assert why in reasons(RULE, before)


def test_adding_at_repeated_places_is_no_sum():
    places = T.constant([0, 0, 1])
    first = T.set_subtensor(five[places], three)
    for before in (T.inc_subtensor(five[places], three), first[places]):
        assert after(RULE, before) == written(before)
    again = T.set_subtensor(first[places], 1.0)
    assert after(RULE, again) == "assign[array]=(five, 1.0, [0, 0, 1])"
    check_kept(RULE, [again], GIVENS)


PLACES = [slice(None), slice(1, 3), slice(None, None, -1), 0, -1, slice(-2, None)]


@given(data=st.data())
def test_many_assignments_leave_the_same_elements(data):
    array = data.draw(st.sampled_from([x, five, zeros]))
    givens = {**GIVENS}
    values = []
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.sampled_from(PLACES))
        part = array[place]
        value = data.draw(st.sampled_from([0.0, s, part * 2.0, T.exp(s)]))
        change = data.draw(st.sampled_from([T.set_subtensor, T.inc_subtensor]))
        array = change(part, value)
        values.append(array[data.draw(st.sampled_from(PLACES))])
    check_kept([RULE, "subtensor_lift", "subtensor_chains"], [array, *values], givens)
