"""A Python bool is most often what `a == b` gave: refused where a condition or number is expected, at home elsewhere."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from tests.trap_helpers import trapped

x, y, s = T.vector("x"), T.vector("y"), T.scalar("s")
flags = T.vector("flags", dtype="bool")
flag = scanviz.shared(False, name="flag")


@pytest.mark.parametrize(
    "call",
    [
        lambda: scanviz.until(s == 1),
        lambda: T.switch(x == 0, x, y),
        lambda: T.where(x != y, x, y),
        lambda: T.switch(x > 0, x == 1, y),
        lambda: scanviz.ifelse(s == 0, x, y),
        lambda: scanviz.ifelse(s > 0, s == 1, s),
        lambda: x * (x == y),
        lambda: (x == y) * x,
        lambda: (x == 0) | (x > 1),
        lambda: (x > 1) & (x == 0),
        lambda: T.logical_and(x == 0, y > 0),
        lambda: T.logical_not(x == 0),
        lambda: T.sum(x == y),
        lambda: T.mean(x == y),
        lambda: T.cast(x == y, "float64"),
        lambda: T.any(x == 0),
        lambda: T.eq(x == 0, x),
        lambda: T.eq(x == 0, y == 0),
        lambda: x[x == 0],
        lambda: T.set_subtensor(x[0], x == 0),
        lambda: T.full_like(x, x == 0),
        lambda: T.stack([s, s == 1]),
        lambda: scanviz.function([x], x == y, on_unused_input="ignore"),
        lambda: scanviz.function([x], [x, x == y]),
        lambda: scanviz.function([], [], updates={flag: s == 1}),
        lambda: scanviz.scan(lambda x_t: x_t == 0, sequences=x),
        lambda: scanviz.scan(lambda x_t: (x_t, scanviz.until(x_t == 0)), sequences=x),
        lambda: scanviz.scan(lambda x_t: {flag: x_t == 0}, sequences=x),
        lambda: scanviz.filter(lambda x_t: x_t == 0, x),
    ],
)
def test_a_comparison_by_identity_names_eq(call):
    error = trapped(call, TypeError)
    assert "T.eq(a, b)" in error.fix and "T.constant(" in error.fix
    assert "==" in str(error) and error.text


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: T.constant(True) & T.constant(True), True),
        (lambda: T.as_tensor(True), True),
        (lambda: T.full(2, True), [True, True]),
        (lambda: T.full_like(flags, True), [True, True]),
        (lambda: T.switch(T.constant([1, 0]) > 0, True, False), [True, False]),
        (lambda: T.switch(T.constant([1, 0]) > 0, True, flags), [True, False]),
        (lambda: T.eq(flags, True), [True, False]),
        (lambda: T.neq(False, flags), [True, False]),
        (lambda: scanviz.ifelse(T.constant(1) > 0, True, False), True),
        (lambda: T.set_subtensor(flags[1], True), [True, True]),
        (lambda: T.switch(np.bool_(True), 1, 2), 1),
        (lambda: T.switch(np.array([True, False]), 1, 2), [1, 2]),
        (lambda: T.switch([True, False], 1, 2), [1, 2]),
        (lambda: T.sum([True, True]), 2),
        (lambda: scanviz.scan(lambda was: ~was, outputs_info=False, n_steps=2)[0], [True, False]),
        (lambda: scanviz.scan(lambda x_t, no: x_t & no, flags, non_sequences=True)[0], [True, False]),
        (lambda: T.sum(T.constant([1.0]), keepdims=True), [1.0]),
    ],
)
def test_a_python_bool_is_accepted_as_a_boolean(call, expected):
    np.testing.assert_array_equal(call().eval({flags: [True, False]}), expected)


def test_a_bool_can_be_given_for_a_variable():
    one = T.scalar("one", dtype="bool")
    assert scanviz.function([], ~one, givens={one: True})() == False  # noqa: E712  # an array
    assert scanviz.function([one], ~one)(True) == False  # noqa: E712
