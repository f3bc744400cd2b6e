"""Softmax and its logarithm in CuPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.ops.support import float_dtype


def _shifted(xp: Any, parameters: Any, x: Any) -> Any:
    """Return floats less the largest along the axes."""
    floating = x.astype(float_dtype(str(x.dtype)))
    if not x.size:
        return floating
    largest = xp.maximum(floating.max(axis=parameters.axes, keepdims=True), np.finfo(floating.dtype).min)
    return floating - largest


def _sums(xp: Any, parameters: Any, powers: Any) -> Any:
    """Return sums along the axes, 1 where all are 0."""
    return xp.maximum(powers.sum(axis=parameters.axes, keepdims=True), 1)


def _softmax(xp: Any, parameters: Any, x: Any) -> Any:
    powers = xp.exp(_shifted(xp, parameters, x))
    return powers / _sums(xp, parameters, powers)


def _log_softmax(xp: Any, parameters: Any, x: Any) -> Any:
    shifted = _shifted(xp, parameters, x)
    return shifted - xp.log(_sums(xp, parameters, xp.exp(shifted)))


CUPY.row(SOFTMAX)(single(_softmax))
CUPY.row(LOG_SOFTMAX)(single(_log_softmax))
