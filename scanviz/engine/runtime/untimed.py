"""Taking the steps of a run without times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.runtime.outcome import FAILED

if TYPE_CHECKING:
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.calling import LoopCode, RunSteps


def run_plain(arena: LoopArena, code: LoopCode) -> int:
    """Run all steps by the variant without stamps; return the steps done."""
    arena.check_rows()
    done, plain = 0, code.variant("plain")
    while done < arena.steps:
        last = arena.chunk_end(done, arena.steps)
        if arena.code is not code:  # the loop was handed over
            code = arena.code
            plain = code.variant("plain")
        done = take_steps(arena, plain, done, last)
    return done


def take_steps(arena: LoopArena, code: RunSteps, first: int, last: int) -> int:
    """Run steps ``first`` to ``last`` and return where it stopped; a stop condition that held ends the loop.

    Raises
    ------
    ScanvizError
        If an instruction failed: in the user's words.
    """
    done, outcome, instruction = code(arena, first, last)
    if outcome:
        if outcome == FAILED:
            arena.failed_step = done
            error = arena.in_words(done, instruction)
            raise error from (None if arena.error is None else arena.error.__cause__)
        arena.steps = done
    return done
