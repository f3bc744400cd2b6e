"""Gradients where usual formulas give 0/0: the table of docs/reference/derivatives.md, and unselected elements."""

from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.partials import has_pole
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration

INF = float("inf")


def guards(*results):
    """Return the names of what keeps a zero cotangent zero, in a graph without loops."""
    return [node.op.name for node in toposort(results) if node.op.name == "multiply_no_nan"]


def test_guards_are_added_only_when_they_can_matter():
    x = T.vector("x")
    assert not guards(scanviz.grad(T.sum(T.log(x) / x), x))  # nothing selects
    assert not guards(scanviz.grad(T.sum(T.where(x > 0, T.tanh(x) * x, x)), x))  # nothing is infinite
    assert not guards(scanviz.grad(T.sum(T.where(x > 0, T.log(x * x + 1e-6), x)), x))
    assert not guards(scanviz.grad(T.sum(T.where(x > 0, x - T.mean(x), x)), x))
    assert not guards(scanviz.grad(T.sum(T.sqrt(T.var(x) + 1e-5) * x), x))
    assert len(guards(scanviz.grad(T.sum(T.where(x > 0, T.log(x), x)), x))) == 1
    assert len(guards(scanviz.grad(T.sum(T.sqrt(x)), x))) == 1


def node_of(declaration):
    """Return a node of an elementwise operation of vectors, or None where it takes no floats or gives none."""
    given = [T.lvector("n")] if declaration.name == "polygamma" else []
    given += [T.vector(f"x{k}") for k in range(declaration.arity - len(given))]
    try:
        result = declaration(*given)
    except scanviz.ScanvizError:
        return None
    return result.owner if result.type.dtype == "float64" else None


@pytest.mark.parametrize(
    "declaration",
    [each for each in declarations() if isinstance(each, ElementwiseDeclaration) and node_of(each)],
    ids=lambda each: each.name,
)
def test_operations_with_nonfinite_results_are_declared_with_poles(declaration):
    node = node_of(declaration)
    axis = [-1000.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 1000.0]
    given = [each.ravel() for each in np.meshgrid(*[axis] * len(node.inputs))]
    given = [each.astype(x.type.dtype) for each, x in zip(given, node.inputs, strict=True)]
    values = scanviz.function(node.inputs, node.outputs[0], mode="reference")(*given)
    assert np.isfinite(values).all() or has_pole(node)


def test_a_mixed_second_derivative_is_not_lost_where_a_factor_happens_to_be_zero():
    x, w = T.vector("x"), T.vector("w")
    picked = (w * T.log(x))[:2]
    of_x = scanviz.grad(T.sum(picked), x)
    of_both = scanviz.grad(T.sum(of_x), w)
    assert of_both.eval({x: [2.0, 4.0, 0.0], w: [0.0, 1.0, 0.0]}).tolist() == [0.5, 0.25, 0.0]


def test_jacobian_rows_are_independent():
    x = T.vector("x")
    found = scanviz.jacobian(T.log(x), x).eval({x: [0.5, 0.0]})
    assert found.tolist() == [[2.0, 0.0], [0.0, INF]]


def test_the_documentation_has_a_row_for_each_family_of_points():
    text = (Path(__file__).parents[3] / "docs" / "reference" / "derivatives.md").read_text(encoding="utf-8")
    for word in (
        "logsumexp", "logaddexp", "softmax", "log_softmax", "norm", "std", "sqrt", "arctan2", "hypot", "prod", "clip",
        "multiply_no_nan", "maximum", "abs", "xlogx", "where", "ifelse", "softplus",
    ):  # fmt: skip
        assert f"`{word}`" in text or f"`{word}(" in text, word


def in_steps(result):
    """Return how many guards there are in the steps of a graph's loops."""
    loops = [node.op for node in toposort([result]) if node.op.name == "scan"]
    return sum(len(guards(*op.inner_outputs)) for op in loops)


@pytest.mark.parametrize(
    ("cost", "count"), [(lambda h: T.sum(h), 0), (lambda h: T.sum(h[-1]), 0), (lambda h: T.sum(h[:2]), 1)]
)
def test_a_loop_whose_steps_all_contribute_has_no_guards(cost, count):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + T.log(x_t), x, 0.0)
    assert in_steps(scanviz.grad(cost(h), x)) == count
