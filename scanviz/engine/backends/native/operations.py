"""Operations that have native code: importing it fills the table of what writes them, but for families that it has when asked."""

from __future__ import annotations

from scanviz.engine.backends.native import (  # noqa: F401  # rows of native code
    branch,
    inside,
    shape,
    whole_powers,
)
from scanviz.engine.backends.native.instructions import WRITE, why_not

__all__ = ["WRITE", "why_not"]
