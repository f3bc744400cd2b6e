"""Softmax and its logarithm in CuPy."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX


def _softmax(xp: Any, parameters: Any, x: Any) -> Any:
    powers = xp.exp(x - x.max(axis=parameters.axes, keepdims=True))
    return powers / powers.sum(axis=parameters.axes, keepdims=True)


def _log_softmax(xp: Any, parameters: Any, x: Any) -> Any:
    shifted = x - x.max(axis=parameters.axes, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=parameters.axes, keepdims=True))


CUPY.row(SOFTMAX)(single(_softmax))
CUPY.row(LOG_SOFTMAX)(single(_log_softmax))
