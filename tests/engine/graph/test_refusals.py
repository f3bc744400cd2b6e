"""What only a value could answer is refused, at the user's line, with what to write instead."""

import math

import pytest

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from tests.trap_helpers import trapped

x, s, n = T.vector("x"), T.scalar("s"), T.lscalar("n")


def changed(variable, key, value):
    variable[key] = value


def added_to(variable, key, value):
    variable[key] += value


def deleted(variable, key):
    del variable[key]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: 1 if s > 0 else 2, "ifelse("),
        (lambda: s > 0 and s < 1, "a & b"),
        (lambda: not s, "~a"),
        (lambda: 0 < s < 1, "(0 < x) & (x < 1)"),
        (lambda: len(x), "x.shape[0]"),
        (lambda: int(s), "T.cast(s, 'int64')"),
        (lambda: float(s), "s.eval("),
        (lambda: complex(s), "s.eval("),
        (lambda: math.tanh(s), "T.tanh(…) instead of math.tanh(…)"),
        (lambda: range(n), "scan(fn, n_steps=n)"),
        (lambda: [1, 2, 3][n], "T.stack(some_list)[n]"),
        (lambda: 1.0 in x, "T.any(T.eq(x, 1.0))"),
        (lambda: s in x, "T.any(T.eq(x, s))"),
        (lambda: f"{s:.2f}", "s.eval("),
        (lambda: list(x), "scan(fn, sequences=x)"),
        (lambda: sum(row for row in x), "scan(fn, sequences=x)"),
    ],
)
def test_python_protocols_that_need_a_value_are_errors_with_a_fix(call, expected):
    assert expected in trapped(call, TypeError).fix


def test_an_item_cannot_be_assigned_and_the_message_is_the_line_to_write():
    with pytest.raises(TypeError) as caught:
        changed(x, (0, slice(1, None), Ellipsis), s)
    assert "x = T.set_subtensor(x[0, 1:, ...], s)" in str(caught.value)
    with pytest.raises(TypeError, match=r"x = T\.inc_subtensor\(x\[n\], …\) instead of `x\[n\] \+= …`"):
        added_to(x, n, 1)
    with pytest.raises(ScanvizError, match="cannot be changed"):
        deleted(x, 0)


def test_in_place_addition_returns_a_new_variable():
    total = x
    total += 1
    assert total is not x and str(total.owner.op) == "add"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: x.append(1), "T.concatenate"),
        (lambda: x.meen(), "x.mean"),
        (lambda: x.shap, "x.shape"),
        (lambda: x[0].set(1.0), "T.set_subtensor(x[0], …), or T.inc_subtensor(x[0], …) to add"),
        (lambda: x[1:].inc(1.0), "T.inc_subtensor(x[1:], …)"),
        (lambda: x.at[0].set(1.0), "T.set_subtensor(x[i], …)"),
        (lambda: x.exp(), "T.exp(x)"),
        (lambda: x.detach(), "scanviz.disconnected_grad(x)"),
        (lambda: x.backward(), "scanviz.grad(cost, x)"),
        (lambda: x.numpy(), "x.eval({…})"),
        (lambda: x.float(), "T.cast(x, 'float32')"),
        (lambda: setattr(x, "value", 1), "of your own"),
    ],
)
def test_a_missing_attribute_is_an_error_with_the_existing_name(call, expected):
    assert expected in trapped(call, AttributeError).fix


def test_an_attribute_that_nothing_is_like_gets_no_advice():
    with pytest.raises(ScanvizError) as caught:
        _ = x.inch
    assert caught.value.fix is None


def test_round_and_divmod_of_variables_are_symbolic():
    values = {s: 7.6}
    assert round(s).eval(values) == 8
    assert round(s, 1).eval(values) == 7.6
    assert (math.floor(s).eval(values), math.ceil(s).eval(values), math.trunc(s).eval(values)) == (7, 8, 7)
    quotient, rest = divmod(s, 2)
    assert (quotient.eval(values), round(float(rest.eval(values)), 6)) == (3, 1.6)
    quotient, rest = divmod(20, s)
    assert (quotient.eval(values), round(float(rest.eval(values)), 6)) == (2, 4.8)


def test_a_variable_can_be_put_into_a_message():
    assert f"{s} and {s!r}" == "s and <s: float64[]>"


def test_identity_still_finds_a_variable_in_a_list():
    assert s in [x, s] and s not in [x, n] and {s: 1}[s] == 1


def test_testing_a_variable_for_truth_suggests_a_comparison_with_none():
    x = T.vector("x")
    with pytest.raises(TypeError, match="`x is not None` to ask whether there is a variable"):
        bool(x)
