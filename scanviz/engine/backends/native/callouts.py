"""Operations that native code calls out for: performed by Python, on arrays that lie where native code has them.

An operation without native code, a loop or a branch that cannot be written, does not keep the loop around it from native code: a
function of Python is called with the number of the instruction and the addresses of what it reads and writes
(:mod:`scanviz.engine.backends.native.called` runs there).  What it costs is a microsecond or two beside the operation itself.
"""

from __future__ import annotations

from scanviz.engine.backends.native.arguments import Callout
from scanviz.engine.backends.native.errors import NotWrittenError
from scanviz.engine.backends.native.frame import ProgramFrame, Shared
from scanviz.engine.backends.native.instructions import source_of
from scanviz.engine.backends.native.ir import constant
from scanviz.engine.program.instructions import AnyInstruction, dtype_of, is_scalar
from scanviz.engine.program.plan import Where

A_CALL = 4  # operations in native code save about what calling one out costs
A_PROGRAM = 10  # so many does a loop or a branch save that is written where it stands


def refuse_many_callouts(shared: Shared) -> None:
    """Look whether native code gains more than calling out costs.

    Raises
    ------
    NotWrittenError
        If it does not.
    """
    usual = [callout for callout in shared.callouts if not callout.seldom]
    if A_CALL * len(usual) > shared.written + A_PROGRAM * shared.inside:
        reasons = ", ".join(dict.fromkeys(callout.why for callout in usual))
        raise NotWrittenError(f"calling out would cost more than is gained: {reasons}")


def why_no_callout(frame: ProgramFrame, instruction: AnyInstruction) -> str | None:
    """Return why an instruction cannot be called out, None where it can: what it gives must have a shape that is known."""
    if instruction.op.facts.effect:
        return f"`{instruction.op.name}` does something beside giving results"
    for number in (*instruction.inputs, *instruction.outputs):
        known = frame.places.shape(number) is not None
        if not known and frame.plan.places[number].location is not Where.NUMBER:
            return f"the shape of what `{instruction.op.name}` works on depends on values"
    return None


def call_out(frame: ProgramFrame, instruction: AnyInstruction, why: str, seldom: bool = False) -> None:
    """Write a call of an instruction, and a return where it failed."""
    code, body = frame.code, frame.body
    code.comment(f"called out: {why}")
    reads = [source_of(frame, number) for number in instruction.inputs]
    writes = []
    for number in instruction.outputs:
        place = None if is_scalar(body, number) else frame.places.of(number)
        writes.append(place or frame.places.temporary((), dtype_of(body, number)))
    site = frame.site_of(instruction)
    number = len(frame.shared.callouts)
    frame.shared.callouts.append(Callout(site, tuple(reads), tuple(writes), why, seldom))
    told = frame.operand(frame.places.temporary((len(reads) + len(writes),), "int64")).address
    for k, place in enumerate((*reads, *writes)):
        address = frame.operand(place).address
        code.line(f"store ptr {address.text}, ptr {code.at(told, 8 * k).text}, align 8")
    function = frame.address(("called", 0, 0))
    arguments = ", ".join(value.typed for value in (constant(number, "int64"), frame.steps()[-1], told))
    status = code.op(f"call i64 {function.text}({arguments})", "int64")
    failed, went_well = code.label(), code.label()
    code.branch(code.op(f"icmp ne i64 {status.text}, 0", "bool"), failed, went_well)
    code.begin(failed)
    frame.report(-1, [])
    code.begin(went_well)
    for output, place in zip(instruction.outputs, writes, strict=True):
        if is_scalar(body, output):
            frame.give(output, code.load(frame.operand(place).address, place.dtype))


__all__ = ["call_out", "refuse_many_callouts", "why_no_callout"]
