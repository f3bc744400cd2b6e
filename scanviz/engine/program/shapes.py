"""Concrete shapes of a program's registers from the shapes of its inputs, as far as values are not needed.

Values that are at hand may be given too: what is computed of them alone is then computed (:class:`KnownValues`), and its shape
is that of the value.  So the shape of a row is known of a loop that takes no step, wherever it does not depend on a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import common_shape
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.slots import passed
from scanviz.engine.sizes.dims import Dims

ConcreteShape = tuple[int, ...] | None
Partial = tuple[int | None, ...]  # a shape with unknown sizes


class KnownValues(Struct, frozen=True):
    """Known values of a program's registers, and how more are computed.

    Attributes
    ----------
    values : dict
        Register → its value; constants need not be among them.
    run : callable
        ``run(program, instruction, values)`` gives the results of one instruction, of values that are listed by register.
    empty : callable
        ``empty(shape, dtype)`` gives an array of any values.
    all_steps : bool
        Whether loops that may end early are taken to do all their steps: how many those are is known then.
    """

    values: dict[int, Any]
    run: Callable[[Program, AnyInstruction, Sequence[Any]], Sequence[Any]]
    empty: Callable[[tuple[int, ...], str], Any]
    all_steps: bool = False

    def compute(self, program: Program, instruction: AnyInstruction) -> bool:
        """Compute an instruction if all that it reads is known, and return whether that was so and went well."""
        found = self._results(program, instruction, {})
        if found is not None:
            self.values.update(zip(instruction.outputs, found, strict=True))
        return found is not None

    def picked(self, program: Program, index: AnyInstruction, shape: ConcreteShape) -> Partial | None:
        """Return the shape of an index's result, for known numbers or masks and an array of a known shape."""
        if shape is None or index.inputs[0] in index.inputs[1:]:
            return None
        found = self._results(program, index, {index.inputs[0]: self.empty(shape, "int8")})
        return None if found is None else tuple(np.shape(found[0]))

    def _results(
        self, program: Program, instruction: AnyInstruction, more: Mapping[int, Any]
    ) -> Sequence[Any] | None:
        """Return the results of an instruction, or None if one of its inputs is unknown or an error."""
        known = {**program.constants, **self.values, **more}
        if not all(number in known for number in instruction.inputs):
            return None
        listed = [known.get(number) for number in range(len(program.registers))]
        try:
            return self.run(program, instruction, listed)
        except Exception:  # an error of a step that is not taken is none
            return None

    def inside(self, pairs: Mapping[int, int]) -> KnownValues:
        """Return the known facts of an inner program; ``pairs`` maps its inputs to registers around it."""
        known = {inner: self.values[outer] for inner, outer in pairs.items() if outer in self.values}
        return KnownValues(known, self.run, self.empty, self.all_steps)


def shapes_and_sizes(
    program: Program, inputs: Sequence[ConcreteShape], given: Mapping[int, int] | None = None
) -> tuple[list[ConcreteShape], dict[int, int]]:
    """Return the shape of each register, or None if it depends on values, and the values of registers that hold sizes.

    Parameters
    ----------
    program : Program
        The program to run.
    inputs : sequence
        The shapes of its inputs, None where unknown.
    given : mapping, optional
        Those of its inputs that are known to be sizes, with their values.
    """
    shapes, sizes = _followed(program, inputs, given=given)
    return [complete(shape) for shape in shapes], {
        number: size for number, size in sizes.items() if number not in program.constants
    }


def complete(shape: Partial) -> ConcreteShape:
    """Return a shape, or None if a size is unknown, or negative, which raises at run time.

    Examples
    --------
    >>> complete((2, 3)), complete((2, None))
    ((2, 3), None)
    """
    sizes = tuple(size for size in shape if size is not None and size >= 0)
    return sizes if len(sizes) == len(shape) else None


