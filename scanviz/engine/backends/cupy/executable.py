"""Run a program on the device: generated source that calls CuPy on planned arrays.

An operation whose inputs are all on the host runs there.  CuPy's calls return before the device is done.  Observed calls
therefore wait for the device before they read the clock, so that times measure the work and not the launch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.cupy.arrays import read_index
from scanviz.engine.backends.cupy.fused_loop import FusedLoop
from scanviz.engine.backends.cupy.table import CUPY, TRAFFIC, fetched
from scanviz.engine.backends.other_tier import OtherTierRunner
from scanviz.engine.backends.source.emitter import Emitter, Library
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.shared import OnDevice, held_by, is_on_device, keep_on_device, set_values
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.observation.levels import VALUES
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of
from scanviz.engine.program.plan import Emits, overwritable
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.interpreter import Interpreter, RunContext
from scanviz.engine.runtime.specialised import Tier

if TYPE_CHECKING:
    from scanviz.engine.graph.shared import SharedVariable
    from scanviz.engine.observation.probe import Probe


class DeviceModule(ArrayModule):
    """CuPy as an array library.

    Parameters
    ----------
    xp : module
        CuPy, or a stand-in with its names.
    """

    __slots__ = ("_constants", "first_result", "first_shared", "xp")
    takes_device_arrays = True
    lays_backwards = False  # kernels count rows from the first
    keeps_buffers = False  # CuPy does, for each stream

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        # positions from which on inputs and results are those of shared variables
        self.first_shared = self.first_result = 1 << 30
        # by id: a constant, which this keeps alive, and its array
        self._constants: dict[int, tuple[Any, Any]] = {}

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array on the device."""
        return self.xp.empty(shape, dtype)

    def copy(self, value: Any) -> Any:
        """Return a copy on the same device."""
        return value.copy() if is_on_device(value) else np.array(value)

    def to_host(self, value: Any) -> Any:
        """Return a value in the host's memory; waits for the device."""
        return fetched(value)

    def from_host(self, value: Any) -> Any:
        """Return an array on the device; a 0-d value stays where it is."""
        if is_on_device(value) or np.ndim(value) == 0:
            return value
        moved = self.xp.asarray(value)
        TRAFFIC.to_device_bytes += moved.nbytes
        return moved

    @staticmethod
    def truth(value: Any) -> bool:
        """Return a truth value on the host; waits for the device."""
        return bool(fetched(value))

    @staticmethod
    def as_array(value: Any) -> Any:
        """Return a single number as a 0-d array on the same device."""
        return value if is_on_device(value) else np.asarray(value)

    def placed(self, value: Any, kind: Type) -> Any:
        """Return a value in the dtype and on the device of its type."""
        if not isinstance(kind, TensorType):
            return self.to_host(value)
        if value.dtype != kind.dtype:
            value = value.astype(kind.dtype)
        return self.from_host(value)

    def taken(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Return a program's inputs on their devices; device arrays of other libraries are not copied."""
        given = [self.xp.asarray(array) if is_on_device(array) else array for array in inputs]
        kinds = [program.registers[number].type for number in program.inputs]
        return [self.placed(array, kind) for array, kind in zip(given, kinds, strict=True)]

    def constant(self, program: Program, number: int) -> Any:
        """Return a constant where it lives, moved there once; the host waits for that, as any stream may read it."""
        value = program.constants[number]
        if id(value) not in self._constants:
            moved = self.placed(value, program.registers[number].type)
            if is_on_device(moved):
                self.wait()
            self._constants[id(value)] = (value, moved)
        return self._constants[id(value)][1]

    def given(self, program: Program, inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Return the results on the device if an input was there, else on the host.

        New values of shared variables stay where they are; random states are on the host.  Arrays on the device may share memory
        with inputs and with one another, never with constants.
        """
        on_device = any(map(is_on_device, inputs[: self.first_shared]))
        constants, found = [array for _, array in list(self._constants.values()) if is_on_device(array)], []
        for k, (number, value) in enumerate(zip(program.outputs, results, strict=True)):
            if k < self.first_result:
                tensor = isinstance(program.registers[number].type, TensorType)
                value = self.xp.asarray(value) if on_device and tensor else self.to_host(value)
            if is_on_device(value) and any(
                self.xp.may_share_memory(value, constant) for constant in constants
            ):
                value = value.copy()
            found.append(value)
        return found

    def perform(self, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an operation: computed on the host if all its inputs are scalars there."""
        row = CUPY[op.declaration]
        if row.host or (row.scalars_on_host and not any(map(is_on_device, values))):
            return [np.asarray(result) for result in op.perform([self.to_host(value) for value in values])]
        return row.perform(self.xp, op, operands(values, row.numbers))

    def place(self) -> tuple[int, Any]:
        """Return the number of the current device, and the current stream."""
        return self.xp.cuda.runtime.getDevice(), self.xp.cuda.get_current_stream()

    def wait(self) -> None:
        """Wait for the device."""
        self.xp.cuda.get_current_stream().synchronize()

    def clock(self) -> int:
        """Wait for the device and return nanoseconds."""
        self.wait()
        return time.perf_counter_ns()


class DeviceCall:
    """A callable of one instruction, for generated source."""

    __slots__ = ("kinds", "module", "op")

    def __init__(self, module: DeviceModule, op: Op, kinds: Sequence[Type]) -> None:
        self.module, self.op, self.kinds = module, op, kinds

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results on their devices; a scalar taken from an array is copied, since CuPy returns a view."""
        placed, found = self.module.placed, self.module.perform(self.op, values)
        if self.op.declaration.views is not None and not found[0].ndim:
            found = [self.module.copy(found[0])]
        return [placed(value, kind) for value, kind in zip(found, self.kinds, strict=True)]

    def into(self, values: Sequence[Any], out: Any) -> None:
        """Write the one result into an array."""
        write = CUPY[self.op.declaration].into
        assert write is not None, self.op.name  # the plan asks for it only where it exists
        write(self.module.xp, self.op, operands(values, CUPY[self.op.declaration].numbers), out)


def writes(instruction: Instruction, program: Program) -> bool:
    """Return whether CuPy writes the result of an instruction into a given array."""
    dtypes = [dtype_of(program, number) for number in instruction.inputs]
    row = CUPY[instruction.op.declaration]
    return row.writes(instruction.op, dtypes, dtype_of(program, instruction.outputs[0]))


def overwrites(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return the positions of the inputs that an instruction may write over."""
    return overwritable(instruction, program) if writes(instruction, program) else ()


def statements(
    module: DeviceModule, emitter: Emitter, instruction: Instruction, out: str | None
) -> list[str]:
    """Return the line of an instruction; ``out`` names the array that its result goes to."""
    kinds = [emitter.program.registers[number].type for number in instruction.outputs]
    call = DeviceCall(module, instruction.op, kinds)
    names, first = list(map(emitter.name, instruction.inputs)), CUPY[instruction.op.declaration].numbers
    for k, number in enumerate(instruction.inputs[first:], first):
        if number in emitter.unchanged:
            names[k] = _read_before(emitter, number)
    values = "".join(f"{name}, " for name in names)
    if out is not None:
        return [f"{emitter.bind(call.into, instruction.op.name)}(({values}), {out})"]
    targets = "".join(f"{emitter.name(number)}, " for number in instruction.outputs)
    return [f"{targets}= {emitter.bind(call, instruction.op.name)}(({values}))"]


def _read_before(emitter: Emitter, number: int) -> str:
    """Return the name of an index that is the same in every step, read before the first."""
    known: dict[int, str] = emitter.notes.setdefault("indices", {})
    if number not in known:
        name = emitter.name(number)
        known[number] = emitter.fresh(f"{name}_index")
        emitter.before.append(f"{known[number]} = {emitter.bind(read_index, 'read_index')}({name})")
    return known[number]


def device_executable(program: Program, xp: Any, name: str) -> DeviceExecutable:
    """Return an executable of a program for an array module with CuPy's names."""
    module = DeviceModule(xp)

    def interpreted(program: Program) -> DeviceInterpreter:
        return DeviceInterpreter(program, module.perform, module, name, OtherTierRunner)

    tier = Tier(name, Emits(writes, overwrites), module, interpreted)
    library = Library(tier, partial(statements, module), FusedLoop)
    return DeviceExecutable(program, library, module, partial(device_executable, program, xp, name))


class DeviceExecutable(SourceExecutable):
    """A program on one device: a call on another device is run by an executable for that.

    Parameters
    ----------
    program : Program
        The program.
    library : Library
        The tier's library.
    module : DeviceModule
        CuPy; its current device is the executable's.
    again : callable
        Returns an executable of the same program for the device that is current then.
    """

    def __init__(
        self, program: Program, library: Library, module: DeviceModule, again: Callable[[], DeviceExecutable]
    ) -> None:
        super().__init__(program, library)
        self.module, self._again = module, again
        self._of_device = {module.place()[0]: self}

    def run(self, inputs: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the outputs for inputs."""
        here = self._here()
        return super().run(inputs, probe) if here is self else here.run(inputs, probe)

    def _here(self) -> DeviceExecutable:
        """Return the executable of the current device."""
        device, _ = self.module.place()
        found = self._of_device.get(device)
        if found is None:
            found = self._of_device[device] = self._again()
            found.share(self.module.first_shared, self.module.first_result)
        return found

    def _run_observed(self, inputs: Sequence[Any], probe: Probe) -> list[Any]:
        """Return the outputs of an observed call, and report what moved between host and device."""
        before = TRAFFIC.counts()
        results = super()._run_observed(inputs, probe)
        if probe.is_outer and probe.level is not VALUES:
            up, down, waits = (now - then for now, then in zip(TRAFFIC.counts(), before, strict=True))
            probe.measured(None, "to_device_bytes", up)
            probe.measured(None, "to_host_bytes", down)
            probe.measured(None, "device_waits", waits)
        return results

    def share(self, first_input: int, first_result: int) -> None:
        """Note the positions from which on inputs are shared variables, and results their new values."""
        self.module.first_shared, self.module.first_result = first_input, first_result

    def shared_values(self, variables: Sequence[SharedVariable]) -> list[Any]:
        """Return the values of shared variables on the device, moved there once."""
        place = self.module.place()
        found = []
        for variable, value in zip(variables, held_by(variables), strict=True):
            moved = self._moved(variable, value, place)
            if moved is not value:
                keep_on_device(variable, value, moved)
            found.append(moved.array if isinstance(moved, PlacedArray) else moved)
        return found

    def _moved(self, variable: SharedVariable, value: Any, place: tuple[int, Any]) -> Any:
        """Return the value of a shared variable for work in the current stream of the current device."""
        if isinstance(value, PlacedArray):
            return value if value.place == place else value.moved(self.module)
        if not value.ndim or not isinstance(variable.type, TensorType):
            return value
        return PlacedArray(self.module.from_host(value), place, value)

    def store(self, variables: Sequence[SharedVariable], values: Sequence[Any]) -> None:
        """Store new values where they are, all or none."""
        place = self.module.place()
        set_values(
            variables, [PlacedArray(value, place) if is_on_device(value) else value for value in values]
        )


class PlacedArray(OnDevice):
    """The value of a shared variable on a device, where a stream computes it.

    Attributes
    ----------
    place : tuple
        The number of the device, and the stream.
    """

    __slots__ = ("place",)

    def __init__(self, array: Any, place: tuple[int, Any], host: Any = None) -> None:
        super().__init__(array, host)
        self.place = place

    def fetched(self) -> Any:
        """Return a new copy on the host."""
        return self.array.get(stream=self.place[1])

    def moved(self, module: DeviceModule) -> PlacedArray:
        """Return a copy for work in the current stream, which waits for the work in this one's.

        A copy, since the memory of an array goes back to the stream that it was made in, however long others read it.
        """
        place, (own_device, own_stream) = module.place(), self.place
        device, stream = place
        if device == own_device:
            stream.wait_event(own_stream.record())
            copy = self.array.copy()
            own_stream.wait_event(stream.record())
        else:
            own_stream.synchronize()
            copy = module.xp.asarray(self.array)
            stream.synchronize()
        return PlacedArray(copy, place, self._host)


def operands(values: Sequence[Any], numbers: int) -> list[Any]:
    """Return values as CuPy takes them: host numbers as scalars, and so are those of the device that the host reads."""
    return [
        value if is_on_device(value) and (value.ndim or k < numbers) else fetched(value)[()]
        for k, value in enumerate(values)
    ]


class DeviceInterpreter(Interpreter):
    """Interpreter that keeps arrays on the device."""

    module: DeviceModule

    def run_instruction(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any], context: RunContext
    ) -> Sequence[Any]:
        """Return the results of one instruction on their devices; waits for the device while observed."""
        results = super().run_instruction(program, instruction, values, context)
        if isinstance(instruction, Instruction):
            results = [
                self.module.placed(value, program.registers[number].type)
                for number, value in zip(instruction.outputs, results, strict=True)
            ]
        if context.probe is not None:
            self.module.wait()
        return results
