"""The plan of a Program: where every register lives, for given shapes and groups of instructions.

It is made once for all backends.  :func:`plan` is for what is run once, :func:`plan_loop` for the step of a loop and the rows of
its slots; loops and branches inside are planned with what is around them.
"""

from scanviz.engine.program.plan.arena import BufferLayout, buffer_layout
from scanviz.engine.program.plan.groups import chains, single
from scanviz.engine.program.plan.location import (
    Buffer,
    Emits,
    Fusion,
    Grouped,
    Grouping,
    Location,
    Place,
    Plan,
    Row,
    Size,
    Store,
    StoreKind,
    View,
    Where,
    overwritable,
)
from scanviz.engine.program.plan.planning import plan, plan_loop
from scanviz.engine.program.plan.result_placement import wraps

__all__ = [
    "Buffer",
    "BufferLayout",
    "Emits",
    "Fusion",
    "Grouped",
    "Grouping",
    "Location",
    "Place",
    "Plan",
    "Row",
    "Size",
    "Store",
    "StoreKind",
    "View",
    "Where",
    "buffer_layout",
    "chains",
    "overwritable",
    "plan",
    "plan_loop",
    "single",
    "wraps",
]
