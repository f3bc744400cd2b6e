"""Whether two computations gave the same, up to the rounding of a dtype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.graph.nodes import Array

TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 0.1}


def check_same(
    found: Sequence[Array | None], expected: Sequence[Array | None], dtype: str, what: str = ""
) -> None:
    """Raise unless arrays agree in dtype, shape and, up to the rounding of ``dtype``, values.

    Raises
    ------
    AssertionError
        If they do not.
    """
    tolerance = TOLERANCE.get(dtype, 1e-9)
    for k, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if mine is None or theirs is None:
            assert mine is theirs, (what, k)
            continue
        a, b = np.asarray(mine), np.asarray(theirs)
        assert a.dtype == b.dtype, (what, k, a.dtype, b.dtype)
        assert a.shape == b.shape, (what, k, a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"{what} {k}")
