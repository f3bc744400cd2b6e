"""A branch inside the step of a loop: the side that is taken is the only one that is run."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.backends.native.emit.errors import NotWrittenError
from scanviz.engine.backends.native.emit.instructions import copy
from scanviz.engine.backends.native.emit.ir import Value
from scanviz.engine.backends.native.emit.program import ProgramWriter
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.program.instructions import BranchInstruction, is_scalar


class BranchSide(ProgramWriter):
    """Writes one side of a branch of the program of ``around``."""

    def __init__(self, around: ProgramWriter, index: int, branch: BranchInstruction, side: int) -> None:
        program, self.reads = branch.sides[side]
        plan = around.plan.inner[index][side]
        super().__init__(program, plan, {}, around.vector_bytes, around.shared, around, around.site_at(index))
        self.outside, self.inline, self.number = around, around.inline, side
        self.step = around.step

    @property
    def side(self) -> int:
        """Which side it is."""
        return self.number

    def write(self, outputs: Sequence[int]) -> list[Value | None]:
        """Write the side; return the numbers that it gives, None for arrays, which are copied to where the results lie."""
        self.open()
        for number, outer in zip(self.body.inputs, self.reads, strict=True):
            if is_scalar(self.outside.body, outer):
                self.values[number] = self.outside.value(outer)
            else:
                place = self.outside.places.of(outer)
                assert place is not None
                self.places.moved(number, place)
        self.write_groups()
        found: list[Value | None] = []
        for number, output in zip(self.body.outputs, outputs, strict=True):
            if is_scalar(self.outside.body, output):
                found.append(self.value(number))
                continue
            source, target = self.places.of(number), self.outside.places.of(output)
            if source is None or target is None or source.shape != target.shape:
                raise NotWrittenError("the shape of what a branch gives depends on values")
            copy(self, source, target)
            found.append(None)
        return found


def write_branch(around: ProgramWriter, index: int, branch: BranchInstruction) -> None:
    """Write a branch where it stands.

    Raises
    ------
    NotWrittenError
        If something of a side cannot be written.
    """
    code = around.code
    sides = [BranchSide(around, index, branch, k) for k in (0, 1)]
    for side in sides:
        side.refuse()
    condition = cast(code, around.value(branch.condition), "bool")
    reads = list(dict.fromkeys([*branch.then_inputs, *branch.else_inputs]))
    labels, after = (code.label(), code.label()), code.label()
    results: list[list[Value | None]] = []
    ends = []
    with around.inside(reads):
        code.branch(condition, *labels)
        for side, label in zip(sides, labels, strict=True):
            code.begin(label)
            known = dict(around.values), dict(around.rows)
            results.append(side.write(branch.outputs))
            around.values, around.rows = known  # what is found in one side is not there in the other
            ends.append(code.block)
            code.jump(after)
        code.begin(after)
    for output, first, second in zip(branch.outputs, *results, strict=True):
        if first is not None and second is not None:
            around.give(output, code.either(first, ends[0], second, ends[1]))
