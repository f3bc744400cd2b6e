"""The code of a loop: from the cache on disk where it is there, and then nothing is written for it; else written and compiled.

What writes code, and LLVM, are imported when something is written: that takes longer than writing it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scanviz.engine.backends.native import cache, kept_code
from scanviz.engine.backends.native.arguments import CallArguments, Counts
from scanviz.engine.backends.native.errors import NotWrittenError
from scanviz.engine.backends.native.jit import Machine, compiled, machine_of, object_of, target, vector_bytes
from scanviz.engine.backends.native.llvm import open_beside
from scanviz.engine.backends.native.loop_key import key_of_loop
from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.program.plan import LatePlan, Plan
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.program.verify import verify_plan

if TYPE_CHECKING:
    from scanviz.engine.runtime.schedule import Variant


class Met(NamedTuple):
    """What a loop meets: the plan of its step follows from it.

    Attributes
    ----------
    shapes : tuple of shape
        Of the inputs of a step.
    rows : tuple of shape
        Of the rows of states.
    """

    shapes: tuple[ConcreteShape, ...]
    rows: tuple[ConcreteShape, ...]


class Kind(NamedTuple):
    """Which code of a loop.

    Attributes
    ----------
    variant : str
        Of a loop's code: plain, or one that notes times.
    inline : bool
        Whether loops and branches inside are written where they stand.
    counts : str
        What is counted of runs of loops inside.
    share : tuple of int
        How many rows of a batch the loop has, and how many of them the part whose code it is; (1, 1) for the whole loop.
    calls_out : bool
        Whether it may call an operation out; else there is no code for a loop with such a one.
    """

    variant: Variant
    inline: bool = True
    counts: Counts = "nothing"
    share: tuple[int, int] = (1, 1)
    calls_out: bool = True


def text_of(
    loop: LoopInstruction, plan: Plan, kind: Kind, marked: bool = False, width: int | None = None
) -> tuple[str, CallArguments]:
    """Return code in LLVM's language, and what it is handed; ``width`` is that of registers, which LLVM says where it is not given.

    Raises
    ------
    NotWrittenError
        If an instruction has no native code, or one of a part may fail: that is done for the whole loop.
    """
    from scanviz.engine.backends.native.loop import LoopEmitter

    emitter = LoopEmitter(
        loop,
        plan,
        kind.variant,
        width or target().vector_bytes,
        marked,
        inline=kind.inline,
        counts=kind.counts,
        share=kind.share,
    )
    text, handed = emitter.write()
    if kind.share != (1, 1) and handed.sites:
        raise NotWrittenError("parts of it may fail")
    if not kind.calls_out and handed.callouts:
        raise NotWrittenError(handed.callouts[0].why)
    return text, handed


def code_of(
    loop: LoopInstruction, late: LatePlan, met: Met, kind: Kind, others: Callable[[], None] | None = None
) -> tuple[Machine, CallArguments]:
    """Return machine code of a loop, and what it is handed; its plan is made where code is written.

    ``others`` is called when nothing but LLVM is left to be waited for, which lets other threads run.

    Raises
    ------
    NotWrittenError
        If an instruction has no native code.
    """
    key = None if cache.folder() is None else key_of_loop(loop, met, kind)
    entry = None if key is None else cache.load(key)
    found = None if entry is None else kept_code.from_bytes(loop, entry)
    if found is not None:
        handed, memory, code = found
        late.know(memory)
        return machine_of(code, True), handed
    open_beside()
    verify_plan(loop.body, late.plan)
    text, handed = _text(loop, late.plan, kind)
    if others is not None:
        others()
    if key is None or handed.callouts:
        return compiled(text), handed
    code = object_of(text)
    cache.store(key, kept_code.to_bytes(loop, handed, late.memory, code))
    return machine_of(code, False), handed


def _text(loop: LoopInstruction, plan: Plan, kind: Kind) -> tuple[str, CallArguments]:
    """Return code that is written while LLVM is being loaded, for registers as wide as the system says; LLVM has the last word."""
    width = vector_bytes()
    found = text_of(loop, plan, kind, width=width)
    return found if target().vector_bytes == width else text_of(loop, plan, kind)


__all__ = ["Kind", "Met", "code_of", "text_of"]
