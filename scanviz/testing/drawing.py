"""Draws by their formulas, element by element, in the order of NumPy's draws: an oracle, and its other side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.ops.draw_formulas import draw_block
from scanviz.engine.scalar.array_source import on_arrays


def formula_draw(name: str, state: Array, count: int, dtype: str, parameters: Sequence[Any]) -> Array:
    """Return ``count`` numbers of a distribution that has a formula, with one parameter of each kind for each number.

    Examples
    --------
    >>> from scanviz.engine.ops.philox import seed_state
    >>> formula_draw("integers", seed_state(3), 4, "int64", [[1] * 4, [7] * 4]).tolist()
    [1, 5, 4, 4]
    """
    draw = draw_block(name, "float32" if dtype == "float32" else "float64")
    assert draw is not None, name
    blocks = -(-count // draw.elements)
    kind = draw.block.dtypes[7]
    given = [
        np.resize(np.asarray(each).astype(kind), blocks * draw.elements)[k :: draw.elements]
        for k in range(draw.elements)
        for each in parameters
    ]
    with np.errstate(all="ignore"):
        found = on_arrays(draw.block)(*state, np.arange(blocks, dtype=np.uint64), *given)
    whole = np.stack([np.broadcast_to(each, (blocks,)) for each in found], axis=1).reshape(-1)
    return whole[:count].astype(dtype)


__all__ = ["formula_draw"]
