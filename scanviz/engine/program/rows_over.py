"""Write rows of a loop over rows of a sequence that nothing else needs.

Back through time a loop reads rows that were kept for it, each once, and gives as many rows of gradients.  If nothing needs the
rows later, each row of the result may replace the row that its step has read.  That halves the memory, and no cache line is
fetched only to be written.

This module finds the rows that nothing else needs.  Planning for known shapes decides whether a step has finished with a row
when it writes its result (:mod:`scanviz.engine.program.plan.result_placement`).  The run checks the layout of arrays in memory
(:class:`scanviz.engine.runtime.row_storage.OutputRows`).

A gradient goes back through time, so its first row is that of the last step.  If its reader starts at the last row, the loop
stores the rows backwards (:func:`laid_backwards`).  Otherwise all rows would be copied before a product with those of the
forward loop, which needs both in one order and in one piece.

Which way rows lie is known of a Program without any shape (:func:`rows_turned`): loops lay rows one after another, and a view of
rows turns them round or leaves some out at an end.  What NumPy computes of an array whose axes were permuted lies as that does,
but for products.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace as with_fields

from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import FROM_THE_LAST
from scanviz.engine.ops.shape import ALLOC, DIMENSION, DIMSHUFFLE
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    SequenceSlot,
    StepOutputSlot,
    dtype_of,
    rank_of,
)
from scanviz.engine.program.lifetimes import aliases


def rows_over(program: Program) -> tuple[list[AnyInstruction], list[tuple[str, str, str]]]:
    """Return instructions whose loops may overwrite rows of sequences, with names of loops, outputs and sequences.

    Parameters
    ----------
    program : Program
        A function's, not the step of a loop: there arrays stay from step to step.
    """
    arrays = _Arrays(program)
    fresh, names = list(program.instructions), list[tuple[str, str, str]]()
    for index, loop in enumerate(program.instructions):
        if not isinstance(loop, LoopInstruction) or loop.until is not None:
            continue
        over = arrays.of_loop(index, loop)
        if not over:
            continue
        slots = tuple(with_fields(slot, over=over.get(k)) for k, slot in enumerate(loop.step_outputs))
        fresh[index] = with_fields(loop, step_outputs=slots)
        names += [(loop.name, loop.step_outputs[k].name, loop.sequences[s].name) for k, s in over.items()]
    return fresh, names


def may_be_over(program: Program, loop: LoopInstruction) -> bool:
    """Return whether the rows that a loop may write over are needed by nothing else."""
    over = {k: slot.over for k, slot in enumerate(loop.step_outputs) if slot.over is not None}
    if not over:
        return True
    if loop.until is not None:
        return False
    plain = tuple(map(_with_own_rows, program.instructions))
    arrays = _Arrays(with_fields(program, instructions=plain))
    index = next(k for k, instruction in enumerate(program.instructions) if instruction is loop)
    once = len({*over.values()}) == len(over)
    reads = _Reads(loop.body)
    return once and all(arrays.fit(index, loop, loop.step_outputs[k], s, reads) for k, s in over.items())


def _with_own_rows(instruction: AnyInstruction) -> AnyInstruction:
    """Return a loop that overwrites no sequence."""
    if not isinstance(instruction, LoopInstruction):
        return instruction
    slots = tuple(with_fields(slot, over=None) for slot in instruction.step_outputs)
    return with_fields(instruction, step_outputs=slots)


class _Arrays:
    """The registers that may look into one array, their readers, and the order of rows in it.

    Parameters
    ----------
    program : Program
        The program of the registers; its loops write no rows over others yet.
    """

    def __init__(self, program: Program) -> None:
        self._makers: dict[int, AnyInstruction] = {}
        self._readers: dict[int, list[int]] = {}
        for index, instruction in enumerate(program.instructions):
            self._makers.update(dict.fromkeys(instruction.outputs, instruction))
            for number in instruction.inputs:
                self._readers.setdefault(number, []).append(index)
        self._shared, self._turned = aliases(program), rows_turned(program)
        self._family: dict[int, set[int]] = {}
        for number, others in self._shared.items():
            self._join({number, *others})
        for instruction in program.instructions:
            if isinstance(instruction, LoopInstruction):
                for slot in instruction.states:  # one is a part of the other
                    self._join({number for number in (slot.result, slot.history) if number is not None})
        self._kept = {*program.inputs, *program.outputs, *program.constants}

    def _join(self, numbers: set[int]) -> None:
        """Note that registers may look into one array."""
        joined = numbers.union(*(self._family.get(one, {one}) for one in numbers))
        self._family.update(dict.fromkeys(joined, joined))

    def of_loop(self, index: int, loop: LoopInstruction) -> dict[int, int]:
        """Map outputs to the sequences whose rows they may be written over, by number."""
        reads = _Reads(loop.body)
        fitting = {
            k: [s for s in range(len(loop.sequences)) if self.fit(index, loop, output, s, reads)]
            for k, output in enumerate(loop.step_outputs)
        }
        found: dict[int, int] = {}
        for k in sorted(fitting, key=lambda k: len(fitting[k])):  # who has no choice takes the only one
            over = next((s for s in fitting[k] if s not in found.values()), None)
            if over is not None:
                found[k] = over
        return found

    def fit(
        self, index: int, loop: LoopInstruction, output: StepOutputSlot, number: int, reads: _Reads
    ) -> bool:
        """Return whether an output may be written over the rows of a sequence."""
        if output.result is None or output.keep_last is not None or not 0 <= number < len(loop.sequences):
            return False
        sequence, body = loop.sequences[number], loop.body
        kinds = [(dtype_of(body, n), rank_of(body, n)) for n in (sequence.inner, output.inner)]
        if kinds[0] != kinds[1] or not reads.are_done(sequence.inner, output.inner):
            return False
        lies_alike = self._turned.get(sequence.outer) == output.backwards
        return lies_alike and self._is_free(index, loop, sequence)

    def _is_free(self, index: int, loop: LoopInstruction, sequence: SequenceSlot) -> bool:
        """Return whether nothing but a sequence of a loop needs the array that it looks into from that loop on."""
        family = self._family.get(sequence.outer, {sequence.outer})
        if not family.isdisjoint(self._kept) or any(not self._is_ours(number) for number in family):
            return False
        if any(reader > index for number in family for reader in self._readers.get(number, ())):
            return False
        return [number for number in _read_by(loop) if number in family] == [sequence.outer]

    def _is_ours(self, number: int) -> bool:
        """Return whether a register looks into another one, or holds an array that was made for it."""
        maker = self._makers.get(number)
        if isinstance(maker, Instruction):
            return number in self._shared or maker.op.declaration.fresh
        return isinstance(maker, LoopInstruction)


def _read_by(loop: LoopInstruction) -> Iterator[int]:
    """Iterate over the inputs of a loop, repeated ones included."""
    yield loop.n_steps
    for slots in (loop.sequences, loop.states, loop.carries, loop.non_sequences):
        yield from (slot.outer for slot in slots)


class _Reads:
    """Times at which a step makes its registers and reads them last.

    Parameters
    ----------
    body : Program
        The step.
    """

    def __init__(self, body: Program) -> None:
        self._body, self._shared = body, aliases(body)
        self._makers = {number: k for k, one in enumerate(body.instructions) for number in one.outputs}
        self._given = {seen for number in body.outputs for seen in self._seen(number)}
        self._last = {
            seen: k
            for k, one in enumerate(body.instructions)
            if one.op.facts.size != "is"
            for number in one.inputs
            for seen in self._seen(number)
        }

    def _seen(self, number: int) -> tuple[int, ...]:
        """Return a register and those that it may be a view of."""
        return number, *self._shared.get(number, ())

    def are_done(self, read: int, made: int) -> bool:
        """Return whether a step has read a row for the last time when a result is made, or may write that over it."""
        made_at, last = self._makers.get(made), self._last.get(read, -1)
        if made_at is None or read in self._given:
            return False
        if last != made_at:
            return last < made_at
        maker = self._body.instructions[made_at]
        if not isinstance(maker, Instruction) or any(read in self._seen(one)[1:] for one in maker.inputs):
            return False  # it reads a view of the row
        places = [place for place, number in enumerate(maker.inputs) if number == read]
        return max(places) < maker.op.facts.overwrites


def laid_backwards(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int]
) -> tuple[list[AnyInstruction], list[tuple[str, str]]]:
    """Return instructions whose loops lay rows backwards if they are read so, with names of the loops and rows.

    Parameters
    ----------
    instructions : sequence
        Of one program.
    outputs : sequence of int
        The program's, which may be read in any order.
    """
    readers: dict[int, list[AnyInstruction]] = {}
    for instruction in instructions:
        for number in instruction.inputs:
            readers.setdefault(number, []).append(instruction)
    kept, fresh, names = {*outputs}, list[AnyInstruction](), list[tuple[str, str]]()
    for instruction in instructions:
        if isinstance(instruction, LoopInstruction) and instruction.until is None:
            slots = tuple(
                with_fields(slot, backwards=True)
                if slot.keep_last is None and _are_turned(slot.result, readers, kept)
                else slot
                for slot in instruction.step_outputs
            )
            turned = [(instruction.name, slot.name) for slot in slots if slot.backwards]
            instruction = with_fields(instruction, step_outputs=slots) if turned else instruction
            names += turned
        fresh.append(instruction)
    return fresh, names


def _are_turned(number: int | None, readers: dict[int, list[AnyInstruction]], kept: set[int]) -> bool:
    """Return whether rows are read, and by all readers from the last one on."""
    if number is None:
        return False
    found = list(_how_read(number, readers, kept))
    return bool(found) and all(found)


def _how_read(number: int, readers: dict[int, list[AnyInstruction]], kept: set[int]) -> Iterator[bool]:
    """Iterate over readers of rows, except for sizes: whether each takes them from the last one on."""
    if number in kept:
        yield False
    for reader in readers.get(number, ()):
        declaration = reader.op.declaration
        if not isinstance(reader, Instruction) or number in reader.inputs[1:]:
            yield False
        elif declaration.name == "sum_to_shape":  # most often of the shape that it is to have: the very array
            yield from _how_read(reader.outputs[0], readers, kept)
        elif declaration is not DIMENSION:
            yield declaration is INDEX and reader.op.parameters.entries[0].numbers() == FROM_THE_LAST


def rows_turned(program: Program) -> Mapping[int, bool]:
    """Map registers whose rows lie one after another to whether the last row is first in memory.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x = T.matrix("x")
    >>> program = lower([x], [T.exp(x), T.exp(x)[::-1], T.exp(x)[::-1][1:], T.exp(x).T], "f")
    >>> found = rows_turned(program)
    >>> [found.get(number) for number in program.outputs]
    [False, True, True, None]
    >>> program = lower([x], [T.exp(x.T), T.dot(x.T, x)], "f")
    >>> [rows_turned(program).get(number) for number in program.outputs]
    [None, False]
    """
    found: dict[int, bool] = {}
    permuted: set[int] = set()  # registers whose axes may lie in another order
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction):
            found |= dict.fromkeys(instruction.outputs, False)
            found |= {
                slot.result: True
                for slot in instruction.step_outputs
                if slot.backwards and slot.result is not None
            }
        elif isinstance(instruction, Instruction):
            if rank_of(program, instruction.outputs[0]) > 1 and _is_permuted(instruction, permuted):
                permuted.update(instruction.outputs)
                continue
            turned = _turned(instruction, found)
            if turned is not None:
                found[instruction.outputs[0]] = turned
    return found


def _is_permuted(instruction: Instruction, permuted: Collection[int]) -> bool:
    """Return whether the axes of a result may lie in another order than they have."""
    declaration = instruction.op.declaration
    if declaration is DIMSHUFFLE:
        kept = [axis for axis in instruction.op.parameters.order if axis is not None]
        if kept != sorted(kept):
            return True
    if declaration is ALLOC or declaration.family == "linalg":  # which begin a new array in C order
        return False
    return any(number in permuted for number in instruction.inputs)


def _turned(instruction: AnyInstruction, found: Mapping[int, bool]) -> bool | None:
    declaration = instruction.op.declaration
    if declaration is INDEX:
        first, *others = instruction.op.parameters.entries
        whole = all(entry.kind == "slice" and entry.numbers() == (None, None, None) for entry in others)
        if first.kind != "slice" or first.step not in (None, 1, -1) or not whole:
            return None
        turned = found.get(instruction.inputs[0])
        return None if turned is None else turned != (first.step == -1)
    if declaration.name == "sum_to_shape":  # most often of the shape that it is to have: the very array
        return found.get(instruction.inputs[0])
    return False if declaration.fresh else None
