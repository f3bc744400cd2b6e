"""A vector made of scalars is a value of its own: derivatives by it, and what stands in its place, reach all that reads it."""

import scanviz
from scanviz import tensor as T


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
