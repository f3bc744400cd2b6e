"""Names in generated source, and the array library that it calls."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.program.instructions import (
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    is_scalar,
)
from scanviz.engine.runtime.specialised import SpecialisedLoop, Tier

# gives a constant of a program in the form that generated source uses
Constant = Callable[[Program, int], Any]


def tuple_text(names: Sequence[str]) -> str:
    """Return the source of a tuple."""
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


class Emitter:
    """Names of registers and of objects that generated source refers to.

    Parameters
    ----------
    program : Program
        The program that is written.
    constant : callable
        ``constant(program, number)`` returns a constant as the source uses it.

    Attributes
    ----------
    namespace : dict
        Global names of the generated source.
    notes : dict
        Results of analyses of the whole program, by name.
    unchanged : set of int
        Registers that have the same value in every step.
    before : list of str
        Lines to run before the first step; the writer of a loop takes them.
    """

    def __init__(self, program: Program, constant: Constant) -> None:
        self.program = program
        self.namespace: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}
        self.fixed: set[int] = set()  # loop-invariant scalars
        self.unchanged: set[int] = set()
        self.before: list[str] = []
        self.arrays: dict[int, str] = {}  # names of their 0-d arrays, where needed
        self._names: dict[int, str] = {}
        self._bound: dict[int, str] = {}
        self._numbers: dict[tuple[float, str], str] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}  # prefix → how many names start with it
        for number, value in program.constants.items():
            self._names[number] = self.bind(constant(program, number), _constant_name(value))

    def bind(self, value: Any, hint: str) -> str:
        """Return a global name for an object, the same for the same object."""
        known = self._bound.get(id(value))
        if known is None:
            known = self._bound[id(value)] = self.fresh(hint)
            self.namespace[known] = value  # also keeps the object, and so its id, alive
        return known

    def fresh(self, hint: str) -> str:
        """Return a new name."""
        base = _identifier(hint)
        if base[0].isdigit() or keyword.iskeyword(base) or base in _RESERVED:
            base = f"v_{base}"
        count = self._counts.get(base, 0) + 1  # names are never released: all earlier ones are taken
        name = base if count == 1 else f"{base}_{count}"
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        self._counts[base] = count
        return name

    def name(self, number: int) -> str:
        """Return the name of a register: the user's as far as Python allows."""
        known = self._names.get(number)
        if known is None:
            given = self.program.registers[number].name
            known = self._names[number] = self.fresh(_readable(given) if given else f"v{number}")
        return known

    def names(self) -> dict[int, str]:
        """Return the names given so far."""
        return dict(self._names)

    def call_it(self, number: int, name: str) -> None:
        """Give a register the name of the variable that holds it."""
        self._names[number] = name

    def operand(self, number: int) -> str:
        """Return a register's name as an operand beside arrays; invariant scalars are 0-d arrays."""
        if not is_scalar(self.program, number):
            return self.name(number)
        known = self.arrays.get(number)
        if known is None and number in self.program.constants:
            known = self.arrays[number] = self.bind(self.program.constants[number], self.name(number))
        elif known is None and number in self.fixed:
            known = self.arrays[number] = self.fresh(f"{self.name(number)}_array")
        return known or self.name(number)

    def bind_number(self, value: float, dtype: str) -> str:
        """Return a global name for the 0-d array of a number, the same for the same number and dtype."""
        known = self._numbers.get((value, dtype))
        if known is None:
            array = np.array(value, dtype)
            known = self._numbers[value, dtype] = self.bind(array, _constant_name(array))
        return known

    def bind_size(self, size: int) -> str:
        """Return a global name for a size that is known when the code is written."""
        known = self._numbers.get((size, "size"))
        if known is None:
            known = self._numbers[size, "size"] = self.bind(np.int64(size), f"size_{size}")
        return known

    def plain_call(self, instruction: Instruction) -> str:
        """Return a call of the op's NumPy meaning, which returns a tuple."""
        inputs = list(map(self.name, instruction.inputs))
        call = self.bind(partial(instruction.op.declaration.perform, instruction.op), instruction.op.name)
        return f"{call}({tuple_text(inputs)})"

    def call_statement(self, instruction: LoopInstruction | BranchInstruction, runner: Any, hint: str) -> str:
        """Return the line that runs a nested loop or a branch."""
        call = f"{self.bind(runner, hint)}({tuple_text(list(map(self.name, instruction.inputs)))}, probe)"
        if not instruction.outputs:
            return call
        targets = ", ".join(map(self.name, instruction.outputs))
        return f"{targets}{',' if len(instruction.outputs) == 1 else ''} = {call}"

    def scalars(self, numbers: Sequence[int]) -> bool:
        """Return whether registers all hold one number."""
        return all(is_scalar(self.program, number) for number in numbers)


def _identifier(hint: str) -> str:
    """Turn a hint into an identifier, ``v`` if nothing is left."""
    if hint.isidentifier() and "__" not in hint and hint[0] != "_" != hint[-1]:
        return hint
    bare = "".join(
        sign if f"v{sign}".isidentifier() else " " for sign in hint
    )  # \w includes characters such as ²
    return re.sub(r"[\s_]+", "_", bare).strip("_") or "v"


_RESERVED = {
    "t", "first", "last", "probe", "record", "clock", "range", "zip", "arena", "counted", "ticks", "failed", "error", "Exception",
    "inputs",
}  # fmt: skip


def _readable(name: str) -> str:
    """Return a user's name as an identifier: ``h[t-1]`` becomes ``h_tm1``."""
    return name.replace("[t-", "_tm").replace("[t+", "_tp").replace("[t]", "_t").replace("]", "")


def _constant_name(value: Any) -> str:
    if value.ndim == 0:
        return "c_" + str(value).replace("-", "m").replace(".", "p").replace("+", "")
    return "constant"


Statements = Callable[[Emitter, Instruction, "str | None"], list[str]]


class Library(NamedTuple):
    """An array library and how it is called.

    Attributes
    ----------
    tier : Tier
        The tier.
    statements : callable
        ``statements(emitter, instruction, out)`` gives the lines of an instruction; ``out`` names the array that its
        result goes to.
    loops : callable
        ``loops(loop, runners, tier, write)`` returns a loop's runner.
    outside : callable or None
        ``outside(emitter, instruction, over)`` gives the lines of an instruction outside of loops, None if ``statements`` gives
        them; ``over`` names the array that the instruction changes in place.
    """

    tier: Tier
    statements: Statements
    loops: Callable[..., SpecialisedLoop] = SpecialisedLoop
    outside: Callable[[Emitter, Instruction, str | None], list[str] | None] | None = None

    def emitter(self, program: Program) -> Emitter:
        """Return the names for the source of a program."""
        emitter = Emitter(program, self.tier.module.constant)
        emitter.namespace["clock"] = self.tier.module.clock
        return emitter
