"""A program that is run as generated source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Executable
from scanviz.engine.backends.source.flat import FlatProgram
from scanviz.engine.backends.source.library import Library
from scanviz.engine.backends.source.runners import all_made, make_runner
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.plan import Plan
from scanviz.engine.runtime.events import Watch

Take = Callable[[Sequence[Any]], Sequence[Any]]
Give = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


class SourceExecutable:
    """A program compiled to generated source.

    Parameters
    ----------
    program : Program
        What to run.
    library : Library
        What the source calls.
    interpreted : callable
        Gives what runs the program where observers want every value.
    take, give : callable
        ``take(inputs)`` gives what the source takes, ``give(inputs, results)`` what the caller gets.
    takes_device_arrays : bool
        Whether arrays of a device may be given to :meth:`run`.
    """

    def __init__(
        self,
        program: Program,
        library: Library,
        interpreted: Callable[[Program], Executable],
        take: Take,
        give: Give,
        takes_device_arrays: bool = False,
    ) -> None:
        self.program, self.takes_device_arrays = program, takes_device_arrays
        self.flat = FlatProgram(program, library, partial(make_runner, library))
        self._interpreted, self._take, self._give = interpreted, take, give
        self._interpreter: Executable | None = None

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs for inputs."""
        if watch is not None and watch.detail == "values":
            if self._interpreter is None:
                self._interpreter = self._interpreted(self.program)
            return self._give(inputs, self._interpreter.run(inputs, watch))
        with np.errstate(all="ignore"):
            return self._give(
                inputs, self.flat.run(self._take(inputs), watch, watch is not None and watch.is_outer)
            )

    def source(self) -> str:
        """Return the generated source of the program outside of its loops."""
        return self.flat.source

    def loop_sources(self) -> dict[int, str]:
        """Return the generated source of each loop run so far, by the loop's key; nested loops too."""
        return {key: made.written("plain").text for key, made in all_made(self.flat.runners).items()}

    def plans(self) -> dict[int, Plan]:
        """Return the plan of each loop run so far, for the shapes that it met last, by the loop's key."""
        return {key: made.plan for key, made in all_made(self.flat.runners).items()}


__all__ = ["SourceExecutable"]
