"""Profiling: recording what the engine tells, and reporting it."""

from __future__ import annotations

from scanviz.profiler.recording.session import Session, profile

__all__ = ["Session", "profile"]


def __dir__() -> list[str]:
    return sorted(__all__)
