"""Profiling: recording the engine's events and reporting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scanviz.profiler.recording.session import Session, profile

__all__ = ["Session", "profile"]


def __getattr__(name: str) -> Any:
    """Import names on demand: a program that runs without recording does not wait for the recorder."""
    if name not in __all__:
        raise AttributeError(f"module 'scanviz.profiler' has no attribute {name!r}")
    from scanviz.profiler.recording import session

    return getattr(session, name)


def __dir__() -> list[str]:
    return sorted(__all__)
