"""Compare arrays: bit by bit except for the kind of NaN, or up to rounding with special values in place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array

ONE_OPERATION = {
    "float16": 2e-2,
    "float32": 2e-5,
    "float64": 1e-12,
}  # what rounding of a few operations may differ by
WHOLE_LOOP = {"float16": 0.1, "float32": 1e-3, "float64": 1e-9}  # and of the steps of a loop


def assert_same_bits(found: Any, expected: Any, what: str = "") -> None:
    """Raise an AssertionError unless dtype, shape and all bits are equal; any NaN equals any other.

    Examples
    --------
    >>> import numpy as np
    >>> assert_same_bits(np.array([np.nan, 0.0]), np.array([np.nan, 0.0]))
    """
    mine, theirs = _alike(found, expected, what)
    if mine.tobytes() == theirs.tobytes():
        return
    np.testing.assert_array_equal(mine, theirs, err_msg=what)
    if theirs.dtype.kind == "f":
        there = ~np.isnan(theirs)
        np.testing.assert_array_equal(
            np.signbit(mine)[there], np.signbit(theirs)[there], err_msg=f"signs of {what}"
        )


def assert_within_places(found: Any, expected: Any, what: str = "", places: int = 4) -> None:
    """Raise an AssertionError unless dtype, shape, NaN and signs agree, and floats within some units in the last place.

    Examples
    --------
    >>> assert_within_places(1.0, 1.0 + 2**-52)
    """
    mine, theirs = map(np.atleast_1d, _alike(found, expected, what))
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(mine, theirs, err_msg=what)
        return
    there = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.isnan(mine), ~there, err_msg=f"NaN in {what}")
    mine, theirs = mine[there], theirs[there]
    np.testing.assert_array_equal(np.signbit(mine), np.signbit(theirs), err_msg=f"signs of {what}")
    with np.errstate(all="ignore"):
        apart = np.abs(mine.astype("float64") - theirs) / np.spacing(np.abs(theirs)).astype("float64")
    far = (mine != theirs) & ~(apart <= places)
    assert not far.any(), f"{what}: {mine[far]} and not {theirs[far]}"


def assert_close(found: Any, expected: Any, what: str = "", tolerance: float | None = None) -> None:
    """Raise an AssertionError unless dtype and shape are the same, floats up to rounding, NaN and infinities in their places."""
    mine, theirs = _alike(found, expected, what)
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(mine, theirs, err_msg=what)
        return
    near = ONE_OPERATION[theirs.dtype.name] if tolerance is None else tolerance
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(mine, theirs, rtol=near, atol=near, err_msg=what)


def check_same(
    found: Sequence[Array | None], expected: Sequence[Array | None], dtype: str, what: str = ""
) -> None:
    """Raise unless arrays of a loop agree in dtype, shape and, up to the rounding of ``dtype``, values.

    Raises
    ------
    AssertionError
        If they do not.
    """
    for k, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if mine is None or theirs is None:
            assert mine is theirs, (what, k)
        else:
            assert_close(mine, theirs, f"{what} {k}", WHOLE_LOOP.get(dtype, WHOLE_LOOP["float64"]))


def _alike(found: Any, expected: Any, what: str) -> Sequence[Any]:
    mine, theirs = np.asarray(found), np.asarray(expected)
    assert mine.dtype == theirs.dtype, f"{what}: {mine.dtype} and not {theirs.dtype}"
    assert mine.shape == theirs.shape, f"{what}: shape {mine.shape} and not {theirs.shape}"
    return mine, theirs
