"""Symbolic inputs: dtype by prefix, shape by word, name first; constants; refusals."""

import inspect

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.tensor.constructors import CONSTRUCTORS

PREFIXES = {"b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64"}
SHAPES = {
    "scalar": (),
    "vector": (None,),
    "row": (1, None),
    "col": (None, 1),
    "matrix": (None, None),
    "tensor3": (None,) * 3,
    "tensor4": (None,) * 4,
    "tensor5": (None,) * 5,
}


@pytest.mark.parametrize("word", SHAPES)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_prefix_gives_the_dtype_and_the_word_the_shape(prefix, word):
    made = getattr(T, prefix + word)("v")
    assert made.type == T.TensorType(PREFIXES[prefix], SHAPES[word]) and made.name == "v"
    assert getattr(T, prefix + word)().name is None


@pytest.mark.parametrize("word", SHAPES)
def test_constructors_without_a_prefix_use_floatx_or_the_given_dtype(word, monkeypatch):
    assert getattr(T, word)("v", dtype="int8").dtype == "int8"
    monkeypatch.setattr(scanviz.config, "_floatX", "float32")
    assert getattr(T, word)("v").dtype == "float32"


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_constructor_is_public_documented_and_called_by_its_name(name):
    function = getattr(T, name)
    assert function.__name__ == name and name in T.__all__ and function.__doc__.startswith("Return")
    assert "dtype" in inspect.signature(function).parameters


@pytest.mark.parametrize("plural", ["vectors", "dmatrices", "iscalars", "rows", "cols", "ftensor3s"])
def test_plurals_make_several(plural):
    one = getattr(T, {"dmatrices": "dmatrix"}.get(plural, plural[:-1]))
    first, second = getattr(T, plural)("a", "b")
    assert (first.name, second.name) == ("a", "b") and first.type == second.type == one().type
    assert [each.name for each in getattr(T, plural)(3)] == [None] * 3


def test_a_tensor_has_the_dtype_and_shape_it_is_given():
    made = T.tensor("int32", [3, None], "grid")
    assert made.type == T.TensorType("int32", (3, None)) and made.name == "grid"
    assert T.tensor(shape=(2,)).dtype == scanviz.config.floatX
    assert isinstance(made, T.TensorVariable)


@pytest.mark.parametrize("name", ["x", "b", "u1", "float32"])
def test_a_tensor_may_be_given_its_name_first_as_in_pytensor(name):
    made = T.tensor(name, dtype="int32", shape=(3, None))
    assert made.type == T.TensorType("int32", (3, None)) and made.name == name


def test_a_text_that_is_no_dtype_is_the_name_of_a_tensor():
    assert T.tensor("grid", (3,)).name == "grid" and T.tensor("grid", (3,)).type.shape == (3,)
    assert T.tensor("float32", (3,)).name is None and T.tensor("m", (3,)).name == "m"
    assert T.tensor("f", (3,), "x").dtype == "float32"


def test_constructors_accept_known_sizes():
    assert T.matrix("x", shape=(None, 3)).type.shape == (None, 3)
    assert T.fvector("x", shape=(3,)).type == T.TensorType("float32", (3,))
    assert T.row("x", shape=(None, 3)).type.shape == (1, 3)


def test_a_constant_is_a_copy_of_a_value():
    value = np.arange(3, dtype="int16")
    made = T.constant(value, "c")
    value[0] = 9
    assert made.value.tolist() == [0, 1, 2] and (made.dtype, made.name) == ("int16", "c")
    assert T.constant([1, 2], dtype="float32").dtype == "float32"
    assert T.constant(True).dtype == "bool" and T.constant(3).value == 3


def test_as_tensor_leaves_variables_and_stacks_lists_of_them():
    x = T.scalar("x")
    assert T.as_tensor(x) is T.as_tensor_variable(x) is x
    assert T.as_tensor([x, 2.0, x]).eval({x: 1.0}).tolist() == [1.0, 2.0, 1.0]
    assert T.as_tensor(np.ones(2), "ones").name == "ones"
    assert T.as_tensor(x, "other") is x and x.name == "x"


MISTAKES = {
    "a number as a name": (lambda: T.vector(3), ScanvizTypeError, "must be a string"),
    "an array as a name": (lambda: T.vector(np.zeros(3)), ScanvizTypeError, "T.constant"),
    "a dtype as a name": (lambda: T.vectors("x", 3), ScanvizTypeError, "must be a string"),
    "another dtype than the prefix": (
        lambda: T.fvector("x", dtype="int8"),
        ScanvizTypeError,
        "T.fvector is float32",
    ),
    "no dtype": (lambda: T.vector("x", dtype="real"), ScanvizTypeError, "'real' is not a dtype"),
    "a name or a code of NumPy": (
        lambda: T.tensor("b1", (3,)),
        ScanvizTypeError,
        r"(?s)'b1' may be a name.*T.tensor\(name='b1', .*dtype='bool'",
    ),
    "a value": (lambda: T.tensor([1.0, 2.0]), ScanvizTypeError, r"T\.constant\(…\) for a value"),
    "two dtypes": (lambda: T.tensor(int, (3,), dtype="int8"), ScanvizTypeError, "two dtypes"),
    "two names": (lambda: T.tensor("x", (3,), name="y"), ScanvizTypeError, "'x' is not a dtype"),
    "a matrix of one axis": (
        lambda: T.matrix("x", shape=(3,)),
        ScanvizTypeError,
        r"T.tensor\(shape=\(3,\)\)",
    ),
    "a row of two rows": (lambda: T.row("x", shape=(2, 3)), ScanvizTypeError, r"\(1, None\)"),
    "a rank as a shape": (lambda: T.tensor("float64", 2), ScanvizTypeError, "a shape is a tuple"),
    "a negative size": (lambda: T.tensor("float64", (-1,)), ScanvizValueError, "negative"),
    "text": (lambda: T.constant("text"), ScanvizTypeError, "text"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    call, error, part = MISTAKES[mistake]
    with pytest.raises(error, match=part):
        call()


def test_the_dtype_of_the_prefix_may_be_repeated():
    assert T.fvector("x", dtype=np.float32).dtype == "float32"
