"""Compare two runs of a program: what became faster, what slower, what stayed the same."""

from __future__ import annotations

from scanviz.profiler.compare.comparison import compare

__all__ = ["compare"]


def __dir__() -> list[str]:
    return sorted(__all__)
