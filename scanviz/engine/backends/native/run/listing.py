"""The code of loops for people: LLVM's language, or the processor's instructions, with the user's lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from scanviz.engine.backends.native.cache.jit import assembly_of
from scanviz.engine.backends.native.emit.code import Kind, text_of
from scanviz.engine.backends.native.run.tier import NativeCode
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.program.instructions import LoopInstruction, all_loops
from scanviz.engine.program.plan import Plan


class LoopListing(NamedTuple):
    """The code of one loop.

    Attributes
    ----------
    name : str
        The loop's.
    why : str
        Why it has the code that it has.
    ir : str
        In LLVM's language; empty where it has no native code.
    loop, plan
        What it is made of.
    """

    name: str
    why: str
    ir: str
    loop: LoopInstruction
    plan: Plan

    def assembly(self) -> str:
        """Return the processor's instructions, with marks where the code of a line of the user's begins.

        It is compiled once more for that: the code that runs has no marks.
        """
        if not self.ir:
            return ""
        text, _ = text_of(self.loop, self.plan, Kind("plain"), marked=True)
        return assembly_of(text)


def listings(executable: Any) -> Iterator[LoopListing]:
    """Iterate over the loops of an executable that have run, for the shapes that they met last."""
    if not isinstance(executable, SourceExecutable):
        return
    loops = {loop.key: loop for loop, _ in all_loops(executable.program)}
    for key, made in all_made(executable.flat.runners).items():
        code = made.written("plain")
        ir = code.text if isinstance(code, NativeCode) else ""
        yield LoopListing(loops[key].name, made.why, ir, loops[key], made.plan)


__all__ = ["LoopListing", "listings"]
