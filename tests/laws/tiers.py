"""The tiers that laws run on: those that need no device and work here."""

from __future__ import annotations

from hypothesis import strategies as st

from scanviz.engine.backends.registry import availability

NAMES = tuple(name for name in ("numpy", "reference", "native") if availability(name).works)
TIERS = st.sampled_from(NAMES)

__all__ = ["NAMES", "TIERS"]
