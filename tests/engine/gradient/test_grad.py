"""``grad``: its results, its options, and its errors without a derivative."""

import warnings

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError, ScanvizError, UndefinedGradientError
from scanviz.engine.gradient.grad import Disconnected
from scanviz.engine.gradient.table import Undefined

x, y = T.vector("x"), T.vector("y")
AT = [1.0, 2.0, 3.0]


def named(variable, name):
    variable.name = name
    return variable


def value(gradient, at=AT):
    return np.asarray(scanviz.function([x], gradient, on_unused_input="ignore")(at)).tolist()


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_result_is_like_wrt(kind):
    cost = T.sum(x * y)
    found = scanviz.grad(cost, kind([x, y]))
    assert type(found) is kind and len(found) == 2
    named = scanviz.grad(cost, {"first": x, "second": y})
    assert list(named) == ["first", "second"]
    assert value(scanviz.grad(T.sum(x**2), x)) == [2.0, 4.0, 6.0]
    assert scanviz.grad(T.sum(x**2), [x, x])[1].type == x.type


def test_gradients_are_named_as_in_mathematics():
    cost = T.sum(x**2)
    assert scanviz.grad(cost, x).name == "∂x"
    cost.name = "error"
    assert scanviz.grad(cost, x).name == "∂x"
    assert scanviz.grad(cost, [x, x])[1].name == "∂x"
    assert scanviz.grad(cost, T.vector(), disconnected_inputs="ignore").name is None


def test_a_gradient_of_two_variables_has_the_name_of_neither():
    a, b = T.tensor("float64", (3,), "a"), T.tensor("float64", (3,), "b")
    to_a, to_b = scanviz.grad(T.sum(a + b), [a, b])
    assert to_a is to_b and to_a.name is None


def test_a_variable_that_the_user_gave_is_not_renamed():
    mine = x * y
    assert scanviz.grad(T.sum(y), x, known_grads={x: mine}) is mine
    assert mine.name == "mine"  # the user's name, not a gradient's


def test_consider_constant_stops_at_the_variable():
    h = x * 2
    assert value(scanviz.grad(T.sum(h * x), x, consider_constant=[h])) == [2.0, 4.0, 6.0]
    assert value(scanviz.grad(T.sum(h * x), x, consider_constant=h)) == [2.0, 4.0, 6.0]


def test_a_constant_disconnects_a_variable_in_a_list_of_several_too():
    h = x * 2
    h.name = "h"
    cost = T.sum(h) + T.sum(y)
    for wrt in (x, [x, y]):  # another variable that is connected changes nothing for this one
        with pytest.raises(DisconnectedInputError, match=r"`x` → `h` → `cost`, consider_constant names `h`"):
            scanviz.grad(cost, wrt, consider_constant=[h])
    with pytest.raises(DisconnectedInputError, match="consider_constant names it"):
        scanviz.grad(T.sum(x), x, consider_constant=x)


def test_a_known_gradient_replaces_the_computed_gradient():
    h = x**2
    cost = T.sum(h) + T.sum(x)
    assert value(scanviz.grad(cost, x, known_grads={cost: 5.0})) == [15.0, 25.0, 35.0]
    # to x by h: [2, 0, 0] as given, not as in the cost; and 1 beside it
    assert value(scanviz.grad(cost, x, known_grads={h: [1.0, 0.0, 0.0]})) == [3.0, 1.0, 1.0]
    to_h, to_x = scanviz.grad(cost, [h, x], known_grads={h: [1.0, 0.0, 0.0]})
    assert value(to_h) == [1.0, 0.0, 0.0] and value(to_x) == [3.0, 1.0, 1.0]
    apart = scanviz.grad(
        T.sum(3 * x), x, known_grads={h: T.ones_like(h)}
    )  # neither is computed from the other
    assert value(apart) == [5.0, 7.0, 9.0]


def test_known_gradients_are_where_the_sweep_starts():
    h = x**2
    assert value(scanviz.grad(None, x, known_grads={h: T.ones_like(h)})) == [2.0, 4.0, 6.0]
    twice = scanviz.grad(None, x, known_grads=[(h, T.ones_like(h)), (h, T.ones_like(h))])
    assert value(twice) == [4.0, 8.0, 12.0]
    with pytest.raises(ScanvizError, match="known_grads: the gradient of"):
        scanviz.grad(None, x, known_grads={h: 1.0})
    with pytest.raises(ScanvizError, match="nothing to differentiate"):
        scanviz.grad(None, x)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: T.sum(y), ": nothing that is differentiated is computed from it"),
        (
            lambda: T.sum(y) * T.cast(x.shape[0], "float64"),
            r"on the way `x` → `x.shape\[0\]` → `multiply`, "
            r"`x.shape\[0\]` \(.*test_grad.py:\d+\) is a size, and no size depends on values",
        ),
        (
            lambda: T.sum(y * T.cast(T.argmax(x), "float64")),
            r"`argmax.*\(x\)` \(.*test_grad.py:\d+\) gives int64, which has no derivative",
        ),
        (
            lambda: y[T.cast(T.sum(x), "int64")],
            r"`int64\(sum\(x\)\)` \(.*\d+\) casts to int64, which has no derivative",
        ),
        (lambda: T.sum(T.where(x > 0, 1.0, 2.0)), r"`x > 0` \(.*\) compares: it jumps between"),
        (lambda: T.sum(T.where(T.isnan(x), 1.0, 2.0)), r"`isnan\(x\)` \(.*\) is true or false, with nothing"),
        (
            lambda: T.sum(named(scanviz.disconnected_grad(named(x * 2, "h")), "stopped")),
            r"`x` → `h` → `stopped` → `sum`, disconnected_grad \(.*test_grad.py:\d+\) lets no derivative pass",
        ),
        (lambda: T.sum(T.arange(x[0])), r"`arange.*` \(.*\) takes nothing from `x.*` that has a derivative"),
    ],
)
def test_the_message_names_the_operation_that_breaks_the_path(build, why):
    with pytest.raises(DisconnectedInputError, match=why) as caught:
        scanviz.grad(build(), x)
    assert "`x` is not connected" in str(caught.value) and 'disconnected_inputs="ignore"' in str(caught.value)
    assert "test_grad.py" in str(caught.value)


