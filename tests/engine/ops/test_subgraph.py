"""Named subgraphs: one node until a function is built, the operations afterwards, with a derivative of one's own if wanted."""

import io
import pickle

import numpy as np
import pytest

import scanviz
from scanviz import named_subgraph
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError, ScanvizTypeError, ScanvizValueError, UndefinedGradientError
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.mode import Mode
from tests.engine.backends.cupy.stand_in import register

register()
X = np.array([1.0, -2.0])


def swish():
    x = T.vector("x")
    return named_subgraph(x, x * T.nnet.sigmoid(x), "swish")


def doubled(inputs, outputs, cotangents):
    """A derivative of one's own: twice the identity."""
    return [cotangents[0] * 2]


def step_function(pullback=doubled):
    x = T.vector("x")
    return named_subgraph([x], T.cast(x > 0, "float64"), "step", pullback)


def test_a_subgraph_is_one_named_node_until_a_recorded_rewrite_inlines_it():
    y, f = T.vector("y"), swish()
    node = f(y).owner
    assert str(node.op) == "swish" and node.inputs == (y,)
    history = scanviz.function([y], f(y)).rewrites
    assert [each.message for each in history if each.rule == "inline_subgraphs"] == [
        "the operations of swish stand in its place"
    ]
    kept = scanviz.function([y], f(y), mode=Mode("numpy").excluding("inline_subgraphs"))
    assert str(kept.outputs[0].owner.op) == "swish"  # as one node in pictures
    assert "swish" in [register.name for register in kept.program.registers]  # and its result in reports


def test_other_variables_are_captured_and_several_results_come_as_a_list():
    a, b, w = T.scalar("a"), T.scalar("b"), scanviz.shared(2.0, "w")
    f = named_subgraph([a, b], [a * w, a + b], "pair")
    x = T.scalar("x")
    first, second = f(x, 3.0)
    g = scanviz.function([x], [first, second, scanviz.grad(first + second, x), scanviz.grad(first, w)])
    assert g(5.0) == [10.0, 8.0, 3.0, 5.0]


def test_subgraphs_may_be_nested():
    y, f = T.vector("y"), swish()
    x = T.vector("x")
    twice = named_subgraph(x, f(f(x)), "twice")
    expected = f(f(y))
    np.testing.assert_allclose(twice(y).eval({y: X}), expected.eval({y: X}))
    plain = scanviz.function([y], scanviz.grad(twice(y).sum(), y), mode=Mode("reference", "none"))
    np.testing.assert_allclose(plain(X), scanviz.grad(expected.sum(), y).eval({y: X}))


def test_a_subgraphs_own_derivative_works_in_both_modes_loops_and_vmap():
    y, f, weights = T.vector("y"), step_function(), np.array([1.0, 3.0])
    assert scanviz.grad((f(y) * weights).sum(), y).eval({y: X}).tolist() == [2.0, 6.0]
    assert scanviz.Rop(f(y), y, weights).eval({y: X}).tolist() == [2.0, 6.0]
    m = T.matrix("m")
    rows, _ = scanviz.scan(lambda row: f(row), m, name="rows")
    assert scanviz.grad(rows.sum(), m).eval({m: np.eye(2)}).tolist() == [[2.0, 2.0]] * 2
    over = scanviz.vmap(lambda row: scanviz.grad(f(row).sum(), row))(m)
    assert over.eval({m: np.eye(2)}).tolist() == [[2.0, 2.0]] * 2
    assert scanviz.vmap(f)(m).eval({m: np.eye(2)}).tolist() == np.eye(2).tolist()


def test_a_rule_with_an_unfit_result_is_reported():
    y = T.vector("y")
    for pullback, text in (
        (lambda *_: [], "the wrong number of derivatives"),
        (lambda *_: [T.zeros((2, 2))], "does not fit"),
    ):
        with pytest.raises(ScanvizTypeError, match=text):
            scanviz.grad(step_function(pullback)(y).sum(), y)
    three = T.tensor("float64", (3,), "three")
    one = named_subgraph(
        three, T.tanh(three), "one", pullback=lambda inputs, outputs, cotangents: [cotangents[0][:1]]
    )
    with pytest.raises(ScanvizTypeError, match="does not fit"):
        scanviz.grad(one(three).sum(), three)
    nothing = step_function(lambda inputs, outputs, cotangents: [None])
    assert scanviz.grad(nothing(y).sum(), y).eval({y: X}).tolist() == [0.0, 0.0]


def test_a_draw_inside_a_subgraph_agrees_with_one_outside():
    p = T.vector("p")
    f = named_subgraph(p, T.cast(T.random.poisson(T.random.random_state(1), p)[1], "float64"), "counts")
    q = T.vector("q")
    with pytest.raises(UndefinedGradientError, match="poisson"):
        scanviz.grad(f(q).sum(), q)


def test_a_named_subgraph_compares_by_its_computation_and_pickles_with_its_rule():
    y, x = T.vector("y"), T.vector("x")
    assert scanviz.equal_computations(swish()(y), swish()(x), y, x)
    assert not scanviz.equal_computations(swish()(y), step_function()(y))
    again = pickle.loads(pickle.dumps(step_function()(y)))
    (leaf,) = [each for node in toposort([again]) for each in node.inputs if each.owner is None]
    assert scanviz.grad(again.sum(), leaf).eval({leaf: X}).tolist() == [2.0, 2.0]


def test_a_print_inside_a_subgraph_prints_once_per_use():
    x, y, file = T.scalar("x"), T.scalar("y"), io.StringIO()
    f = named_subgraph(x, T.Print("x", file=file)(x) * 2, "seen")
    scanviz.function([y], f(y) + f(y + 1) + T.Print("y", file=file)(y))(1.0)
    assert sorted(file.getvalue().splitlines()) == ["x = 1.", "x = 2.", "y = 1."]


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda x: named_subgraph(x * 2, x, "f"), ScanvizValueError, "cannot be an input"),
        (lambda x: named_subgraph(x, [3.0], "f"), ScanvizTypeError, "must be variables"),
        (lambda x: named_subgraph([x, x], x, "f"), ScanvizValueError, "inputs must be distinct"),
        (lambda x: named_subgraph(x, x * 2, ""), ScanvizTypeError, "needs a name"),
        (lambda x: named_subgraph(x, x * 2, "f", 3), ScanvizTypeError, "pullback(inputs, outputs, cotangents)"),
        (lambda x: named_subgraph(x, x * 2, "f")(), ScanvizTypeError, "a different number of arguments"),
        (lambda x: named_subgraph(x, x * 2, "f")(T.matrix("m")), ScanvizTypeError, "`m` does not fit input `x`"),
    ],
)  # fmt: skip
def test_invalid_subgraphs_are_refused_with_a_message(wrong, kind, text):
    with pytest.raises(kind) as caught:
        wrong(T.vector("x"))
    assert text in str(caught.value) and "test_subgraph.py" in str(caught.value)
    assert isinstance(caught.value, ScanvizError)
