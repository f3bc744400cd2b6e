"""Reductions in CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
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
