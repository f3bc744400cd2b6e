"""The compiled function: a call reads inputs and shared variables, runs the program, and commits updates on success."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from scanviz.engine import observe
from scanviz.engine.backends.base import KeepsShared
from scanviz.engine.backends.registry import availability, resolve
from scanviz.engine.building import building
from scanviz.engine.display import Shown
from scanviz.engine.function.arguments import Binding, In, RunsOnDevice, to_host
from scanviz.engine.function.memory import Memory, constants_of, unshared
from scanviz.engine.function.names import with_distinct_names
from scanviz.engine.graph.shared import set_values, values_of
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.locks import acquire_all, lock
from scanviz.engine.program.instructions import Program, all_loops
from scanviz.engine.program.lower import lower
from scanviz.engine.program.rules import apply_memory_rules
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.level import HOST_TIERS, NATIVE_TIERS, TargetTier

if TYPE_CHECKING:
    from scanviz.engine.backends.base import Executable
    from scanviz.engine.function.forecast import MemoryForecast
    from scanviz.engine.function.spec import FunctionSpec
    from scanviz.engine.graph.nodes import Apply, Array, Variable
    from scanviz.engine.mode import Mode
    from scanviz.engine.observation.calls import ObservedCalls
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.program.known_numbers import CallMet
    from scanviz.engine.program.planned import Plans
    from scanviz.engine.rewrites.level import Refused, WhyNoCode
    from scanviz.engine.rewrites.pipeline import Application


DEVICE_TIER = "cupy"  # runs calls of the default mode whose arrays lie on a device

_keys = itertools.count(1)
# Hooks called before each call with its inputs and the values of its shared variables; usually empty.
CALLS: list[Callable[[Function, list[Array]], None]] = []


class Function(Shown):
    """A compiled graph; call it with values.

    Attributes
    ----------
    name : str
        The user's name for the function, or its source line.
    program : Program
        The lowered program.
    backend : str
        Name of the tier that runs it.
    rewrites : RewriteHistory
        The rewrites of the graph, in order; any version can be rebuilt.
    build_ns : dict[str, int]
        Nanoseconds of each build stage: ``graph``, ``rewrite``, ``lower``, ``compile``.
    """

    def __init__(self, spec: FunctionSpec, started_ns: int | None = None) -> None:
        begun = time.perf_counter_ns()
        self.spec, self.name, self.where = spec, spec.name, spec.where
        self.key = next(_keys)
        checked: set[Apply] = set()
        wanted = with_distinct_names([*(output.variable for output in spec.outputs), *spec.updates.values()])
        history = RewriteHistory(
            wanted,
            spec.mode.rewrites,
            checked,
            target_of(spec.mode),
            keeps=bool(spec.profile or observe.observers()),
        )
        graph = history.final
        reads: list[Variable] = [*(given.variable for given in spec.inputs), *spec.shared]
        typecheck(reads, graph, checked=checked)
        rewritten = time.perf_counter_ns()
        program, history.of_program = apply_memory_rules(lower(reads, graph, spec.name), spec.mode.rewrites)
        lowered = time.perf_counter_ns()
        backend = resolve(spec.mode.backend)
        executable = backend.compile(program)
        compiled = time.perf_counter_ns()
        history.planned, history.refused_plans = self._planned, self._refused_plans
        self.backend, self.program, self.rewrites = backend.name, program, history
        self.build_ns = {
            "graph": begun - (started_ns or begun),
            "rewrite": rewritten - begun,
            "lower": lowered - rewritten,
            "compile": compiled - lowered,
        }
        self._executable, self._graph = executable, graph
        takes_device_arrays = bool(getattr(executable, "takes_device_arrays", False))
        self._shared_values, self._store = values_of, set_values
        if isinstance(executable, KeepsShared):
            executable.share(len(spec.inputs), len(spec.outputs))
            self._shared_values, self._store = executable.shared_values, executable.store
        runs_elsewhere = self._runs_on_device if self.backend == "auto" else None
        self._arguments = Binding(
            spec.name, spec.inputs, self.backend, takes_device_arrays, runs_elsewhere
        ).arrays
        self._gives_own = bool(getattr(executable, "gives_own", False))
        self._constants = Memory(constants_of(program))
        self._borrowed = [*(False for _ in spec.updates), *(output.borrow for output in spec.outputs)]
        self._structured = spec.structured
        self._stored = list(spec.updates)
        self._updated = sorted(spec.updates, key=id)
        self._is_alone = not spec.shared and not spec.updates  # it shares no state with others
        self._observed: ObservedCalls | None = None
        self._making = lock()
        self._for_device: Function | None = None
        self.profile_observer: Any = None
        asked = spec.profile or any(loop.profile for loop, _ in all_loops(program))
        if asked and observe.PROFILER:
            self.profile_observer = observe.PROFILER[0]()

    @property
    def inputs(self) -> list[In]:
        """The inputs, in order."""
        return list(self.spec.inputs)

    @property
    def outputs(self) -> list[Variable]:
        """The symbolic outputs, as rewritten, in order."""
        return self._graph[: len(self.spec.outputs)]

    @property
    def updated_values(self) -> list[Variable]:
        """The new values of updated shared variables, as rewritten, in order."""
        return self._graph[len(self.spec.outputs) :]

    @property
    def updated_names(self) -> list[str]:
        """Names of the updated shared variables, in order."""
        return [update.name or str(update.type) for update in self.spec.updates]

    def memory_forecast(self, *inputs: Any, **named: Any) -> MemoryForecast:
        """Forecast the peak memory of a call without running it.

        Parameters
        ----------
        *inputs, **named
            For each input an array, or its shape as a tuple of integers.  For a scalar input that determines memory, such as a
            number of steps, the number itself.  An input with a default value may be left out.

        Returns
        -------
        MemoryForecast
            The peak, its place, and the bytes of each loop.

        Raises
        ------
        ScanvizTypeError
            If the shape of an input is missing or does not fit the input's type.

        Examples
        --------
        >>> import scanviz
        >>> from scanviz import tensor as T
        >>> x = T.matrix("x")
        >>> rows, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros((64,)), name="rnn")
        >>> forecast = scanviz.function([x], rows).memory_forecast((100_000, 64))
        >>> forecast.at, round(forecast.peak_bytes / 1e6)
        ('rnn', 51)
        """
        from scanviz.engine.function.forecast import asked  # late import: no call needs it

        return asked(self, inputs, named)

    def memory_plans(self) -> Plans:
        """Return the plans of the loops run so far, by the loop's key; empty if the backend has no plans."""
        planned = getattr(self._executable, "plans", None)
        return planned() if planned is not None else {}

    def call_met(self) -> CallMet | None:
        """Return the latest shapes of calls; None if the backend has no plans."""
        found: CallMet | None = getattr(self._executable, "call_met", None)
        return found

    def _planned(self) -> list[Application]:
        """Return the applications of memory rules in the plans so far."""
        from scanviz.engine.program.planned import planned_applications

        return planned_applications(self.program, self.memory_plans())

    def _refused_plans(self) -> list[Refused]:
        from scanviz.engine.program.planned import planned_refusals

        return planned_refusals(self.program, self.memory_plans())

    @property
    def executable(self) -> Any:
        """The program as compiled by the backend; its class belongs to the backend."""
        return self._executable

    def compile_alike(self, program: Program) -> Executable:
        """Compile another Program in the current state of this function: on the same tier, with machine code if this has it."""
        alike = getattr(self._executable, "compile_alike", None)
        if alike is None:
            return resolve(self.backend).compile(program)
        made: Executable = alike(program)
        return made

    @property
    def profile(self) -> Any:
        """The record of all calls so far if the function was built with ``profile=True``; else None."""
        return (
            None
            if self.profile_observer is None
            else getattr(self.profile_observer, "record", lambda: None)()
        )

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Compute the outputs for input values, and update shared variables on success."""
        observers = observe.observers()
        if self.profile_observer is not None:
            observers = (*observers, self.profile_observer)
        try:
            if not observers:
                return self._given(self._arguments(values, named), None)
            return (self._observed or self._observable()).call(values, named, observers)
        except RunsOnDevice:
            pass  # errors of the call below have nothing to do with it
        return (self._for_device or self._built_for_device())(*values, **named)

    def _runs_on_device(self, arrays: list[Any]) -> bool:
        """Return whether the device's tier takes a call with these arrays: they are its own, and it works."""
        owns = getattr(resolve(DEVICE_TIER), "owns", None)
        if owns is None or not all(map(owns, arrays)):
            return False
        return self._for_device is not None or availability(DEVICE_TIER).works

    def _built_for_device(self) -> Function:
        """Return this function for arrays on the device, built at the first call with such arrays."""
        with self._making, building("function"):
            if self._for_device is None:
                mode = type(self.spec.mode)(DEVICE_TIER, self.spec.mode.rewrites)
                built = Function(replace(self.spec, mode=mode, tier_reason="the inputs lie on the device"))
                built.profile_observer = self.profile_observer
                self._for_device = built
        self._for_device.notify_compiled()
        return self._for_device

    def _observable(self) -> ObservedCalls:
        """Return the observed calls of this function, created at the first one: most programs run unobserved."""
        import scanviz.engine.runtime.observed  # noqa: F401  # here, where no clock runs, not in the first call's time
        from scanviz.engine.observation.calls import ObservedCalls

        with self._making:
            if self._observed is None:
                self._observed = ObservedCalls(self, self._arguments, self._given)
        return self._observed

    def notify_compiled(self) -> None:
        """Notify observers with ``lists_built`` that the function is built."""
        for observer in observe.observers():
            if observer.lists_built:
                self._observable().introduce(observer)

    def _given(self, arguments: list[Array], probe: Probe | None) -> Any:
        if self._is_alone and not CALLS:
            if probe is None:
                results = self._executable.run(arguments, None)
            else:
                results = (self._observed or self._observable()).run(arguments, probe)
            return self._structured(results if self._gives_own else self._unshared(results, arguments))
        if not self._updated:
            return self._structured(self._computed(arguments, probe))
        if len(self._updated) == 1:
            with self._updated[0].lock:
                return self._structured(self._computed(arguments, probe))
        locks = [shared_variable.lock for shared_variable in self._updated]
        return self._structured(acquire_all(locks, self._computed, arguments, probe))

    def _computed(self, arguments: list[Array], probe: Probe | None) -> list[Array]:
        """Compute the outputs and update shared variables; the caller holds their locks."""
        if self.spec.shared:
            arguments = [*arguments, *self._shared_values(self.spec.shared)]
        results, count = self._run(arguments, probe), len(self.spec.outputs)
        outputs, fresh = results[:count], results[count:]
        if not self._gives_own:
            found = unshared([*fresh, *outputs], self._borrowed, arguments, self._constants)
            fresh, outputs = found[: len(fresh)], found[len(fresh) :]
        if fresh:
            self._store(self._stored, fresh)
        return outputs

    def _unshared(self, found: list[Array], arguments: list[Array]) -> list[Array]:
        """Copy results that share memory with an argument, a constant or another result."""
        return found if self._gives_own else unshared(found, self._borrowed, arguments, self._constants)

    def _run(self, arrays: list[Array], probe: Probe | None) -> list[Array]:
        if CALLS:
            on_host = list(map(to_host, arrays))
            for hook in tuple(CALLS):  # a copy: another thread may remove its hook meanwhile
                hook(self, on_host)
        if probe is not None:
            return (self._observed or self._observable()).run(arrays, probe)
        results: list[Array] = self._executable.run(arrays, None)
        return results

    if not TYPE_CHECKING:  # a type checker would accept every name

        def __getattr__(self, name: str) -> Any:
            """Raise an error that suggests the scanviz name for another system's attribute."""
            from scanviz.engine.other_names import missing  # late import: only for an error

            raise missing("Function", name)

    def __repr__(self) -> str:
        shown = ", ".join(given.name or str(given.variable.type) for given in self.spec.inputs)
        return f"<scanviz function `{self.name}`({shown}) on {self.backend}>"


def target_of(mode: Mode) -> TargetTier:
    """Return the target tier of the rewrites of a mode."""
    return TargetTier(mode.backend, _compiled_code)


def _compiled_code(tier: str) -> WhyNoCode | None:
    if tier in NATIVE_TIERS:
        from scanviz.engine.backends.native_support import is_installed, why_no_code  # where there are loops

        return why_no_code if is_installed() else None
    return None if tier in HOST_TIERS else getattr(resolve(tier), "why_no_code", None)
