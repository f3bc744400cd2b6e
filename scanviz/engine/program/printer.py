"""A Program as text: a line an instruction, with its registers, their types, where they live and the user's lines.

::

    program f(X: float64[?, ?], h%1: float64[?])
      %2 = dimension{axis=0}(X)         int64[]       # rnn.py:4: rows, _ = scanviz.scan(step, X, h)
      loop `rnn`: %2 steps                            # rnn.py:4
        x_t from X                      float64[?]    sequence, tap 0
        h[t-1] from h%1                 float64[?]    state h (sitsot), tap -1
        step (elementwise)
          %2 = x_t + h[t-1]             float64[?]    # rnn.py:3: return T.tanh(x_t + h)
          %3 = tanh(%2)                 float64[?]    # rnn.py:3
        h%4 from %3                     float64[?, ?] state h, tap 0, all rows
      return h%4

A register goes by the user's name, with ``%`` and its number where it has none or another of its program has the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from scanviz.engine.graph.notation import infix, named
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.program.axes import Axis, StepKind, step_axes
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    CarrySlot,
    Instruction,
    LoopInstruction,
    NonSequenceSlot,
    Program,
    SequenceSlot,
    StateSlot,
    all_loops,
    nested_loops,
)
from scanviz.engine.program.plan.location import Group
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.program.slots import Passed, passed
from scanviz.engine.program.text_line import TextLine, narrow, source_text


class Notes(NamedTuple):
    """Notes beside the lines of a printed Program, taken from plans; none by default.

    Attributes
    ----------
    place : callable
        ``place(program, register)`` gives the place of a register.
    groups : callable
        ``groups(program)`` gives the instructions that are done as one, in order; nothing where each is done alone.
    shapes : callable
        ``shapes(loop)`` gives the shapes of its step's inputs, None where they are not known.
    refused : callable
        ``refused(program, instruction)`` gives the tiers that cannot run it, with reasons; empty where all can.
    """

    place: Callable[[Program, int], str] = lambda program, number: ""
    groups: Callable[[Program], Sequence[Group]] = lambda program: ()
    shapes: Callable[[LoopInstruction], Sequence[ConcreteShape] | None] = lambda loop: None
    refused: Callable[[Program, AnyInstruction], str] = lambda program, instruction: ""


MOST_NAMES = 4  # names listed for each axis that a step keeps
MOST_MIXINGS = 3  # instructions that are listed as mixing axes
WIDEST = 56  # columns of text before the type; what is longer pushes its own line aside
_INDENT = "  "


def program_text(
    program: Program,
    loop: str | None = None,
    notes: Notes | None = None,
    *,
    lines: bool = True,
    width: int | None = None,
) -> str:
    """Return a program as text.

    Parameters
    ----------
    program : Program
        The printed program.
    loop : str, optional
        Print this loop alone, by its name.
    notes : Notes, optional
        Text beside the lines.
    lines : bool
        Whether the user's lines stand at the end, with their text where they come first.
    width : int, optional
        Columns that it should fit: where it does not, the user's lines stand above what is of them instead of at the end.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x = T.vector("x")
    >>> print(program_text(lower([x], [T.exp(x) + 1.0], "f"), lines=False))
    program f(x: float64[?])
      %1 = exp(x)    float64[?]
      %3 = %1 + 1.0  float64[?]
      return %3
    """
    printer = _Printer(notes or Notes())
    if loop is None:
        found = list(printer.program(program, 0))
    else:
        found = [
            line
            for found, _, around in nested_loops(program)
            if found.name == loop
            for line in printer.loop(around, found, 0)
        ]
    text = _aligned(found, lines)
    if width is None or max(map(len, text.split("\n"))) <= width:
        return text
    return narrow(found, lines, width, _INDENT)


def instruction_text(program: Program, index: int) -> str:
    """Return an instruction in one line, without types and places."""
    return _Printer(Notes()).called(program, program.instructions[index])


def loop_names(program: Program) -> list[str]:
    """Return the names of a program's loops, outer before inner."""
    return [loop.name for loop, _ in all_loops(program)]


