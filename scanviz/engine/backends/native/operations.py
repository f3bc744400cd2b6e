"""All operations that have native code: importing it fills the table of what writes them."""

from __future__ import annotations

from scanviz.engine.backends.native import (  # noqa: F401  # rows of native code
    along,
    branch,
    creation,
    index,
    inside,
    join,
    linalg,
    neural,
    reduce,
    rows,
    shape,
    whole_powers,
)
from scanviz.engine.backends.native.instructions import WRITE, why_not

__all__ = ["WRITE", "why_not"]
