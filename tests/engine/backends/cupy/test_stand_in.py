"""The stand-in for CuPy and CuPy itself agree on which arrays share memory, and on refusals."""

import numpy as np
import pytest

from scanviz.engine.backends.cupy.table import extension
from tests.engine.backends.cupy.fake_cupy import FakeCupy


@pytest.fixture(params=["stand-in", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request):
    if request.param == "cupy":
        return pytest.importorskip("cupy")
    return FakeCupy()


def linalg(xp):
    return extension(xp, "scipy.linalg")


SHARED = {
    "a row": lambda xp, x: x[0],
    "an element": lambda xp, x: x[0, 1],
    "an element after all": lambda xp, x: x[..., 1, 1],
    "a slice": lambda xp, x: x[:, 1:],
    "reversed rows": lambda xp, x: x[::-1],
    "a new axis": lambda xp, x: x[None],
    "another shape": lambda xp, x: x.reshape((3, 2)),
    "transposed": lambda xp, x: x.transpose(),
    "swapped axes": lambda xp, x: x.swapaxes(0, 1),
    "a moved axis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "repeated by strides": lambda xp, x: xp.broadcast_to(x, (2, 2, 3)),
    "a diagonal": lambda xp, x: xp.diagonal(x),
    "the array itself": lambda xp, x: xp.asarray(x),
    "the same dtype, copied only if needed": lambda xp, x: x.astype("float64", copy=False),
}
COPIED = {
    "a copy": lambda xp, x: x.copy(),
    "a new array": lambda xp, x: xp.array(x),
    "the same dtype": lambda xp, x: x.astype("float64"),
    "rows by a list": lambda xp, x: x[[0]],
    "rows by an array": lambda xp, x: x[xp.asarray([1, 0])],
    "elements by a mask": lambda xp, x: x[xp.greater(x, 1)],
    "another shape, transposed": lambda xp, x: x.transpose().reshape((6,)),
    "joined": lambda xp, x: xp.concatenate([x]),
    "a triangle": lambda xp, x: xp.tril(x),
}


@pytest.mark.parametrize("name", SHARED)
def test_views_share_memory(xp, name):
    x = xp.arange(6.0).reshape((2, 3))
    view = SHARED[name](xp, x)
    assert xp.may_share_memory(x, view)
    x[...] = 7.0
    assert set(np.ravel(view.get())) == {7.0}


@pytest.mark.parametrize("name", COPIED)
def test_copies_share_no_memory(xp, name):
    x = xp.arange(6.0).reshape((2, 3))
    copied = COPIED[name](xp, x)
    assert not xp.may_share_memory(x, copied)
    x[...] = 7.0
    assert 7.0 not in copied.get()


def ones(xp, *shape, dtype="float64"):
    return xp.asarray(np.ones(shape, dtype))


OUT = {
    "more rows than the result": lambda xp: xp.add(ones(xp, 3), 1.0, out=ones(xp, 2, 3)),
    "a smaller float": lambda xp: xp.add(ones(xp, 3), 1.0, out=ones(xp, 3, dtype="float32")),
    "a larger float": lambda xp: xp.add(ones(xp, 3, dtype="float32"), 1.0, out=ones(xp, 3)),
    "a float for integers": lambda xp: xp.add(ones(xp, 3, dtype="int64"), 1, out=ones(xp, 3)),
    "a smaller integer": lambda xp: xp.add(ones(xp, 3, dtype="int64"), 1, out=ones(xp, 3, dtype="int8")),
    "a float for truth": lambda xp: xp.greater(ones(xp, 3), -1.0, out=ones(xp, 3)) + 1,
    "a sum": lambda xp: xp.sum(ones(xp, 2), out=ones(xp)),
    "a product of matrices": lambda xp: xp.matmul(ones(xp, 2, 2), ones(xp, 2, 2), out=ones(xp, 2, 2)),
    "a dot": lambda xp: xp.dot(ones(xp, 2, 2), ones(xp, 2, 2), out=ones(xp, 2, 2)),
    "joined": lambda xp: xp.concatenate([ones(xp, 1) + 1, ones(xp, 2) + 1], out=ones(xp, 3)),
}


@pytest.mark.parametrize("name", OUT)
def test_results_are_written_into_given_arrays(xp, name):
    assert set(np.ravel(OUT[name](xp).get())) == {2.0}


def host(*shape):
    return np.ones(shape)


def stored(xp, value):
    ones(xp, 3)[...] = value


REFUSALS = {
    "an array of the host in a sum of arrays": (TypeError, lambda xp: xp.add(ones(xp, 3), host(3))),
    "a number of the host in an array": (TypeError, lambda xp: xp.add(ones(xp, 3), host())),
    "an array of the host by a symbol": (TypeError, lambda xp: ones(xp, 3) + host(3)),
    "an array of the host first": (TypeError, lambda xp: host(3) + ones(xp, 3)),
    "NumPy's function": (TypeError, lambda xp: np.add(ones(xp, 3), host(3))),
    "a copy to the host unasked": (TypeError, lambda xp: np.asarray(ones(xp, 3))),
    "joining with the host": (TypeError, lambda xp: xp.concatenate([ones(xp, 3), host(3)])),
    "a product with the host": (TypeError, lambda xp: xp.dot(ones(xp, 3), host(3))),
    "places of an array of the host": (TypeError, lambda xp: xp.flatnonzero(host(3))),
    "a choice by the host": (TypeError, lambda xp: xp.where(host(3) > 0, ones(xp, 3), ones(xp, 3))),
    "an array of the host stored": (ValueError, lambda xp: stored(xp, host(3))),
    "a list stored": (ValueError, lambda xp: stored(xp, [1, 2, 3])),
    "too many numbers stored": (ValueError, lambda xp: stored(xp, ones(xp, 4))),
    "out of the host": (TypeError, lambda xp: xp.add(ones(xp, 3), 1.0, out=host(3))),
    "out of fewer rows": (ValueError, lambda xp: xp.add(ones(xp, 2, 3), 1.0, out=ones(xp, 3))),
    "out of another length": (ValueError, lambda xp: xp.add(ones(xp, 3), 1.0, out=ones(xp, 4))),
    "out of integers for floats": (
        TypeError,
        lambda xp: xp.add(ones(xp, 3), 1.0, out=ones(xp, 3, dtype="int64")),
    ),
    "out unsigned for signed": (
        TypeError,
        lambda xp: xp.add(ones(xp, 3, dtype="int64"), 1, out=ones(xp, 3, dtype="uint64")),
    ),
    "out of a sum with an axis": (ValueError, lambda xp: xp.sum(ones(xp, 3), out=ones(xp, 1))),
    "out of a product with more matrices": (
        ValueError,
        lambda xp: xp.matmul(ones(xp, 2, 2), ones(xp, 2, 2), out=ones(xp, 3, 2, 2)),
    ),
    "out of a product with fewer matrices": (
        ValueError,
        lambda xp: xp.matmul(ones(xp, 3, 2, 2), ones(xp, 2, 2), out=ones(xp, 2, 2)),
    ),
    "out of a dot in another dtype": (
        ValueError,
        lambda xp: xp.dot(ones(xp, 2, 2), ones(xp, 2, 2), out=ones(xp, 2, 2, dtype="float32")),
    ),
    "out of a transposed dot": (
        ValueError,
        lambda xp: xp.dot(ones(xp, 2, 3), ones(xp, 3, 2), out=ones(xp, 2, 2).transpose()),
    ),
    "out of a choice": (
        TypeError,
        lambda xp: xp.where(ones(xp, 3) > 0, ones(xp, 3), 0.0, out=ones(xp, 3)),
    ),
    "a difference of booleans": (TypeError, lambda xp: xp.subtract(ones(xp, 3) > 0, ones(xp, 3) > 0)),
    "a negative boolean": (TypeError, lambda xp: xp.negative(ones(xp, 3) > 0)),
    "sizes that do not fit": (ValueError, lambda xp: xp.add(ones(xp, 3), ones(xp, 4))),
    "a product that does not fit": (ValueError, lambda xp: xp.matmul(ones(xp, 2, 3), ones(xp, 2, 3))),
    "a shape that does not fit": (ValueError, lambda xp: ones(xp, 3).reshape((2, 2))),
    "the largest of nothing": (ValueError, lambda xp: xp.max(ones(xp, 0))),
    "where the largest of nothing is": (ValueError, lambda xp: xp.argmax(ones(xp, 0))),
    "a stack of nothing": (ValueError, lambda xp: xp.stack([])),
    "an index outside": (IndexError, lambda xp: ones(xp, 3)[5]),
    "an index that is no integer": (IndexError, lambda xp: ones(xp, 3)[ones(xp, 2)]),
    "a mask of another length": (IndexError, lambda xp: ones(xp, 3)[ones(xp, 2) > 0]),
    "text": (ValueError, lambda xp: xp.array(["a"])),
    "the length of a number": (TypeError, lambda xp: len(ones(xp))),
    "many numbers as one": (TypeError, lambda xp: int(ones(xp, 2))),
    "many numbers as a truth": (ValueError, lambda xp: bool(ones(xp, 2))),
    "many numbers as an item": (ValueError, lambda xp: ones(xp, 2).item()),
    "additions of bytes at places": (
        TypeError,
        lambda xp: xp.add.at(ones(xp, 3, dtype="int8"), xp.asarray([0]), 1),
    ),
    "products at places": (
        NotImplementedError,
        lambda xp: xp.multiply.at(ones(xp, 3), xp.asarray([0]), 1.0),
    ),
    "factors of nan": (ValueError, lambda xp: linalg(xp).lu_factor(ones(xp, 2, 2) * np.nan)),
    "factors of a batch": (np.linalg.LinAlgError, lambda xp: linalg(xp).lu_factor(ones(xp, 2, 3, 3))),
    "factors of integers": (
        NotImplementedError,
        lambda xp: linalg(xp).lu_factor(ones(xp, 2, 2, dtype="int64")),
    ),
    "factors of half floats": (
        NotImplementedError,
        lambda xp: linalg(xp).lu_factor(ones(xp, 2, 2, dtype="float16")),
    ),
    "a side of another length": (
        ValueError,
        lambda xp: linalg(xp).lu_solve(linalg(xp).lu_factor(xp.eye(2)), ones(xp, 3)),
    ),
    "a side of inf": (
        ValueError,
        lambda xp: linalg(xp).lu_solve(linalg(xp).lu_factor(xp.eye(2)), ones(xp, 2) * np.inf),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_the_same_is_refused(xp, name):
    error, action = REFUSALS[name]
    with pytest.raises(error):
        action(xp)


@pytest.mark.parametrize("trans", [0, 1])
def test_systems_are_solved_in_the_dtype_of_their_factors(xp, trans):
    matrix = np.array([[0.0, 2], [3, 1]], "float32")
    factors = linalg(xp).lu_factor(xp.asarray(matrix))
    assert [each.dtype.name for each in factors] == ["float32", "int32"]
    found = linalg(xp).lu_solve(factors, ones(xp, 2), trans=trans)
    assert found.dtype == "float32"
    wanted = np.linalg.solve(matrix.T if trans else matrix, np.ones(2))
    np.testing.assert_allclose(found.get(), wanted, rtol=1e-6)


def test_a_singular_matrix_has_factors_and_a_warning(xp):
    with pytest.warns(RuntimeWarning, match="Diagonal number 2 is exactly zero"):
        factors, _ = linalg(xp).lu_factor(ones(xp, 2, 2))
    assert factors.tolist() == [[1, 1], [1, 0]]


def test_functions_learnt_last(xp):
    assert xp.flatnonzero(xp.asarray([[0, 1], [2, 0]])).tolist() == [1, 2]
    assert xp.fmod(xp.asarray([-5.0, 5.0]), 3.0).tolist() == [-2, 2]
    assert xp.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.arange(3, dtype="float32").dtype == "float32"
    assert xp.asarray([1, 2], "float32").dtype == xp.array([1, 2], "float32").dtype == "float32"