def test_disconnected_variables_warn_give_zeros_or_none_on_request():
    cost = T.sum(y)
    with pytest.warns(UserWarning, match="`x` is not connected"):
        found = scanviz.grad(cost, x, disconnected_inputs="warn")
    assert value(found) == [0.0, 0.0, 0.0]
    assert scanviz.grad(cost, x, disconnected_inputs="ignore", return_disconnected="none") is None
    text = scanviz.grad(cost, x, disconnected_inputs="ignore", return_disconnected="disconnected")
    assert isinstance(text, Disconnected) and not text and "nothing that is differentiated" in text.why


def test_a_warning_is_given_at_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scanviz.grad(T.sum(y), x, disconnected_inputs="warn")
        scanviz.hessian(T.sum(y**2), [x], disconnected_inputs="warn")  # which asks for it further down
    assert caught and {each.filename for each in caught} == {__file__}


def test_a_zero_derivative_is_connected():
    assert value(scanviz.grad(T.sum(T.floor(x)), x)) == [0.0, 0.0, 0.0]
    assert value(scanviz.grad(T.sum(scanviz.zero_grad(x)), x)) == [0.0, 0.0, 0.0]
    assert value(scanviz.grad(T.sum(scanviz.consider_constant(x) * x), x)) == AT


def test_whole_numbers_have_no_derivative():
    k = T.lvector("k")
    cost = T.sum(T.cast(k, "float64") ** 2)
    with pytest.raises(
        DisconnectedInputError, match=r"it holds int64\[\?\], and only floating .* cast it to float"
    ):
        scanviz.grad(cost, k)
    b = T.tensor("bool", (None,), "b")
    with pytest.raises(
        DisconnectedInputError, match=r"it holds bool\[\?\], and only floating .* cast it to float"
    ):
        scanviz.grad(T.sum(T.where(b, x, 2 * x)), b)
    found = scanviz.grad(cost, k, disconnected_inputs="ignore")
    assert found.dtype == "float64" and found.eval({k: [1, 2]}).tolist() == [0.0, 0.0]


def test_a_draw_without_a_derivative_is_named():
    p = T.scalar("p")
    values = T.random.RandomStreams(1).gamma(p, size=(2,))
    h = values * 2
    h.name = "h"
    with pytest.raises(UndefinedGradientError, match="no derivative with respect to `p`") as caught:
        scanviz.grad(T.sum(h), p)
    assert "rejection" in str(caught.value) and "`p` → `values` → `h`" in str(caught.value)
    assert isinstance(scanviz.grad(T.sum(h), p, null_gradients="return"), Undefined)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (x, "is not one number"),
        (T.sum(T.lvector("k")), "is int64, which has no derivative"),
        (3.0, "must be a symbolic number"),
    ],
)
def test_the_cost_must_be_a_floating_number(cost, message):
    with pytest.raises(ScanvizError, match=message):
        scanviz.grad(cost, x)


def test_wrt_must_be_variables():
    with pytest.raises(ScanvizError, match="is a constant"):
        scanviz.grad(T.sum(x), T.constant([1.0]))
    with pytest.raises(ScanvizError, match="is no symbolic array"):
        scanviz.grad(T.sum(x), 3)


@pytest.mark.parametrize("option", ["disconnected_inputs", "return_disconnected", "null_gradients"])
def test_an_option_that_does_not_exist_is_refused(option):
    with pytest.raises(ScanvizError, match=f"{option} cannot be used"):
        scanviz.grad(T.sum(x), x, **{option: "shout"})


def test_graphs_of_gradients_have_source_lines():
    cost = T.sum(T.tanh(x))
    found = scanviz.grad(cost, x)
    provenance = found.owner.provenance
    assert provenance.rule == "gradient" and "test_grad.py" in str(provenance.source) and provenance.parents


@pytest.mark.parametrize("known", [True, 3, "h", [1], [(1, 2, 3)]])
def test_known_gradients_that_are_no_pairs_are_refused(known):
    x = T.vector("x")
    with pytest.raises(ScanvizError, match="known_grads"):
        scanviz.grad(T.sum(x), x, known_grads=known)
