"""Sorting, searching and counting in CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, single
from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.sort import ARGSORT, BINCOUNT, SEARCHSORTED, SORT, check_counted

CUPY.row(SORT)(single(lambda xp, p, x: xp.sort(x, axis=p.axis)))
CUPY.row(ARGSORT)(single(lambda xp, p, x: xp.argsort(x, axis=p.axis)))
CUPY.row(SEARCHSORTED)(single(lambda xp, p, a, v: xp.searchsorted(*_of_one_dtype(xp, a, v), side=p.side)))


def _of_one_dtype(xp: Any, *arrays: Any) -> Sequence[Any]:
    common = np.result_type(*arrays)
    return [xp.asarray(array).astype(common) for array in arrays]


def _bincount(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    numbers, least, *weights = values
    smallest = int(numbers.min()) if numbers.size else 0
    check_counted(smallest, numbers.size, int(least), weights)
    dtype = "float64" if weights else "int64"
    if not numbers.size:
        return (xp.zeros(int(least), dtype),)
    return (xp.bincount(numbers, *weights, minlength=int(least)).astype(dtype),)


CUPY.row(BINCOUNT)(CupyRow(_bincount))