def partial_shapes(
    program: Program, inputs: Sequence[Partial | None], known: KnownValues | None = None
) -> list[Partial]:
    """Return the shape of each register with None for each size that is not known.

    Parameters
    ----------
    program : Program
        The program to run.
    inputs : sequence
        The shapes of its inputs, None where unknown.
    known : KnownValues, optional
        Values that are at hand; what is computed of them is added to it.
    """
    return _followed(program, inputs, known)[0]


def _followed(
    program: Program,
    inputs: Sequence[Partial | None],
    known: KnownValues | None = None,
    given: Mapping[int, int] | None = None,
) -> tuple[list[Partial], dict[int, int]]:
    """Return the shape of each register, and the registers whose values are known sizes."""
    shapes: list[Partial] = [register.type.shape for register in program.registers]
    for number, shape in zip(program.inputs, inputs, strict=True):
        if shape is not None:
            shapes[number] = common_shape(shape, shapes[number])
    # integers whose values follow from shapes and constants alone
    sizes: dict[int, int] = {} if given is None else dict(given)
    truths: dict[int, bool] = {}  # and truth values
    for number, value in program.constants.items():
        shapes[number] = value.shape
        if value.ndim == 0 and value.dtype == np.int64:
            sizes[number] = int(value)
    for number, value in known.values.items() if known is not None else ():
        _note_value(number, value, sizes)
    for instruction in program.instructions:
        if known is not None and known.compute(program, instruction):
            for number in instruction.outputs:
                shapes[number] = tuple(np.shape(known.values[number]))
                _note_value(number, known.values[number], sizes)
            continue
        _note_size(instruction, shapes, sizes, truths)
        if known is not None:
            known.values.update(
                {output: np.int64(sizes[output]) for output in instruction.outputs if output in sizes}
            )
        results = _results(instruction, shapes, sizes, known)
        if known is not None and instruction.op.declaration is INDEX:
            picked = known.picked(program, instruction, complete(shapes[instruction.inputs[0]]))
            results = [picked] if picked is not None else results
        for number, shape in zip(instruction.outputs, results, strict=True):
            if shape is not None:
                shapes[number] = common_shape(shape, shapes[number])
    return shapes, sizes


def _note_value(number: int, value: Any, sizes: dict[int, int]) -> None:
    """Remember a value that is one whole number."""
    if np.shape(value) == () and getattr(value, "dtype", np.dtype(object)).kind in "iub":
        sizes[number] = int(value)


def _note_size(
    instruction: AnyInstruction, shapes: Sequence[Partial], sizes: dict[int, int], truths: dict[int, bool]
) -> None:
    """Remember the integer that an instruction gives, if it is one of those that sizes are made of, or how sizes compare."""
    op = instruction.op
    are_sizes = all(number in sizes for number in instruction.inputs)
    if op.declaration is DIMENSION:
        size = shapes[instruction.inputs[0]][op.parameters.axis]
        if size is not None:
            sizes[instruction.outputs[0]] = size
    elif op.declaration is e.where and _same_size(instruction.inputs[1:], sizes):
        sizes[instruction.outputs[0]] = sizes[instruction.inputs[1]]  # whatever the condition is
    elif op.declaration is e.where and instruction.inputs[0] in truths:
        if all(number in sizes for number in instruction.inputs[1:]):
            chosen = instruction.inputs[1 if truths[instruction.inputs[0]] else 2]
            sizes[instruction.outputs[0]] = sizes[chosen]
    elif op.facts.compares and are_sizes:
        given = [np.int64(sizes[number]) for number in instruction.inputs]
        truths[instruction.outputs[0]] = bool(op.perform(given)[0])
    elif op.facts.size != "no" and are_sizes:
        given = [np.int64(sizes[number]) for number in instruction.inputs]
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(op.perform(given)[0])
        except (ScanvizError, ValueError):  # running it raises the error, with everything that is known then
            return
        if found.dtype == np.int64:
            sizes[instruction.outputs[0]] = int(found)


