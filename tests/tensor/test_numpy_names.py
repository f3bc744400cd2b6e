"""Names people reach for: what they refuse, and derivatives at corners (their values: the laws of NumPy's names)."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import (
    AssertFailedError,
    ScanvizIndexError,
    ScanvizTypeError,
    ScanvizValueError,
    ShapeError,
)

x, A, n = T.vector("x"), T.matrix("A"), T.lscalar("n")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: T.linspace(0, 1, -2), ScanvizValueError, "num cannot be negative"),
        (lambda: T.linspace(0, 1, 2.5), ScanvizTypeError, "num must be an integer"),
        (lambda: T.diff(T.scalar("s")), ScanvizTypeError, "`s` is a scalar"),
        (lambda: T.diff(x, -1), ScanvizValueError, "diff: n"),
        (lambda: T.pad(x, 1, "median"), ScanvizValueError, "found:    'median'"),
        (lambda: T.pad(x, 1, "edge", constant_values=3), ScanvizValueError, "constant_values has no meaning"),
        (lambda: T.pad(x, 1, "reflect", reflect_type="odd"), ScanvizValueError, "found:    'odd'"),
        (lambda: T.pad(x, -1), ScanvizValueError, "a width of `x` is negative"),
        (lambda: T.pad(A, [1, 2, 3]), ScanvizValueError, r"\[(before0, after0), (before1, after1)\]".replace("\\", "")),
        (lambda: T.cross(T.tensor("float64", (4,), "v"), x), ShapeError, "`v` has 4 components"),
        (lambda: T.cross(T.scalar("s"), x), ScanvizTypeError, "`s` is a scalar, and no vector"),
        (lambda: T.clip(x, 0, min=1), ScanvizValueError, "two names of one limit"),
        (lambda: T.where(x > 0, x), ScanvizTypeError, "two values to choose from"),
        (lambda: T.round(x > 0, 1), ScanvizTypeError, "truth values have no 1 decimals"),
        (lambda: x.mT, ScanvizTypeError, "`x` is no matrix to transpose"),
        (lambda: T.vstack([x, x], dtype="int64"), ScanvizTypeError, "an array of float64 is not joined as int64"),
        (lambda: T.vstack([]), ScanvizValueError, "nothing to concatenate"),
        (lambda: T.quantile(x, 1.5), ScanvizValueError, "from 0 to 1"),
        (lambda: T.percentile(x, [50, 101]), ScanvizValueError, "from 0 to 100"),
        (lambda: T.quantile(x, 0.5, method="lower"), ScanvizValueError, "found:    'lower'"),
        (lambda: T.quantile(x > 0, 0.5), ScanvizTypeError, "truth values"),
        (lambda: T.searchsorted(A, x), ScanvizTypeError, "`A` is no vector"),
        (lambda: T.searchsorted(x, x, "middle"), ScanvizValueError, "found:    'middle'"),
        (lambda: T.bincount(x), ScanvizTypeError, "`x` holds no whole numbers"),
        (lambda: T.unravel_index(x, (2, 3)), ScanvizTypeError, "the indices must be integers"),
        (lambda: T.ravel_multi_index([n], (2, 3)), ScanvizValueError, "one index for each axis"),
        (lambda: T.ravel_multi_index([n, n], (2, 3), "stop"), ScanvizValueError, "found:    'stop'"),
        (lambda: T.append(x, A, 0), ScanvizTypeError, "equal numbers of dimensions"),
    ],
)  # fmt: skip
def test_mismatched_arguments_are_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value) and "test_numpy_names.py" in str(caught.value)


@pytest.mark.parametrize(
    ("build", "value", "message"),
    [
        (lambda: T.quantile(T.constant([1.0, 2.0]), x), [0.5, -0.1], "quantile: q is not from 0 to 1"),
        (lambda: T.unravel_index(T.cast(x, "int64"), (2, 3))[0], [6.0], "an index is beyond the array"),
        (lambda: T.ravel_multi_index([T.cast(x, "int64")] * 2, (2, 3)), [2.0], "an index is beyond its axis"),
    ],
)
def test_numbers_beyond_are_an_error_when_it_runs(build, value, message):
    for mode in ("reference", "numpy"):
        with pytest.raises(AssertFailedError, match=message):
            scanviz.function([x], build(), mode=mode)(value)


def test_padding_an_axis_without_elements_is_an_error_when_it_runs():
    with pytest.raises(ScanvizIndexError):
        scanviz.function([x], T.pad(x, 1, "edge"))(np.zeros(0))


def test_widths_of_padding_may_be_variables():
    f = scanviz.function([x, n], [T.pad(x, (n, 1)), T.pad(x, (1, n), "wrap")])
    zeros, wrapped = f([1.0, 2.0], 3)
    assert zeros.tolist() == [0, 0, 0, 1, 2, 0] and wrapped.tolist() == [2, 1, 2, 1, 2, 1]


def test_limits_on_one_side_have_the_derivatives_of_clip():
    for low, high in [(0.0, None), (None, 0.0), (0.0, 5.0)]:
        assert scanviz.grad(T.sum(T.clip(x, low, high)), x).eval({x: [0.0]}).tolist() == [1.0]


def test_ends_of_evenly_spaced_numbers_have_their_shares_as_derivatives():
    a, b = T.scalar("a"), T.scalar("b")
    weights = np.array([1.0, 10.0, 100.0])
    found = scanviz.grad(T.sum(T.linspace(a, b, 3) * weights), [a, b])
    assert scanviz.function([], found)() == [6.0, 105.0]


def test_methods_and_operators_take_numpys_arguments():
    values = np.array([1.26, -0.5, 7.0])
    found = scanviz.function(
        [x], [x.clip(0), x.clip(max=1), x.round(1), round(x, 1), *divmod(x, 2), *divmod(7.0, x)]
    )
    expected = [values.clip(0), values.clip(max=1), values.round(1), values.round(1), *np.divmod(values, 2)]
    for mine, theirs in zip(found(values), [*expected, *np.divmod(7.0, values)], strict=True):
        np.testing.assert_array_equal(mine, theirs)
