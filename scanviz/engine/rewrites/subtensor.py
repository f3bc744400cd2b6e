"""An index of an index is one index: ``x[i][j]`` is ``x[i, j]``, ``x[2:][3:]`` is ``x[5:]``, ``x[::-1][0]`` is ``x[-1]``.

What is done:

- parts that index different axes stand side by side;
- a slice or a row of a slice is found by arithmetic on bounds (:mod:`scanviz.engine.rewrites.intervals`), so ``x[::-1][::-1]`` is
  ``x`` and ``x[::-1][0]`` is ``x[-1]``, whatever the number of rows; where that has a say, the one that is surely there at
  least decides;
- an index that picks everything, ``x[:]``, is left out.

A row of a slice that leaves out others, ``x[1:][-1]`` or ``x[:-1][0]``, is a row of the whole only where the slice surely has it:
of one row, ``x[1:]`` has none, and the index is an error that must not become a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.graph.nodes import Apply, tensor_type
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.rewrites.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Refusal, rule


@rule(name="subtensor_chains", phase=GENERAL, on=(INDEX,), alone=True, tags=("general",))
def subtensor_chains(node: Apply, level: Level) -> Answer:
    """Make one index of an index of an index, and leave out one that picks everything."""
    given = node.inputs[0]
    entries = node.op.parameters.entries
    if all(_may_be_whole(entry) for entry in entries) and _picks_all(node, level):
        return rewritten(node, given, "an index that picks everything is left out")
    source = given.owner
    if source is None or source.op.declaration is not INDEX:
        return None
    from scanviz.engine.rewrites.index_of_index import one_index  # most indices are of something else

    found = one_index(node, source, level)
    if found is None or isinstance(found, Refusal):
        return found
    return rewritten(node, found, "an index of an index is one index")


def _may_be_whole(entry: IndexEntry) -> bool:
    """Return whether a part may pick all rows in order, its stop left aside."""
    kind, start, stop, step, _ = entry
    if kind != "slice" or (step is not None and step != 1) or (start is not None and start != 0):
        return False
    return not isinstance(stop, int) or stop >= 0


def _picks_all(node: Apply, level: Level) -> bool:
    """Return whether slices pick all rows, in order."""
    from scanviz.engine.rewrites.places import index_parts, is_whole  # few indices may pick all

    shape: Sequence[Any] = ()
    for axis, (entry, inputs) in enumerate(index_parts(node)):
        if is_whole(entry):
            continue
        if entry.step not in (None, 1) or entry.start not in (None, 0):
            return False
        if isinstance(entry.stop, int) and (
            entry.stop < 0 or tensor_type(node.inputs[0]).shape[axis] is None
        ):
            return False
        shape = shape or level.shape(node.inputs[0])
        stop: Any = inputs[-1] if entry.stop == INPUT else entry.stop
        if not (isinstance(stop, int) and isinstance(shape[axis], int) and stop >= shape[axis]) and not (
            surely_equal(stop, shape[axis])
        ):
            return False
    return True
