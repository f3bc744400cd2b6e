"""Formulas as graphs: the values of a block as variables, an elementwise operation a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.support import constant

if TYPE_CHECKING:
    from scanviz.engine.scalar.blocks import Block, Statement

_RENAMED = {
    "negate": e.negative,
    "truncate": e.trunc,
    "round_even": e.round,
    "select": e.where,
    "shift_left": e.left_shift,
    "shift_right": e.right_shift,
}
_BITS = {"bit_and": "and", "bit_or": "or", "bit_xor": "xor"}


def operation_of(line: Statement, block: Block) -> ElementwiseDeclaration | None:
    """Return the elementwise operation that does what a line does, None where there is none."""
    if line.op in _BITS:
        truths = block.dtypes[line.inputs[0]] == BOOLEAN
        name = f"{'logical' if truths else 'bitwise'}_{_BITS[line.op]}"
    elif line.op == "bit_not":
        name = "logical_not" if block.dtypes[line.inputs[0]] == BOOLEAN else "invert"
    else:
        name = line.op
    found = _RENAMED.get(line.op, getattr(e, name, None))
    return found if isinstance(found, ElementwiseDeclaration) else None


def values_of(
    block: Block, arguments: Sequence[Variable], results: Sequence[Variable] = ()
) -> dict[int, Variable] | None:
    """Return the values of a block as variables, None where a line is no elementwise operation.

    Parameters
    ----------
    block : Block
        The formula.
    arguments : sequence of Variable
        Its arguments, in the dtypes that it is computed in.
    results : sequence of Variable, optional
        Its results, where they are at hand: they are not computed again.
    """
    found = {**dict(zip(block.results, results, strict=False)), **dict(enumerate(arguments))}
    for line in block.lines:
        if line.outputs[0] in found:
            continue
        made = _value(line, block, found)
        if made is None:
            return None
        found[line.outputs[0]] = made
    return found


def _value(line: Statement, block: Block, known: dict[int, Variable]) -> Variable | None:
    dtype = block.dtypes[line.outputs[0]]
    if line.op == "constant":
        assert isinstance(line.data, bytes)
        return constant(np.frombuffer(line.data, dtype)[0])
    if line.op == "cast":
        return e.cast(known[line.inputs[0]], dtype)
    operation = operation_of(line, block)
    return None if operation is None else operation(*(known[number] for number in line.inputs))
