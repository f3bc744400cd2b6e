"""einsum: its operations, and its errors for mismatched subscripts (its values: the laws of NumPy's names)."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.traversal import toposort

W = T.tensor("float64", (3, 4), "W")
x = T.tensor("float64", (5,), "x")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: T.einsum("ijk", W),
            ScanvizValueError,
            "operand 0, `W`, has 2 dimensions, but 'ijk' names 3",
        ),
        (lambda: T.einsum("...ijk->i", W), ScanvizValueError, "`W`, has 2 dimensions, but '...ijk' names 3"),
        (
            lambda: T.einsum("ij,j->i", W, x),
            ShapeError,
            "letter 'j' is 4 long in operand 0, `W`, and 5 in operand 1, `x`",
        ),
        (lambda: T.einsum("ii", W), ShapeError, "letter 'i' names axes of two sizes of operand 0, `W`"),
        (lambda: T.einsum("ij->iz", W), ScanvizValueError, "letter 'z' of the result is in no operand"),
        (lambda: T.einsum("ij->ii", W), ScanvizValueError, "letter 'i' stands 2 times in the result"),
        (lambda: T.einsum("ij,jk", W), ScanvizValueError, "a different number of operands"),
        (lambda: T.einsum("i1", W), ScanvizValueError, "'1' in 'i1' names no axis"),
        (lambda: T.einsum("...j->j", W), ScanvizValueError, "no place for the axes of '...'"),
        (lambda: T.einsum(W, "ij"), ScanvizTypeError, "the axes of an operand are not named"),
        (lambda: T.einsum(W, [0, 0]), ShapeError, "label 0 names axes of two sizes"),
        (
            lambda: T.einsum("ij,ij,ij", W, W, W, optimize="fast"),
            ScanvizValueError,
            "optimize cannot be used",
        ),
    ],
)
def test_mismatched_arguments_are_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value) and "test_einstein.py" in str(caught.value)


def test_unknown_sizes_are_compared_at_run_time():
    a, b = T.matrix("a"), T.matrix("b")
    f = scanviz.function([a, b], T.einsum("ij,jk->ki", a, b))
    with pytest.raises(ShapeError):
        f(np.ones((2, 3)), np.ones((4, 2)))


def test_a_product_of_matrices_is_one_that_rules_know():
    a, b, v = T.matrix("a"), T.matrix("b"), T.vector("v")
    for subscripts, operands in [
        ("ij,jk->ik", (a, b)),
        ("ij,kj->ik", (a, b)),
        ("i,i->", (v, v)),
        ("ij,j->i", (a, v)),
    ]:
        names = {node.op.name for node in toposort([T.einsum(subscripts, *operands)])}
        assert "dot" in names and names <= {"dot", "dimshuffle"}


def test_many_operands_are_multiplied_in_numpys_order():
    shapes = [(2, 3), (3, 40), (40, 1)]
    operands = [T.tensor("float64", shape) for shape in shapes]
    made = T.einsum("ij,jk,kl->il", *operands)
    first = next(node for node in toposort([made]) if node.op.name == "dot")
    assert first.outputs[0].type.shape == (3, 1)


def test_axes_may_be_named_by_numbers():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    found = T.einsum(a, [0, 1], b, [1, 2], [2, 0]).eval()
    np.testing.assert_array_equal(found, np.einsum(a, [0, 1], b, [1, 2], [2, 0]))
