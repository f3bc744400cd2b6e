"""Instructions merged into groups such that an order is left in which the groups can be done.

Two groups can become one where no third has to be done between them.  For each group the sets of instructions that come before and
after it, at any distance, are kept as bits of an int, so that a question is two operations on ints.  What may raise an error keeps
its order, so that a Program with two failing instructions raises the same error on all tiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program
from scanviz.engine.program.plan.location import Group
from scanviz.engine.program.shapes import ConcreteShape


class Merging:
    """Groups of a program's instructions, at first each alone."""

    def __init__(self, program: Program, shapes: Sequence[ConcreteShape]) -> None:
        count = len(program.instructions)
        self._group = list(range(count))  # of each instruction: the number of the group's first one
        self._members = [1 << k for k in range(count)]
        self._before, self._after = _orders(program, shapes)

    def together(self, one: int, other: int) -> bool:
        """Return whether two instructions are in one group."""
        return self._group[one] == self._group[other]

    def merge(self, one: int, other: int) -> int | None:
        """Put the groups of two instructions together; return an instruction that has to stand between them, if there is one."""
        a, b = sorted((self._group[one], self._group[other]))
        if a == b:
            return None
        between = (self._after[a] & self._before[b]) | (self._after[b] & self._before[a])
        if between:
            return next(_bits(between))
        members = self._members[a] | self._members[b]
        before = (self._before[a] | self._before[b]) & ~members
        after = (self._after[a] | self._after[b]) & ~members
        self._members[a], self._before[a], self._after[a] = members, before, after
        for index in _bits(self._members[b]):
            self._group[index] = a
        for each in self._groups_in(before):
            self._after[each] |= members | after
        for each in self._groups_in(after):
            self._before[each] |= members | before
        return None

    def groups(self) -> tuple[Group, ...]:
        """Return the groups in an order in which they can be done, as near to the program's as that goes."""
        found: list[Group] = []
        done = 0
        for first in dict.fromkeys(self._group):
            for each in (*self._in_order(self._before[first] & ~done), first):
                if not done & (1 << each):
                    found.append(tuple(_bits(self._members[each])))
                    done |= self._members[each]
        return tuple(found)

    def _in_order(self, bits: int) -> list[int]:
        """Return groups by how many instructions come before each: what comes before another has fewer."""
        return sorted(self._groups_in(bits), key=lambda each: (self._before[each].bit_count(), each))

    def _groups_in(self, bits: int) -> dict[int, None]:
        return dict.fromkeys(self._group[index] for index in _bits(bits))


def _orders(program: Program, shapes: Sequence[ConcreteShape]) -> tuple[list[int], list[int]]:
    """Return for each instruction those that have to be done before it, and those after."""
    makers: dict[int, int] = {}
    before: list[int] = []
    raising = 0
    for index, each in enumerate(program.instructions):
        direct = {makers[number] for number in each.inputs if number in makers}
        ordered = may_raise(each, shapes)
        found = raising if ordered else 0
        for k in direct:
            found |= before[k] | 1 << k
        before.append(found)
        makers.update(dict.fromkeys(each.outputs, index))
        raising = found | 1 << index if ordered else raising
    after = [0] * len(before)
    for index, bits in enumerate(before):
        for k in _bits(bits):
            after[k] |= 1 << index
    return before, after


def may_raise(instruction: AnyInstruction, shapes: Sequence[ConcreteShape]) -> bool:
    """Return whether an instruction may raise an error that its shapes do not say before; sizes and sums over nothing do not."""
    if not isinstance(instruction, Instruction):
        return True
    facts = instruction.op.facts
    return facts.raises and facts.size != "is" and not is_unchanged(instruction, shapes)


def is_unchanged(instruction: Instruction, shapes: Sequence[ConcreteShape]) -> bool:
    """Return whether a result has the elements of what it is made of, for the shapes that are known: a sum over nothing."""
    if instruction.op.declaration is not SUM_TO_SHAPE:
        return False
    shape = shapes[instruction.outputs[0]]
    return shape is not None and shape == shapes[instruction.inputs[0]]


def _bits(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


__all__ = ["Merging", "is_unchanged", "may_raise"]
