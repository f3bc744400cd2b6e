"""Joining and repeating in CuPy."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.errors import ScanvizValueError, ShapeError
from scanviz.engine.ops.join import CONCATENATE, REPEAT, concatenate_values


def _repeat(xp: Any, parameters: Any, x: Any, counts: Any) -> Any:
    wanted = counts.tolist()  # CuPy takes counts from the host alone
    axis = parameters.axis
    listed = wanted if isinstance(wanted, list) else [wanted]
    if listed and min(listed) < 0:
        raise ScanvizValueError("a count cannot be negative", found=min(listed))
    if len(listed) not in (1, x.shape[axis]):
        raise ShapeError(
            f"one count is needed for each element along axis {axis}",
            expected=f"{x.shape[axis]} counts",
            found=f"{len(listed)} counts",
        )
    return xp.repeat(x, wanted, axis=axis)


CUPY.row(CONCATENATE)(single(lambda xp, p, *arrays: concatenate_values(xp, arrays, p.axis)))
CUPY.row(REPEAT)(single(_repeat))