def _same_size(registers: Sequence[int], sizes: Mapping[int, int]) -> bool:
    """Return whether registers are known to hold one and the same size."""
    return all(number in sizes for number in registers) and len({sizes[number] for number in registers}) == 1


def _results(
    instruction: AnyInstruction,
    shapes: Sequence[Partial],
    sizes: Mapping[int, int],
    known: KnownValues | None,
) -> Sequence[Partial | None]:
    if isinstance(instruction, LoopInstruction):
        return _loop_results(instruction, shapes, sizes, known)
    if isinstance(instruction, BranchInstruction):
        return _branch_results(instruction, shapes, sizes, known)
    rule = instruction.op.declaration.shapes
    if rule is None:
        return [None] * len(instruction.outputs)

    def value(position: int) -> int | None:
        return sizes.get(instruction.inputs[position])

    try:
        return list(rule(instruction.op, Dims([shapes[number] for number in instruction.inputs], value)))
    except ScanvizError:
        # running it raises the error with everything that is known then
        return [None] * len(instruction.outputs)


def sizes_inside(program: Program, reads: Sequence[int], sizes: Mapping[int, int]) -> dict[int, int]:
    """Return the inputs of a program inside that hold known sizes, from the registers around it."""
    return {inner: sizes[outer] for inner, outer in zip(program.inputs, reads, strict=True) if outer in sizes}


def _branch_results(
    branch: BranchInstruction,
    shapes: Sequence[Partial],
    sizes: Mapping[int, int],
    known: KnownValues | None,
) -> Sequence[Partial | None]:
    """Return the shapes of a branch's results: those of the side that is known to be taken, else sizes that both sides share."""
    found: list[list[Partial]] = []
    for program, reads in branch.sides:
        pairs = dict(zip(program.inputs, reads, strict=True))
        inside = None if known is None else known.inside(pairs)
        given = sizes_inside(program, reads, sizes)
        followed, _ = _followed(program, [shapes[number] for number in reads], inside, given)
        found.append([followed[number] for number in program.outputs])
    if known is not None and branch.condition in known.values:
        return found[0] if bool(known.values[branch.condition]) else found[1]
    return [
        tuple(a if a == b else None for a, b in zip(first, second, strict=True))
        for first, second in zip(*found, strict=True)
    ]


def step_inputs(loop: LoopInstruction, shapes: Sequence[Partial]) -> list[Partial]:
    """Return the shapes of a step's inputs from those of the registers around the loop."""
    return [shapes[entry.outer][entry.rows :] for entry in passed(loop)]


def _loop_results(
    loop: LoopInstruction,
    shapes: Sequence[Partial],
    sizes: Mapping[int, int],
    known: KnownValues | None,
) -> Sequence[Partial | None]:
    """Return the shapes of a loop's results: rows as many as steps, each with the shape that the step gives."""
    fixed = {slot.inner: slot.outer for slot in loop.non_sequences}
    inside = None if known is None else known.inside(fixed)
    inner = partial_shapes(loop.body, step_inputs(loop, shapes), inside)
    most = sizes.get(loop.n_steps)
    steps = most if loop.until is None or (known is not None and known.all_steps) else None

    def kept(last: int | None) -> int | None:
        if last == 1 and most is not None and most > 0:
            return 1  # a stop condition is looked at after a step
        return None if steps is None else steps if last is None else min(steps, last)

    found: dict[int | None, Partial] = {}
    for slot in loop.states:
        row = shapes[slot.outer] if slot.kind == "sitsot" else shapes[slot.outer][1:]
        found[slot.result] = shapes[slot.outer] if slot.kind == "mitmot" else (kept(slot.keep_last), *row)
        if slot.history is not None:
            found[slot.history] = (None if steps is None else steps + slot.offset, *row)
    for output in loop.step_outputs:
        found[output.result] = (kept(output.keep_last), *inner[output.inner])
    return [found.get(number) for number in loop.outputs]
