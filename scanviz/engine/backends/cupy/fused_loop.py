"""Run a loop as one CUDA kernel where its step mixes no elements, else one call for each operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.cupy.elements import elements_of
from scanviz.engine.backends.cupy.kernel import NAME, THREADS, Kernel, loop_kernel
from scanviz.engine.backends.cupy.kernel_arguments import Argument
from scanviz.engine.backends.cupy.kernel_support import NotFusedError
from scanviz.engine.backends.cupy.table import fetched
from scanviz.engine.errors import BackendError
from scanviz.engine.graph.shared import is_on_device
from scanviz.engine.ops.draws.philox import advance
from scanviz.engine.program.instructions import is_scalar
from scanviz.engine.runtime.arena import LoopArena
from scanviz.engine.runtime.calling import DONE, STOPPED, Outcome
from scanviz.engine.runtime.specialised import Specialised, SpecialisedLoop, Tier

if TYPE_CHECKING:
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.observation.stamps import Stamps
    from scanviz.engine.program.instructions import LoopInstruction
    from scanviz.engine.program.shapes import ConcreteShape

WHY = "the whole loop is one CUDA kernel; its steps share the time of a run evenly, operations by their work"
Launch = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]


class FusedCode:
    """A loop as one kernel; see :mod:`scanviz.engine.runtime.calling` for how it is called.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    single_calls : Specialised
        The loop by one call for each operation: for steps in which an index or a parameter may be out of range.
    module : DeviceModule
        The array library.

    Attributes
    ----------
    text : str
        The CUDA C++ of the kernel.

    Raises
    ------
    NotFusedError
        If the loop is no single kernel.
    """

    def __init__(self, loop: LoopInstruction, single_calls: Specialised, module: Any) -> None:
        self.loop, self.plan, self.module = loop, single_calls.plan, module
        self._single_calls = single_calls
        scalars = [is_scalar(loop.body, slot.inner) for slot in loop.non_sequences]
        self._kernels: dict[tuple[bool, ...], tuple[Kernel, Launch]] = {}
        self.text = self._kernel(tuple(scalars))[0].source

    @cached_property
    def shares(self) -> list[float]:
        """The share of each instruction in the time of a step; none for those that are not needed."""
        from scanviz.engine.program.work import shares_of  # only for observed runs

        shares = shares_of(self.loop.body, self.plan, elements_of(self.loop, self.plan).needed)
        return [shares.get(index, 0.0) for index in range(len(self.loop.body.instructions))]

    @property
    def function(self) -> FusedCode:
        """The code itself."""
        return self

    def _kernel(self, on_host: tuple[bool, ...]) -> tuple[Kernel, Launch]:
        """Return the kernel for numbers that lie in the host's memory, or on the device."""
        found = self._kernels.get(on_host)
        if found is None:
            kernel = loop_kernel(self.loop, self.plan, on_host)
            try:
                launch = launcher(self.module.xp, kernel.source)
            except BackendError as error:
                raise NotFusedError(error.what) from error
            found = self._kernels[on_host] = kernel, launch
        return found

    def __call__(self, arena: LoopArena, first: int, last: int) -> Outcome:
        """Take steps in one launch."""
        kernel, launch = self._kernel(tuple(not is_on_device(value) for value in arena.fixed))
        rows = prod(kernel.sizes)
        carried = [
            value if k in kernel.blocks_per_step else self.module.xp.asarray(value).copy()
            for k, value in enumerate(arena.carried)
        ]
        given = [self._value(argument, arena, carried) for argument in kernel.arguments]
        numbers = [rows, *kernel.sizes]
        for argument, value in zip(kernel.arguments, given, strict=True):
            numbers += [value.strides[axis] // value.itemsize for axis in argument.strides]
        # rows that steps write over: rings, and gradients that steps add to
        over = (
            [state for state in arena.states if state.form.wraps or state.form.is_mitmot]
            if kernel.checks
            else []
        )
        before = [state.array.copy() for state in over]
        reports = kernel.stops or kernel.checks
        done = [self.module.xp.zeros(3, "int64")] if reports else []
        given = [np.int64(first), np.int64(last), _struct(numbers), *given, *done]
        block = kernel.row_threads or THREADS
        launch((rows if kernel.row_threads else -(-rows // block),), (block,), tuple(given))
        end, stopped = last, 0
        if reports:
            steps, stopped, failed = fetched(done[0]).tolist()
            if failed:
                for state, array in zip(over, before, strict=True):
                    state.array[...] = array
                return self._by_single_calls(arena, first, last)
            end = steps if stopped else last
        for k, blocks in kernel.blocks_per_step.items():
            carried[k] = advance(np.asarray(carried[k]), blocks * (end - first))
        arena.carried = tuple(carried)
        if arena.record is not None:
            arena.record(end)
        elif arena.probe is not None:
            self.module.wait()  # the run is timed as a whole
        return end, STOPPED if stopped else DONE, -1

    def _by_single_calls(self, arena: LoopArena, first: int, last: int) -> Outcome:
        """Take steps by single calls, which find the error if there is one."""
        arena.buffers = self._single_calls.buffers.take()
        done, outcome, instruction = self._single_calls.variant("plain")(arena, first, last)
        if arena.record is not None:
            arena.record(done)
        return done, outcome, instruction

    def _value(self, argument: Argument, arena: LoopArena, carried: Sequence[Any]) -> Any:
        """Return an argument of a run."""
        k = argument.number
        match argument.kind:
            case "number":
                return np.asarray(arena.fixed[k])[()]
            case "state_rows":
                return np.int64(len(arena.states[k].array))
            case "output_rows":
                return np.int64(len(arena.outputs[k].array))
            case "random_carry":
                return _struct(carried[k])
            case "random_fixed":
                return _struct(arena.fixed[k])
            case "constant":
                return self.module.constant(self.loop.body, k)
            case "sequence":
                found = arena.sequences[k]
            case "state":
                found = arena.states[k].array
            case "output":
                found = arena.outputs[k].array
            case "carry":
                found = carried[k]
            case _:
                found = arena.fixed[k]
        return found.copy() if argument.is_start else found


def _struct(numbers: Any) -> Any:
    """Return numbers of eight bytes as a struct, which a kernel takes by value."""
    held = np.asarray(numbers) if hasattr(numbers, "dtype") else np.array(numbers, np.int64)
    return np.ascontiguousarray(held).view(f"V{8 * held.size}")[0]


def launcher(xp: Any, source: str) -> Launch:
    """Return what launches a kernel: ``launch(grid, block, arguments)``; a stand-in for CuPy brings its own.

    Raises
    ------
    BackendError
        If the kernel cannot be compiled here.
    """
    own = getattr(xp, "kernel_launcher", None)
    if own is not None:
        launch: Launch = own(source, NAME)
        return launch
    device = xp.cuda.Device()
    return _loaded(xp, source, device.id, f"sm_{device.compute_capability}")


@lru_cache(maxsize=128)
def _loaded(xp: Any, source: str, device: int, architecture: str) -> Launch:
    """Return what launches a kernel on the current device; many shapes share one source."""
    from scanviz.engine.backends.cupy import nvrtc

    module = xp.cuda.Module()
    module.load(nvrtc.machine_code(source, architecture))
    found: Launch = module.get_function(NAME)
    return found


class FusedSpecialised(Specialised):
    """A loop as one kernel for one set of shapes; it has no buffers."""

    __slots__ = ("code",)
    takes_whole_runs = True

    def __init__(self, made: Specialised, tier: Tier, code: FusedCode) -> None:
        super().__init__(made.plan, tier, lambda plan, variant: code, WHY)
        self.code = code
        self.memory = self.memory._replace(buffers=(), arena=0)
        self.has_buffers = False

    @property
    def plain_times(self) -> bool:
        """True if timed steps run the plain code."""
        return True

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return the stamps of a launch."""
        from scanviz.engine.backends.cupy.kernel_times import KernelStamps  # only for observed runs

        return KernelStamps(first, self.clock, self.code.shares)


class FusedLoop(SpecialisedLoop):
    """Runs one loop as a kernel, or one call for each operation."""

    def _for_shapes(
        self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]], steps: int
    ) -> Specialised:
        made = super()._for_shapes(shapes, rows, steps)
        try:
            return FusedSpecialised(made, self.tier, FusedCode(self.loop, made, self.tier.module))
        except NotFusedError as why:
            made.why = f"one call for each operation: {why}"
            return made
