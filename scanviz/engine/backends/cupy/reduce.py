"""Reductions in CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.errors import ShapeError
from scanviz.engine.graph.declaration import declared
from scanviz.engine.ops import reduce as r


def _with_dtype(name: str) -> Callable[..., Any]:
    return lambda xp, p, x: getattr(xp, name)(x, axis=p.axes, dtype=p.dtype, keepdims=p.keepdims)


def _plain(name: str) -> Callable[..., Any]:
    return lambda xp, p, x: getattr(xp, name)(x, axis=p.axes, keepdims=p.keepdims)


def _place(name: str) -> Callable[..., Any]:
    return lambda xp, p, x: getattr(xp, name)(x, axis=p.axis, keepdims=p.keepdims)


def _cumulative(name: str) -> Callable[..., Any]:
    return lambda xp, p, x: getattr(xp, name)(x, axis=p.axis, dtype=p.dtype)


for _name in ("sum", "prod"):
    CUPY.row(declared(_name))(single(_with_dtype(_name)))
for _name in ("max", "min", "all", "any"):
    CUPY.row(declared(_name))(single(_plain(_name)))
CUPY.row(r.ARGMAX)(single(_place("argmax")))
CUPY.row(r.ARGMIN)(single(_place("argmin")))
CUPY.row(r.CUMSUM)(single(_cumulative("cumsum")))
CUPY.row(r.CUMPROD)(single(_cumulative("cumprod")))


def _to_shape(xp: Any, parameters: Any, x: Any, *sizes: Any) -> Any:
    wanted = tuple(int(size) for size in sizes)
    axes = tuple(k for k, (a, b) in enumerate(zip(x.shape, wanted, strict=True)) if a != b)
    if any(wanted[axis] != 1 for axis in axes):
        raise ShapeError(
            "cannot be summed to a shape", expected=f"shape {wanted}, or larger where it is 1", found=x.shape
        )
    return xp.sum(x, axis=axes, dtype=x.dtype, keepdims=True) if axes else x


CUPY.row(r.SUM_TO_SHAPE)(single(_to_shape, scalars_on_host=False))
