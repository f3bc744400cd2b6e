"""Two runs of a program side by side: what became faster, what slower, and what is the same within noise."""

from __future__ import annotations

from scanviz.profiler.compare.comparison import compare

__all__ = ["compare"]


def __dir__() -> list[str]:
    return sorted(__all__)
