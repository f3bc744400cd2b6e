"""Where cotangents meet in one variable, their sum has the line of the first of them, not the line of ``grad``."""

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort


def test_slices_joined_again_have_the_line_of_a_slice() -> None:
    x, W = T.vector("x"), T.matrix("W")
    gates = T.dot(x, W)
    left, right = T.tanh(gates[:4]), T.exp(gates[4:])  # the line
    gradient = scanviz.grad((left * right).sum(), W)
    found = [node.provenance for node in toposort([gradient]) if node.op.name == "concatenate"]
    assert [provenance.source.text().endswith("# the line") for provenance in found] == [True]
    assert [provenance.rule for provenance in found] == ["gradient"]


def test_a_sum_of_cotangents_has_the_line_of_the_first_use() -> None:
    x = T.vector("x")
    y = T.exp(x)
    first = T.tanh(y)
    cost = (first * y).sum()  # the last use
    gradient = scanviz.grad(cost, x)
    sums = [node.provenance.source.text() for node in toposort([gradient]) if node.op.name == "add"]
    assert sums == ["cost = (first * y).sum()  # the last use"]