class _Printer:
    """Makes the lines; names of registers are found once a program."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self._labels: dict[int, list[str]] = {}

    def program(self, program: Program, depth: int) -> Iterator[TextLine]:
        given = ", ".join(f"{self.name(program, k)}: {program.registers[k].type}" for k in program.inputs)
        yield TextLine(depth, f"program {program.name}({given})")
        yield from self.instructions(program, depth + 1)
        yield TextLine(depth + 1, f"return {self.names(program, program.outputs)}".rstrip())

    def instructions(self, program: Program, depth: int) -> Iterator[TextLine]:
        for number, value in program.constants.items():
            if value.ndim:
                yield self.register(program, number, depth, f"{self.name(program, number)} constant")
        for group in self.notes.groups(program) or zip(range(len(program.instructions)), strict=True):
            if len(group) > 1:
                yield TextLine(depth, "as one")
            for index in group:
                yield from self.instruction(program, program.instructions[index], depth + (len(group) > 1))

    def instruction(self, program: Program, instruction: AnyInstruction, depth: int) -> Iterator[TextLine]:
        match instruction:
            case Instruction():
                yield from self.operation(program, instruction, depth)
            case LoopInstruction():
                yield from self.loop(program, instruction, depth)
            case BranchInstruction():
                yield from self.branch(program, instruction, depth)

    def operation(self, program: Program, instruction: Instruction, depth: int) -> Iterator[TextLine]:
        first, *others = instruction.outputs
        text = f"{self.names(program, instruction.outputs)} = {self.call(program, instruction)}"
        refused = self.notes.refused(program, instruction)
        yield self.register(program, first, depth, text, refused, instruction.provenance.source)
        for number in others:
            yield self.register(program, number, depth + 1, self.name(program, number))

    def call(self, program: Program, instruction: Instruction) -> str:
        """Return an instruction as an expression."""
        symbol, names = instruction.op.declaration.symbol, [self.name(program, k) for k in instruction.inputs]
        if symbol and len(names) == 2 and instruction.op.parameters is None:
            return infix(symbol, *map(named, names)).text
        return f"{instruction.op}({', '.join(names)})"

    def loop(self, program: Program, loop: LoopInstruction, depth: int) -> Iterator[TextLine]:
        most = "at most " if loop.until is not None else ""
        tier = f", on {loop.mode}" if loop.mode else ""
        refused = self.notes.refused(program, loop)
        reason = f", {refused}" if refused else ""
        head = f"loop `{loop.name}`: {most}{self.name(program, loop.n_steps)} steps{tier}{reason}"
        yield TextLine(depth, head, source=loop.provenance.source)
        body = loop.body

        for entry in passed(loop):
            text = f"{self.name(body, entry.inner)} from {self.name(program, entry.outer)}"
            yield self.register(body, entry.inner, depth + 1, text, _given(entry))
        yield from self.axes(loop, depth + 1)
        yield from self.instructions(body, depth + 2)
        if loop.until is not None:
            yield TextLine(depth + 2, f"until {self.name(body, loop.until)}")
        for result, number, note in _results(loop):
            label = self.name(program, result) if result is not None else "nothing"
            text = f"{label} from {self.name(body, number)}"
            yield TextLine(
                depth + 1, text, str(program.registers[result].type) if result is not None else "", note
            )

    def axes(self, loop: LoopInstruction, depth: int) -> Iterator[TextLine]:
        """Iterate over the heading of a step: the axes it never mixes, and the instructions that mix others."""
        found = step_axes(loop, self.notes.shapes(loop))
        along = f" along {self.axes_text(loop.body, found.kept[0])}" if found.kind is StepKind.ROWS else ""
        yield TextLine(depth, f"step ({found.kind.value}{along})")
        mixings = {
            (mixing.program, mixing.instruction, mixing.place, mixing.twice): mixing
            for mixing in found.mixings
        }
        for mixing in list(mixings.values())[:MOST_MIXINGS]:
            number, axis = mixing.place
            axes = (
                f"axis {axis}" if mixing.twice is None else f"axes {mixing.twice} and {axis}, the same rows,"
            )
            call = self.called(mixing.program, mixing.instruction)
            yield TextLine(depth + 1, f"{call} mixes {axes} of {self.name(mixing.program, number)}")

    def axes_text(self, program: Program, axes: Sequence[Axis]) -> str:
        """Return axes by their numbers, each with the registers that it is of: the first few of many."""
        names: dict[int, list[str]] = {}
        for number, axis in axes:
            names.setdefault(axis, []).append(self.name(program, number))
        return " and ".join(
            f"axis {axis} of {', '.join(of[:MOST_NAMES])}"
            + (f" and {len(of) - MOST_NAMES} more" if len(of) > MOST_NAMES else "")
            for axis, of in names.items()
        )

    def called(self, program: Program, instruction: AnyInstruction) -> str:
        """Return an instruction in one line, without its results."""
        match instruction:
            case Instruction():
                return self.call(program, instruction)
            case LoopInstruction():
                return f"loop `{instruction.name}`"
            case BranchInstruction():
                return "ifelse"

    def branch(self, program: Program, branch: BranchInstruction, depth: int) -> Iterator[TextLine]:
        text = f"{self.names(program, branch.outputs)} = ifelse({self.name(program, branch.condition)})"
        refused = self.notes.refused(program, branch)
        yield self.register(program, branch.outputs[0], depth, text, refused, branch.provenance.source)
        for side, (inside, reads) in zip(("then", "else"), branch.sides, strict=True):
            pairs = [
                f"{self.name(inside, inner)} from {self.name(program, outer)}"
                for inner, outer in zip(inside.inputs, reads, strict=True)
            ]
            yield TextLine(depth + 1, f"{side} {', '.join(pairs)}".rstrip())
            yield from self.instructions(inside, depth + 2)
            yield TextLine(depth + 2, f"return {self.names(inside, inside.outputs)}")

    def register(
        self,
        program: Program,
        number: int,
        depth: int,
        text: str,
        remark: str = "",
        source: SourceLine | None = None,
    ) -> TextLine:
        place = ", ".join(note for note in (remark, self.notes.place(program, number)) if note)
        return TextLine(depth, text, str(program.registers[number].type), place, source)

    def names(self, program: Program, numbers: Sequence[int]) -> str:
        """Return the names of registers."""
        return ", ".join(self.name(program, number) for number in numbers)

    def name(self, program: Program, number: int) -> str:
        """Return the label of a register."""
        known = self._labels.get(id(program))
        if known is None:
            known = self._labels[id(program)] = _labels(program)
        return known[number]


def _labels(program: Program) -> list[str]:
    count = Counter(register.name for register in program.registers)
    found = []
    for register in program.registers:
        value = program.constants.get(register.number)
        if value is not None and value.ndim == 0:
            found.append(str(value))
        else:
            alone = register.name is not None and count[register.name] == 1
            found.append(str(register.name) if alone else f"{register.name or ''}%{register.number}")
    return found


def _given(entry: Passed) -> str:
    """Return an input of a step in words."""
    match entry.slot:
        case SequenceSlot():
            return f"sequence, tap {entry.tap}"
        case StateSlot():
            return f"state {entry.slot.name} ({entry.slot.kind}), tap {entry.tap}"
        case CarrySlot():
            return f"carry {entry.slot.name}"
        case NonSequenceSlot():
            return "the same in every step"


def _results(loop: LoopInstruction) -> Iterator[tuple[int | None, int, str]]:
    """Iterate over the results of a loop: register around it or None, register of the body, description."""
    for state in loop.states:
        for tap, number in state.writes:
            yield state.result, number, f"state {state.name}, tap {tap}, {_kept(state)}"
        if state.history is not None:
            yield state.history, state.writes[0][1], f"state {state.name}, all rows after the initial ones"
    for output in loop.step_outputs:
        kept = _rows(output.result, output.keep_last) + (", the last first" if output.backwards else "")
        kept += "" if output.over is None else f", over those of {loop.sequences[output.over].name}"
        yield output.result, output.inner, f"output {output.name}, {kept}"
    for carry in loop.carries:
        yield carry.result, carry.write, f"carry {carry.name}, the last"


def _kept(state: StateSlot) -> str:
    if state.kind == "mitmot":
        return "in the array that it starts from" if state.in_place else "the whole array"
    return _rows(state.result, state.keep_last)


def _rows(result: int | None, last: int | None) -> str:
    if result is None:
        return "not kept"
    return "all rows" if last is None else "the last row" if last == 1 else f"the last {last} rows"


def _aligned(lines: Sequence[TextLine], with_sources: bool) -> str:
    texts = [f"{_INDENT * line.depth}{line.text}" for line in lines]
    aligned = [text for text, line in zip(texts, lines, strict=True) if line.type or line.source]
    wide = max((len(text) for text in aligned if len(text) <= WIDEST), default=0)
    types = max((len(line.type) for line in lines), default=0)
    places = max((len(line.place) for line in lines if line.source), default=0)
    shown: set[SourceLine] = set()
    found = []
    for text, line in zip(texts, lines, strict=True):
        source = source_text(line.source, shown) if with_sources else ""
        rest = f"{line.type:<{types}}  {line.place:<{places}}  {source}".rstrip()
        found.append(f"{text:<{wide}}  {rest}".rstrip() if rest else text)
    return "\n".join(found)
