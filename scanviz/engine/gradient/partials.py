"""Partial derivatives of elementwise operations: those written by hand, and those that follow from formulas.

``partial(t, *inputs, output)`` is ``t`` times the partial derivative, None where that is zero everywhere.  Operations without a
formula in others (``exp``, ``add``) have one written by hand.  So do those where the derived one would read more values,
compute more, or differ where there is no derivative (:mod:`scanviz.engine.gradient.elementwise`).  All others are derived: the
chain rule over the lines of the formula, from the result back to the arguments, each line an operation of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.graph.types import BOOLEAN, FLOATS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.support import constant

if TYPE_CHECKING:
    from scanviz.engine.scalar.blocks import Block, Statement


# t, inputs…, output → t times the partial derivative; None where that is zero everywhere
Partial = Callable[..., Variable | None]
# whether a node is something, as far as is known when building
Test = Callable[[Apply], bool]
PARTIALS: MeaningTable[Sequence[Partial | None]] = MeaningTable(
    "derivative", "engine/gradient/elementwise.py, or give it a formula of operations that have one"
)
POLES: dict[Declaration, Test] = {}
STEEP: dict[Declaration, Test] = {}


def partials_of(node: Apply) -> Sequence[Partial | None]:
    """Return the partial derivative with respect to each input of an elementwise operation."""
    declaration = node.op.declaration
    known = PARTIALS.get(declaration)
    if known is not None:
        return known
    assert isinstance(declaration, ElementwiseDeclaration)
    if tensor_type(node.outputs[0]).dtype not in FLOATS:
        return (None,) * len(node.inputs)
    return [partial(_derived, declaration, position) for position in range(len(node.inputs))]


def _derived(
    declaration: ElementwiseDeclaration, position: int, t: Variable, *values: Variable
) -> Variable | None:
    """Return ``t`` times the derivative of a formula with respect to one input."""
    *inputs, output = values
    block, known = inlined(declaration, inputs, output)
    moving = _depending(block, position)
    found: dict[int, Variable] = {block.results[0]: t}
    for line in reversed(block.lines):
        cotangent = found.get(line.outputs[0])
        if cotangent is None or line.outputs[0] not in moving:
            continue
        operands = [known[number] for number in line.inputs]
        if line.op == "cast":
            terms: Sequence[Partial | None] = [lambda t, x, y: t]
        else:
            terms = _of_primitive(line.op, operation_of(line, block), declaration)
        for number, term in zip(line.inputs, terms, strict=True):
            added = (
                None
                if term is None or number not in moving
                else term(cotangent, *operands, known[line.outputs[0]])
            )
            if added is not None:
                found[number] = added if number not in found else found[number] + added
    return found.get(position)


def _of_primitive(
    op: str, operation: ElementwiseDeclaration | None, declaration: ElementwiseDeclaration
) -> Sequence[Partial | None]:
    known = None if operation is None else PARTIALS.get(operation)
    if known is None:
        raise ScanvizNotImplementedError(
            f"the op {declaration.name!r} has no derivative: its formula uses {op}",
            fix="derivatives(…) of it in engine/gradient/elementwise.py",
        )
    return known


def inlined(
    declaration: ElementwiseDeclaration, inputs: Sequence[Variable], *output: Variable
) -> tuple[Block, dict[int, Variable]]:
    """Return the formula of an operation for inputs, and its values as variables; ``output`` is used for the result if given."""
    computed, block = declaration.block(*(tensor_type(variable).dtype for variable in inputs))
    given = [e.cast(variable, dtype) for variable, dtype in zip(inputs, computed, strict=True)]
    known = values_of(block, given, output)
    if known is None:
        raise ScanvizNotImplementedError(
            f"the op {declaration.name!r} has no derivative: its formula is no chain of elementwise operations",
            fix="derivatives(…) of it in engine/gradient/elementwise.py",
        )
    return block, known


def _depending(block: Block, position: int) -> set[int]:
    """Return the floating-point values of a block that depend on an argument."""
    found = {position}
    for line in block.lines:
        if found.intersection(line.inputs) and block.dtypes[line.outputs[0]] in FLOATS:
            found.update(line.outputs)
    return found


def has_pole(node: Apply) -> bool:
    """Return whether the value of a node may not be finite where its inputs are."""
    return _is(POLES, node)


def is_steep(node: Apply) -> bool:
    """Return whether a node may have an infinite slope where its value is finite."""
    return _is(STEEP, node)


def _is(table: dict[Declaration, Test], node: Apply) -> bool:
    declaration = node.op.declaration
    test = table.get(declaration)
    if test is not None:
        return test(node)
    if declaration in PARTIALS or not isinstance(declaration, ElementwiseDeclaration):
        return False
    if not any(operation in table for operation in _operations(declaration, node)):
        return False
    known = inlined(declaration, node.inputs)[1]
    made = {variable.owner for variable in known.values() if variable not in node.inputs} - {None}
    return any(_is(table, owner) for owner in made if owner is not None)


def _operations(declaration: ElementwiseDeclaration, node: Apply) -> list[Declaration]:
    """Return the operations that a formula is made of."""
    block = declaration.block(*(tensor_type(variable).dtype for variable in node.inputs))[1]
    return [found for line in block.lines if (found := operation_of(line, block)) is not None]


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
    """Return the elementwise operation of a line, or None."""
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
    """Return the values of a block as variables, or None if a line is no elementwise operation.

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
