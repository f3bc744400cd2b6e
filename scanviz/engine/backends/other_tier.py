"""Run one loop by the backend that its ``mode`` names.

The loop becomes a Program of its own; values are passed through the host's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from scanviz.engine.backends.registry import resolve

if TYPE_CHECKING:
    from scanviz.engine.backends.base import Executable
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.engine.runtime.array_module import ArrayModule


class OtherTierRunner:
    """A loop as a program of its own, compiled by the backend that its mode names.

    Parameters
    ----------
    program : Program
        The program that holds the loop.
    loop : LoopInstruction
        The loop; its mode names a backend.
    module : ArrayModule
        The array library of the program.

    Raises
    ------
    BackendError
        If there is no backend of that name.
    """

    def __init__(self, program: Program, loop: LoopInstruction, module: ArrayModule) -> None:
        self.module = module
        given = [number for number in dict.fromkeys(loop.inputs) if number not in program.constants]
        self.places = [loop.inputs.index(number) for number in given]
        itself = replace(loop, mode=None, frees=())
        alone = replace(
            program, name=loop.name, inputs=tuple(given), outputs=loop.outputs, instructions=(itself,)
        )
        self.executable: Executable = resolve(str(loop.mode)).compile(alone)

    @property
    def runner(self) -> Any:
        """The other tier's runner of the loop, if that tier writes source."""
        flat: Any = self.executable.flat  # type: ignore[attr-defined]  # of executables that write source
        return flat.runners[0]

    def __call__(self, values: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the loop's results for the values of its instruction's inputs."""
        given = [np.asarray(self.module.to_host(values[k])) for k in self.places]
        inside = None if probe is None else probe.inside()
        results = self.executable.run(given, inside)
        return [self.module.from_host(result) for result in results]
