"""The machine code of a loop: written in LLVM's language for a plan, and compiled unless the cache on disk has it."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.backends.native.cache.jit import Machine, compiled, target
from scanviz.engine.backends.native.emit.call_arguments import CallArguments, CodeVariant
from scanviz.engine.backends.native.emit.errors import NotWrittenError
from scanviz.engine.backends.native.emit.loop import LoopEmitter
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.verify import verify_plan


class Kind(NamedTuple):
    """Which code of a loop.

    Attributes
    ----------
    variant : str
        Of a loop's code: plain; one that notes times, of steps or of their operations too, as it is told; or plain code that takes
        strips of elements through many steps, with a time for each block of these.
    inline : bool
        Whether loops and branches inside are written where they stand.
    counts : bool
        Whether runs of loops inside are counted.
    share : tuple of int
        How many rows of a batch the loop has, and how many of them the part whose code it is; (1, 1) for the whole loop.
    calls_out : bool
        Whether it may call an operation out; else there is no code for a loop with such a one.
    """

    variant: CodeVariant
    inline: bool = True
    counts: bool = False
    share: tuple[int, int] = (1, 1)
    calls_out: bool = True


def text_of(loop: LoopInstruction, plan: Plan, kind: Kind, marked: bool = False) -> tuple[str, CallArguments]:
    """Return code in LLVM's language, and what it is handed.

    Raises
    ------
    NotWrittenError
        If an instruction has no native code, or one of a part may fail: that is done for the whole loop.
    """
    emitter = LoopEmitter(
        loop,
        plan,
        kind.variant,
        target().vector_bytes,
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


def code_of(loop: LoopInstruction, plan: Plan, kind: Kind) -> tuple[Machine, CallArguments]:
    """Return machine code of a loop, and what it is handed.

    Raises
    ------
    NotWrittenError
        If an instruction has no native code.
    """
    verify_plan(loop.body, plan)
    text, handed = text_of(loop, plan, kind)
    return compiled(text), handed
