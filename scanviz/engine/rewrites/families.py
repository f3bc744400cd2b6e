"""The files that rules are written in; importing this one registers them all."""

from __future__ import annotations

from scanviz.engine.rewrites import (
    barrier,
    fill,
    fold,
    inline,
    keep,
    merge,
    push_after,
    push_before,
    push_sums,
    residuals,
    scan_merge,
    shape,
    split,
    unused,
)

FILES = (
    barrier,
    fill,
    fold,
    inline,
    keep,
    merge,
    push_after,
    push_before,
    push_sums,
    residuals,
    scan_merge,
    shape,
    split,
    unused,
)
