"""What a function's graph is rewritten for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.rewrites.target import TargetTier

if TYPE_CHECKING:
    from scanviz.engine.mode import Mode
    from scanviz.engine.rewrites.target import WhyNoCode


def target_of(mode: Mode) -> TargetTier:
    """Return what the graph of a function of a mode is rewritten for."""
    return TargetTier(mode.backend, _native_code)


def _native_code() -> WhyNoCode | None:
    from scanviz.engine.backends.native_support import is_installed, why_no_code  # where there are loops

    return why_no_code if is_installed() else None


__all__ = ["target_of"]
