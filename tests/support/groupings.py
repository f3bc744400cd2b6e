"""Groups of instructions drawn at random, for laws of plans: an order of their own, and neighbours in it done as one."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from scanviz.engine.program.instructions import Program
from scanviz.engine.program.plan import Grouped
from scanviz.engine.program.plan.groups import is_elementwise
from scanviz.engine.program.shapes import ConcreteShape


class RandomGrouping(NamedTuple):
    """A grouping that draws an order in which everything is made before it is read, and which neighbours in it are one group."""

    seed: int

    def __call__(self, program: Program, shapes: Sequence[ConcreteShape]) -> Grouped:
        """Return groups of elementwise instructions of one shape, at random."""
        choose = random.Random(self.seed)
        groups: list[list[int]] = []
        for index in _random_order(program, choose):
            shape = _shape(program, shapes, index)
            if (
                groups
                and shape
                and shape == _shape(program, shapes, groups[-1][-1])
                and choose.random() < 0.7
            ):
                groups[-1].append(index)
            else:
                groups.append([index])
        return Grouped(tuple(map(tuple, groups)))


def _shape(program: Program, shapes: Sequence[ConcreteShape], index: int) -> ConcreteShape:
    instruction = program.instructions[index]
    return shapes[instruction.outputs[0]] if is_elementwise(instruction, shapes) else None


def _random_order(program: Program, choose: random.Random) -> list[int]:
    """Return all instructions in a random order that keeps operands first."""
    made = {*program.inputs, *program.constants}
    waiting = list(range(len(program.instructions)))
    found: list[int] = []
    while waiting:
        index = choose.choice([k for k in waiting if made.issuperset(program.instructions[k].inputs)])
        waiting.remove(index)
        made.update(program.instructions[index].outputs)
        found.append(index)
    return found
