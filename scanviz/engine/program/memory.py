"""Memory that steps of a loop take beside their rows and buffers."""

from __future__ import annotations

from math import prod

import numpy as np

from scanviz.engine.program.instructions import Program, dtype_of
from scanviz.engine.program.plan import Plan, Where


def fresh_bytes(program: Program, plan: Plan) -> int:
    """Return the bytes of the arrays that a step makes anew: those of one step, and the largest once more.

    An array is let go when the next step makes its own, so the two are there for a moment together.
    """
    sizes = [
        prod(place.shape) * np.dtype(dtype_of(program, number)).itemsize
        for number, place in enumerate(plan.places)
        if place.location is Where.FRESH and place.made >= 0 and place.shape is not None
    ]
    return sum(sizes) + max(sizes, default=0)
