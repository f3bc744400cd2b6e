"""Identities of arithmetic: their results, and the cases left alone (no bit changes: a law of identities)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.traversal import leaves
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import after, check_kept, check_same, reasons, written

RULE = "simplify_arithmetic"
x, y = T.vector("x"), T.vector("y")
m = T.matrix("m")
i, j = T.lvector("i"), T.lvector("j")
n, k = T.lscalar("n"), T.lscalar("k")
b = T.vector("b", dtype="bool")
u, w, i8 = (T.vector(dtype, dtype=dtype) for dtype in ("uint8", "int16", "int8"))
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 3.3])
GIVENS = {
    x: SPECIAL,
    y: SPECIAL[::-1].copy(),
    m: np.stack([SPECIAL, SPECIAL[::-1]]),
    i: np.array([0, -1, 2**63 - 1, -(2**63), 7, 1, 2, 3, 4, 5]),
    j: np.arange(10) - 4,
    n: 3,
    k: -2,
    b: np.arange(10) % 3 == 0,
    u: np.array([0, 1, 2, 127, 128, 200, 254, 255, 3, 4], "uint8"),
    w: np.array([0, 1, -1, 32767, -32768, 200, -254, 255, 3, 4], "int16"),
    i8: np.array([0, 1, -1, 127, -128, 100, -54, 55, 3, 4], "int8"),
}

GOLDEN = [
    (x - 0.0, "x"),
    (x + T.constant(-0.0), "x"),
    (i + 0, "i"),
    (0 + i, "i"),
    (T.exp(x) + 0.0, "exp(x)"),
    (x * 1.0, "x"),
    (1 * i, "i"),
    (x / 1.0, "x"),
    (i // 1, "i"),
    (x**1.0, "x"),
    (x**2.0, "square(x)"),
    (i**2, "square(i)"),
    (T.negative(-x), "x"),
    (T.clip(x, 0.5, None), "maximum(x, 0.5)"),
    (T.clip(x, None, y), "minimum(x, y)"),
    (T.where(T.constant(True), x, x * 2), "x"),
    (T.where(T.lt(x, 0), x, x), "x"),
    (T.where(T.constant(False), T.cast(x, "float32"), x), "x"),
    (T.ifelse(T.constant(0), x, y), "y"),
    (T.ifelse(n, x, x), "x"),
]


@pytest.mark.parametrize(
    ("before", "expected"), GOLDEN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_identity_operations_are_removed(before, expected):
    assert written(before) != expected
    (found,) = check_kept(RULE, [before], GIVENS)
    assert written(found) == expected
    assert found.type.shape == before.type.shape


STAY = [
    (x + 0.0, "adding 0.0 turns -0.0 into 0.0"),
    (x - T.constant(-0.0), "adding 0.0 turns -0.0 into 0.0"),
    (x * T.constant([[1.0]]), "the other operand gives the result more dimensions"),
    (x * T.constant([1.0]), None),
    (T.where(T.constant(True), x, y), "the size along axis 0 is not known to stay the same"),
    (T.where(T.constant(True), i, x), "the size along axis 0 is not known to stay the same"),
    (i / 1, "the result is float64 and not int64"),
]


@pytest.mark.parametrize(("before", "why"), STAY, ids=lambda each: each if isinstance(each, str) else "")
def test_inexact_simplifications_are_refused_with_a_reason(before, why):
    if why is None:
        assert after(RULE, before) == "x"
    else:
        assert after(RULE, before) == written(before)
        assert why in reasons(RULE, before)


def test_a_selected_branch_has_the_dtype_of_both():
    before = T.where(T.constant(True), n, T.scalar("s"))
    assert after(RULE, before) == "cast<float64>(n)"


def test_of_several_results_of_a_choice_only_equal_ones_are_replaced():
    first, second = T.ifelse(n, [x, x], [x, y])
    assert [written(each) for each in rewritten_by(RULE, [first])] == ["x"]
    assert rewritten_by(RULE, [second]) == [second]
    assert reasons(RULE, second) == []


def test_a_gradient_keeps_a_number_that_broadcasts_over_it():
    row = T.tensor("float64", (1, None), "row")
    ones = T.alloc(T.constant(1.0), n, 4)
    assert "alloc" in after(RULE, row * ones)  # n rows, not one
    assert after(RULE, m * T.alloc(T.constant(1.0), *m.shape)) == "m"


def test_steps_of_loops_are_simplified_too():
    h, _ = scanviz.scan(lambda x_t, h: T.negative(-(h * 1.0)) + x_t, x, T.constant(0.5), name="total")
    f = scanviz.function([x], h, mode=Mode("numpy", [RULE]))
    (loop,) = [instruction for instruction in f.program.instructions if instruction.op.name == "scan"]
    assert [instruction.op.name for instruction in loop.body.instructions] == ["add"]
    assert f([1.0, 2.0]).tolist() == [1.5, 3.5]


@given(data=st.data())
def test_scalars_squared_by_power_have_the_same_bits(data):
    s = T.scalar("s")
    value = data.draw(st.floats())
    (found,) = rewritten_by(RULE, [s**2])
    with np.errstate(all="ignore"):
        check_same(scanviz.function([s], found)(value), np.power(np.float64(value), 2.0))


# ---- unsafe_arithmetic

UNSAFE = [
    (x + 0.0, "x"),
    (x * 0.0, "alloc(0.0, dimension<0>(x))"),
    (T.exp(T.log(x)), "x"),
    (T.log(T.exp(x)), "x"),
    (T.square(T.sqrt(x)), "x"),
    ((x + 1.0) + 2.0, "add(x, 3.0)"),
    ((x * 3.0) * 2.0, "multiply(x, 6.0)"),
    (x / 4.0, "multiply(x, 0.25)"),
    (T.log(1 + x), "log1p(x)"),
    (T.exp(x) - 1, "expm1(x)"),
    (T.log(T.sigmoid(x)), "negative(softplus(negative(x)))"),
    (T.log(1 + T.exp(x)), "softplus(x)"),
    (T.log(T.softmax(m)), "log_softmax<(1,)>(m)"),
]


@pytest.mark.parametrize(
    ("before", "expected"), UNSAFE, ids=lambda each: each if isinstance(each, str) else ""
)
def test_unsafe_arithmetic_is_done_on_request_alone(before, expected):
    assert after("unsafe_arithmetic", before) == expected
    inputs = [each for each in (x, y, m) if each in leaves([before])]
    names = [rewrite.rule for rewrite in scanviz.function(inputs, before).rewrites]
    assert "unsafe_arithmetic" not in names
    asked = scanviz.function(inputs, before, mode=Mode("numpy").including("unsafe_arithmetic"))
    assert "unsafe_arithmetic" in [rewrite.rule for rewrite in asked.rewrites]
    plain = scanviz.function(inputs, before, mode=Mode("numpy", "none"))
    values = [
        np.array([0.2, 1.5, 3.0]) if each.ndim == 1 else np.array([[0.2, 1.5], [0.3, 2.0]]) for each in inputs
    ]
    np.testing.assert_allclose(asked(*values), plain(*values), rtol=1e-12, atol=1e-15)


def test_unsafe_constants_that_overflow_stay():
    before = (x * 1e200) * 1e200
    assert after("unsafe_arithmetic", before) == written(before)
    assert reasons("unsafe_arithmetic", before) == ["the constants together overflow, or vanish"]
    vanishing = (x * 1e-200) * 1e-200
    assert after("unsafe_arithmetic", vanishing) == written(vanishing)
    assert reasons("unsafe_arithmetic", x / 0.0) == ["the reciprocal of the constant is not finite"]


def test_unsafe_constants_meet_as_the_floats_that_the_chain_makes_of_them():
    large = np.int64(-(2**62))
    (found,) = rewritten_by("unsafe_arithmetic", [(x * T.constant(large)) * T.constant(np.int64(4))])
    check_same(evaluate(found, {x: np.ones(2)}), np.full(2, -(2.0**64)))


def test_an_exponent_for_each_element_stays_one():
    before = x ** T.alloc(0.5, x.shape[0])
    (found,) = check_kept("unfill", [before], GIVENS)
    assert written(found) == written(before)


def test_operations_that_may_fail_are_not_unfilled_for_empty_arrays():
    ones = T.alloc(np.int64(-1), n)
    f = scanviz.function([n], [ones**ones, np.int64(-1) ** ones], mode=Mode("numpy", rewrites="unfill"))
    assert [each.shape for each in f(0)] == [(0,), (0,)]
