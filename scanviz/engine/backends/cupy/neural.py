"""Softmax and its logarithm in CuPy."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.ops.support import float_dtype


def _shifted(parameters: Any, x: Any) -> Any:
    """Return floats less the largest along the axes."""
    floating = x.astype(float_dtype(str(x.dtype)))
    return floating - floating.max(axis=parameters.axes, keepdims=True) if x.size else floating


def _softmax(xp: Any, parameters: Any, x: Any) -> Any:
    powers = xp.exp(_shifted(parameters, x))
    return powers / powers.sum(axis=parameters.axes, keepdims=True)


def _log_softmax(xp: Any, parameters: Any, x: Any) -> Any:
    shifted = _shifted(parameters, x)
    return shifted - xp.log(xp.exp(shifted).sum(axis=parameters.axes, keepdims=True))


CUPY.row(SOFTMAX)(single(_softmax))
CUPY.row(LOG_SOFTMAX)(single(_log_softmax))
