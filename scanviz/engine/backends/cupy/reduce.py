"""Reductions in CuPy."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, single
from scanviz.engine.graph.declaration import declared
from scanviz.engine.ops import reduce as r


def _called(name: str, *parameters: str, along: str = "axis") -> CupyRow:
    """Return the row of what CuPy has by name, with the axes in the parameter ``along`` and other parameters by their names."""

    def reduced(xp: Any, p: Any, x: Any) -> Any:
        given = {parameter: getattr(p, parameter) for parameter in parameters}
        return getattr(xp, name)(x, axis=getattr(p, along), **given)

    return single(reduced)


for _name in ("sum", "prod"):
    CUPY.row(declared(_name))(_called(_name, "dtype", "keepdims", along="axes"))
for _name in ("max", "min", "all", "any"):
    CUPY.row(declared(_name))(_called(_name, "keepdims", along="axes"))
CUPY.row(r.ARGMAX)(_called("argmax", "keepdims"))
CUPY.row(r.ARGMIN)(_called("argmin", "keepdims"))
CUPY.row(r.CUMSUM)(_called("cumsum", "dtype"))
CUPY.row(r.CUMPROD)(_called("cumprod", "dtype"))


def _to_shape(xp: Any, parameters: Any, x: Any, *sizes: Any) -> Any:
    axes = r.summed_axes(x.shape, sizes)
    return xp.sum(x, axis=axes, dtype=x.dtype, keepdims=True) if axes else x


CUPY.row(r.SUM_TO_SHAPE)(single(_to_shape, scalars_on_host=False))
