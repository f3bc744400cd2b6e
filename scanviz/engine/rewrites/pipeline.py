"""The rewrites that every function's graph goes through, in order."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.rewrites.barrier import remove_barriers
from scanviz.engine.rewrites.fill import unfill
from scanviz.engine.rewrites.fold import fold_constants
from scanviz.engine.rewrites.keep import save_memory
from scanviz.engine.rewrites.merge import merge_equal
from scanviz.engine.rewrites.residuals import merge_residuals
from scanviz.engine.rewrites.shape import resolve_shapes

REWRITES = (
    merge_residuals,  # before anything rebuilds loop variables, by which it knows loops that belong together
    remove_barriers,
    resolve_shapes,
    fold_constants,
    merge_equal,
    unfill,
    fold_constants,
    merge_equal,
    save_memory,
)


def rewritten_graph(outputs: Sequence[Variable]) -> list[Variable]:
    """Return ``outputs`` after all rewrites."""
    current = list(outputs)
    for rewrite in REWRITES:
        current = rewrite(current)
    return current
