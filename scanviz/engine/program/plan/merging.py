"""Merge instructions into groups that can still run in some order.

Two groups can become one where no third has to be done between them.  Instructions are taken up one after another, and for each
group the set of groups that come before it, at any distance, is kept as bits of an int.  What may raise an error keeps its order,
so that a Program with two failing instructions raises the same error on all tiers.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program
from scanviz.engine.program.plan.location import Group, is_unchanged
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.rewrites.loops.scan_merge import positions


class Merging:
    """Groups of a program's instructions, at first each alone."""

    def __init__(self, program: Program, shapes: Sequence[ConcreteShape]) -> None:
        self._needs = _needs(program, shapes)
        self._group: list[int] = []  # of each instruction so far: the number of the group's first one
        self._members: dict[int, list[int]] = {}
        self._before: dict[int, int] = {}

    def together(self, one: int, other: int) -> bool:
        """Return whether two instructions are in one group."""
        self._take_up(max(one, other))
        return self._group[one] == self._group[other]

    def merge(self, one: int, other: int) -> int | None:
        """Join the groups of two instructions; return an instruction that must run between them, if any."""
        if self.together(one, other):
            return None
        a, b = sorted((self._group[one], self._group[other]))
        between = self._between(a, b) or self._between(b, a)
        if between:
            return self._members[between.bit_length() - 1][0]
        both = 1 << a | 1 << b
        before = self._before[a] = (self._before[a] | self._before.pop(b)) & ~both
        for number, bits in self._before.items():
            if bits & both:
                self._before[number] = (bits | before | 1 << a) & ~(1 << b)
        self._members[a] = sorted((*self._members[a], *self._members.pop(b)))
        for index in self._members[a]:
            self._group[index] = a
        return None

    def _between(self, first: int, last: int) -> int:
        """Return a group that comes after one and before another, as a bit; 0 if there is none."""
        if not self._before[last] >> first & 1:
            return 0
        rest = self._before[last] & ~(1 << first)
        return next((1 << bit for bit in positions(rest) if self._before[bit] >> first & 1), 0)

    def _take_up(self, last: int) -> None:
        """Give each instruction up to one a group of its own."""
        for index in range(len(self._group), last + 1):
            before = 0
            for group in {self._group[need] for need in self._needs[index]}:
                before |= self._before[group] | 1 << group
            self._group.append(index)
            self._members[index], self._before[index] = [index], before

    def groups(self) -> tuple[Group, ...]:
        """Return the groups in an executable order, as near to the program's as possible."""
        self._take_up(len(self._needs) - 1)
        found: list[Group] = []
        done = 0
        for first in self._members:
            ahead = sorted(
                positions(self._before[first] & ~done), key=lambda bit: self._before[bit].bit_count()
            )
            for number in (*ahead, first):  # what comes before another has fewer before it
                if not done >> number & 1:
                    found.append(tuple(self._members[number]))
                    done |= 1 << number
        return tuple(found)


def _needs(program: Program, shapes: Sequence[ConcreteShape]) -> list[set[int]]:
    """Return the instructions that have to be done just before each."""
    makers: dict[int, int] = {}
    found: list[set[int]] = []
    raising: set[int] = set()
    for index, instruction in enumerate(program.instructions):
        needs = {makers[number] for number in instruction.inputs if number in makers}
        if may_raise(instruction, shapes):
            needs |= raising
            raising = {index}
        found.append(needs)
        makers.update(dict.fromkeys(instruction.outputs, index))
    return found


def may_raise(instruction: AnyInstruction, shapes: Sequence[ConcreteShape]) -> bool:
    """Return whether an instruction may raise an error that its shapes do not predict; sizes and sums over nothing cannot."""
    if not isinstance(instruction, Instruction):
        return True
    facts = instruction.op.facts
    return facts.raises and facts.size != "is" and not is_unchanged(instruction, shapes)
