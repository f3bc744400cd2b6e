"""Random numbers in a kernel: the same words of Philox as on the CPU, and the same formulas.

A kernel gets the state at its first step.  Each draw of a step begins a fixed number of blocks after it, and each step as many
blocks after the one before.  So no state is kept: words follow from the numbers of the step and the element.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeGuard

import numpy as np

from scanviz.engine.backends.cupy.kernel_support import NotFusedError, formula_of
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import random
from scanviz.engine.ops.formulas.draw_checks import check_of
from scanviz.engine.ops.formulas.words import BLOCK_AT, STATE
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, dtype_of
from scanviz.engine.program.plan import Plan
from scanviz.engine.scalar.array_source import on_arrays
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.cuda_source import CudaFunctions, converted
from scanviz.engine.scalar.expression import argument

# a state, the state after some blocks, and one of the words that follow it
PRELUDE = """\
struct sv_state { unsigned long long word[4]; };
__device__ inline sv_state sv_after(sv_state s, unsigned long long blocks) {
  s.word[2] += blocks;
  s.word[3] += s.word[2] < blocks;
  return s;
}
"""
_WORD = """\
__device__ inline unsigned long long sv_word(sv_state s, unsigned long long index) {{
  const unsigned long long v0 = s.word[0], v1 = s.word[1], v2 = s.word[2], v3 = s.word[3], v4 = index / 4, v5 = 0;
  {lines}
  const int place = index % 4;
  return place == 0 ? {0} : place == 1 ? {1} : place == 2 ? {2} : {3};
}}
__device__ inline unsigned int sv_half_word(sv_state s, unsigned long long index) {{
  return (unsigned int)(sv_word(s, index / 2) >> (index % 2 ? 32 : 0));
}}"""


class Stream(NamedTuple):
    """A random state as the loop gets it: ``"carry"`` or ``"fixed"``, and the number of the slot."""

    kind: str
    number: int


class Draws:
    """The draws of a step.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    plan : Plan
        Has the shapes that are drawn.
    functions : CudaFunctions
        Gets the functions of the draws.

    Attributes
    ----------
    blocks_per_step : dict
        Carry → blocks that a step takes of its state.

    Raises
    ------
    NotFusedError
        If a state is not passed on from step to step.
    """

    def __init__(self, loop: LoopInstruction, plan: Plan, functions: CudaFunctions) -> None:
        self.body, self.plan, self.functions = loop.body, plan, functions
        self._places: dict[int, tuple[Stream, int]] = {}
        for k, carry in enumerate(loop.carries):
            self._begin(carry.read, Stream("carry", k))
        for k, slot in enumerate(loop.non_sequences):
            self._begin(slot.inner, Stream("fixed", k))
        for instruction in loop.body.instructions:
            if is_draw(instruction) and instruction.inputs[0] in self._places:
                stream, before = self._places[instruction.inputs[0]]
                self._places[instruction.outputs[0]] = stream, before + self._blocks(instruction)
        self.blocks_per_step: dict[int, int] = {}
        for k, carry in enumerate(loop.carries):
            if isinstance(loop.body.registers[carry.read].type, TensorType):
                continue
            found = self._places.get(carry.write)
            if found is None or found[0] != Stream("carry", k):
                raise NotFusedError("the state of a random generator is not advanced by draws alone")
            self.blocks_per_step[k] = found[1]

    def _begin(self, register: int, stream: Stream) -> None:
        if not isinstance(self.body.registers[register].type, TensorType):
            self._places[register] = stream, 0

    def _blocks(self, draw: Instruction) -> int:
        shape = self.plan.places[draw.outputs[1]].shape
        if shape is None or None in shape:
            raise NotFusedError("the number of random numbers depends on values")
        return random.blocks_of(draw.op, prod(shape))

    def stream(self, draw: Instruction) -> Stream:
        """Return the state that a draw reads."""
        if draw.inputs[0] not in self._places:
            raise NotFusedError("the state of a random generator is not advanced by draws alone")
        return self._places[draw.inputs[0]][0]

    def state(self, draw: Instruction, stream_name: str) -> str:
        """Return the state of a draw in the step ``t``."""
        stream, before = self._places[draw.inputs[0]]
        every = self.blocks_per_step[stream.number] if stream.kind == "carry" else 0
        return f"sv_after({stream_name}, (unsigned long long)(t - first) * {every}ull + {before}ull)"

    def value(self, draw: Instruction, state: str, element: str, parameters: Sequence[str]) -> str:
        """Return the number that is drawn for an element, given the names of the state, the element and the parameters."""
        formula = formula_of(draw.op)
        assert formula is not None
        block, count = formula.block, formula.elements
        group = element if count == 1 else f"({element} / {count})"
        if formula.words is None:
            given = [f"{state}.word[{k}]" for k in range(len(STATE))] + [f"(unsigned long long){group}"]
        else:
            self._add_words()
            word = "sv_word" if formula.words == "uint64" else "sv_half_word"
            given = [f"{word}({state}, {group} * {count} + {k})" for k in range(count)]
        dtypes = [dtype_of(self.body, number) for number in parameters_of(draw)]
        for _ in range(count):  # all elements of a group get this one's parameters: the others are not used
            given += [
                converted(text, dtype, block.dtypes[len(given) + k])
                for k, (text, dtype) in enumerate(zip(parameters, dtypes, strict=True))
            ]
        found = self._result(draw, block, given, 0)
        for k in range(1, count):
            found = f"({element} % {count} == {k} ? {self._result(draw, block, given, k)} : {found})"
        return converted(found, block.dtypes[block.results[0]], dtype_of(self.body, draw.outputs[1]))

    def _result(self, draw: Instruction, block: Block, given: Sequence[str], k: int) -> str:
        name = self.functions.name_for(draw.op.name, block._replace(results=block.results[k : k + 1]))
        return f"{name}({', '.join(given)})"

    def _add_words(self) -> None:
        block = typed(BLOCK_AT.results, BLOCK_AT.arguments)
        lines, results = self.functions.lines("philox", block)
        self.functions.add(_WORD.format(*results, lines="\n  ".join(lines)))

    def check(self, draw: Instruction, parameters: Sequence[str]) -> str | None:
        """Return the test that parameters are surely in range; None if they are, for they are known."""
        fits, held = check_of(draw.op)
        numbers = parameters_of(draw)
        formula = formula_of(draw.op)
        assert formula is not None
        dtype = held or formula.block.dtypes[formula.given]
        block = typed([fits(*map(argument, range(len(numbers))))], [dtype] * len(numbers))
        if all(number in self.body.constants for number in numbers):
            known = [np.asarray(self.body.constants[number]).astype(dtype) for number in numbers]
            if np.all(on_arrays(block)(*known)[0]):
                return None
            raise NotFusedError("a parameter of a draw may be out of range")
        given = [
            converted(text, dtype_of(self.body, n), dtype)
            for text, n in zip(parameters, numbers, strict=True)
        ]
        return f"{self.functions.name_for(f'{draw.op.name}_fits', block)}({', '.join(given)})"


def is_draw(instruction: AnyInstruction) -> TypeGuard[Instruction]:
    """Return whether an instruction draws numbers."""
    return isinstance(instruction, Instruction) and random.is_draw(instruction.op)


def parameters_of(draw: Instruction) -> Sequence[int]:
    """Return the registers of a draw's parameters."""
    return draw.inputs[1 + draw.op.parameters.sizes :]
