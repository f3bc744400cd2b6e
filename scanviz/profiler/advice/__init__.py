"""Advice: changes that would improve a run, with gains estimated from its record."""

from __future__ import annotations

from scanviz.profiler.advice.item import Advice
from scanviz.profiler.advice.rules import advice_of

__all__ = ["Advice", "advice_of"]


def __dir__() -> list[str]:
    return sorted(__all__)
