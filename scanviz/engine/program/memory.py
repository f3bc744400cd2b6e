"""Memory that steps of a loop take beside their rows and buffers.

Results of shapes that no plan knows are made anew at every step.  The ledger of a run and the forecast of a call count them alike.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.program.instructions import Program, dtype_of
from scanviz.engine.program.plan import Plan, Where

if TYPE_CHECKING:
    from scanviz.engine.program.known_numbers import Known


def fresh_registers(plan: Plan) -> list[int]:
    """Return the registers whose arrays a step makes anew."""
    return [
        number
        for number, place in enumerate(plan.places)
        if place.location is Where.FRESH and place.made >= 0
    ]


def fresh_bytes(program: Program, plan: Plan, known: Known | None = None) -> int:
    """Return the bytes of the arrays that a step makes anew: those of one step, and the largest once more.

    An array is let go when the next step makes its own, so the two are there for a moment together.

    Parameters
    ----------
    program : Program
        The step's.
    plan : Plan
        Of the step.
    known : Known, optional
        What is known of its registers by the values of numbers; without it, arrays of which the plan knows no shape count nothing.
    """
    sizes = []
    for number in fresh_registers(plan):
        shape = plan.places[number].shape
        if shape is None and known is not None:
            shape = known.shape(number)
        if shape is not None:
            sizes.append(prod(shape) * np.dtype(dtype_of(program, number)).itemsize)
    return sum(sizes) + max(sizes, default=0)
