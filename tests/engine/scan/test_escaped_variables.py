"""A step's variable used outside its loop is an error with the loop, both lines and a fix."""

import pickle

import pytest

import scanviz
from scanviz import tensor as T
from tests.trap_helpers import trapped

x = T.vector("x")
kept = {}


def leaking(x_t, h):
    kept["argument"] = x_t
    kept["work"] = x_t * 2
    named = x_t + 1
    named.name = "hidden"
    kept["named"] = named
    return h + kept["work"]


loop, _ = scanviz.scan(leaking, sequences=x, outputs_info=0.0, name="first")
kept["work"].owner.provenance.source.text()


@pytest.mark.parametrize(
    "call",
    [
        lambda: scanviz.function([x], loop[-1] + kept["work"]),
        lambda: scanviz.function([x], kept["work"]),
        lambda: scanviz.function([x], kept["argument"]),
        lambda: kept["named"].eval({x: [1.0]}),
        lambda: scanviz.function([x], [loop, T.exp(kept["argument"])]),
        lambda: scanviz.function([x], scanviz.scan(lambda a: a * kept["work"], sequences=x)[0]),
    ],
)
def test_a_variable_used_outside_of_its_loop_is_named_with_the_loop_and_both_lines(call):
    error = trapped(call, ValueError)
    assert "belongs to the step of loop `first`" in error.what
    assert f"{__file__.rpartition('/')[2]}:" in error.found and error.fix.startswith("return ")
    assert isinstance(error, scanviz.ScanvizError)


def test_the_variables_own_name_stands_in_the_fix():
    error = trapped(lambda: scanviz.function([x], kept["named"]), ValueError)
    assert "`hidden`" in error.what and "return …, hidden in the step" in error.fix
    assert "x_t + 1" in error.found


def test_another_loop_cannot_use_an_escaped_variable():
    error = trapped(lambda: scanviz.scan(lambda a: a * kept["argument"], sequences=x), ValueError)
    assert "of loop `first`" in error.what


def test_an_outer_step_cannot_use_variables_of_the_inner_step():
    inner = []

    def outer(row):
        def step(a):
            inner.append(a * 2)
            return a

        scanviz.scan(step, sequences=row, name="inside")
        return inner[0] + 1

    with pytest.raises(scanviz.ScanvizError, match="belongs to the step of loop `inside`") as caught:
        scanviz.scan(outer, sequences=T.matrix("m"), name="outside")
    assert caught.value.where.line == outer.__code__.co_firstlineno + 6


def test_an_inner_loop_may_use_variables_of_the_outer_step():
    def outer(row, scale):
        doubled = scale * 2
        return scanviz.scan(lambda a: a * doubled + scale, sequences=row)

    rows, _ = scanviz.scan(outer, sequences=T.matrix("m"), non_sequences=T.scalar("k"))
    assert rows.ndim == 2


def test_a_gradient_inside_of_the_step_is_no_use_outside():
    rows, _ = scanviz.scan(lambda a: scanviz.grad(a**2, a), sequences=x)
    assert list(rows.eval({x: [1.0, 2.0]})) == [2.0, 4.0]


def test_a_gradient_of_an_escaped_variable_is_an_error_with_its_loop():
    with pytest.raises(scanviz.ScanvizError, match="belongs to the step of loop `first`"):
        scanviz.grad(kept["work"], x)


def test_a_step_that_fails_lets_its_variables_escape_too():
    seen = []

    def failing(x_t):
        seen.append(x_t)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        scanviz.scan(failing, sequences=x, name="failed")
    assert "of loop `failed`" in trapped(lambda: scanviz.function([x], seen[0]), ValueError).what


def test_variables_of_a_step_are_pickled():
    again = pickle.loads(pickle.dumps(kept["work"]))
    assert str(again.owner.op) == "multiply"
