"""A vector made of scalars is a value of its own: derivatives by it, and what stands in its place, reach all that reads it."""

import pytest

import scanviz
from scanviz import tensor as T

AT = (5.0, 6.0)
MADE = {
    "as_tensor_variable": lambda a, b: T.as_tensor_variable([a, b]),
    "stack": lambda a, b: T.stack([a, b]),
    "concatenate": lambda a, b: T.concatenate([[a], [b]]),
    "set_subtensor": lambda a, b: T.set_subtensor(T.zeros(2)[:], [a, b]),
    "a part": lambda a, b: T.as_tensor_variable([b, a, b])[1:],
}


@pytest.fixture(params=MADE)
def held(request):
    a, b = T.scalar("a"), T.scalar("b")
    return a, b, MADE[request.param](a, b)


def value(held, expression, **options):
    a, b, _ = held
    return scanviz.function([a, b], expression, on_unused_input="ignore", **options)(*AT)


def test_derivatives_by_a_vector_include_elements_read_separately(held):
    w = held[2]
    assert value(held, scanviz.grad((w[0] * w).sum(), w)).tolist() == [16, 5]
    assert value(held, scanviz.grad((w[::-1] * w).sum(), w)).tolist() == [12, 10]
    assert value(held, scanviz.grad(sum(w), w)).tolist() == [1, 1]
    assert value(held, scanviz.jacobian(w[0] * w, w)).tolist() == [[10, 0], [6, 5]]
    assert value(held, scanviz.hessian((w[0] * w**2).sum(), w)).tolist() == [[30, 12], [12, 10]]


def test_products_with_derivatives_by_a_vector_reach_its_elements(held):
    w, first, ones = held[2], T.constant([1.0, 0.0]), T.constant([1.0, 1.0])
    assert value(held, scanviz.Rop(w[0] * w, w, first)).tolist() == [10, 6]
    assert value(held, scanviz.jvp(w[0] * w, w, first)[1]).tolist() == [10, 6]
    assert value(held, scanviz.Lop(w[0] * w, w, ones)).tolist() == [16, 5]
    assert value(held, scanviz.vjp(w[0] * w, w)[1](ones)).tolist() == [16, 5]


def test_an_element_of_a_vector_has_the_dtype_of_the_vector():
    assert T.as_tensor_variable([T.iscalar("n"), T.dscalar("a")])[0].type.dtype == "float64"


def test_a_vector_of_sizes_may_be_an_input():
    n, m, x = T.iscalar("n"), T.iscalar("m"), T.matrix("x")
    for sizes in (T.as_tensor_variable([n, m]), T.stack([n, m]), x.shape, x.shape[::-1]):
        assert scanviz.function([sizes], T.zeros(sizes))([2, 3]).shape == (2, 3)
        rows, _ = scanviz.scan(lambda c: c + 1, outputs_info=0, n_steps=sizes[0])
        assert scanviz.function([sizes], rows)([2, 3]).tolist() == [1, 2]


def test_the_shape_of_a_variable_holds_the_sizes_themselves():
    x = T.tensor("float64", (None, 3), "x")
    assert str(x.shape[0]) == "x.shape[0]"
    assert T.zeros(x.shape).type.shape == (None, 3)
