"""A program run as generated source, with a runner for each loop and branch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from scanviz.engine.backends.source.flat import FlatProgram
from scanviz.engine.backends.source.runners import all_made, make_runner
from scanviz.engine.observation.levels import RUNS, VALUES
from scanviz.engine.program.lifetimes import gives_own
from scanviz.engine.runtime.floating import as_before, ignore_errors
from scanviz.engine.runtime.specialised import SpecialisedLoop

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Library
    from scanviz.engine.observation.ledger import Weighing
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.program.known_numbers import CallMet
    from scanviz.engine.program.plan import Emits, Grouping, Plan
    from scanviz.engine.runtime.interpreter import Interpreter


class SourceExecutable:
    """A program compiled to generated source.

    Parameters
    ----------
    program : Program
        The program.
    library : Library
        The tier's library.

    Attributes
    ----------
    gives_own : bool
        Whether results surely share no memory with anything else.
    """

    def __init__(self, program: Program, library: Library) -> None:
        self.program, self.library = program, library
        module = library.tier.module
        self.takes_device_arrays = module.takes_device_arrays
        self._taken, self._given = module.taken, module.given
        self.flat = FlatProgram(program, library, partial(make_runner, library))
        self._plain = self.flat.plain
        self.gives_own = not module.takes_device_arrays and gives_own(program)

    @cached_property
    def _weighing(self) -> Weighing:
        """Sampler of calls whose memory is counted."""
        from scanviz.engine.observation.ledger import Weighing

        return Weighing(len(self.program.instructions))

    @cached_property
    def call_met(self) -> CallMet:
        """The shapes of observed calls."""
        from scanviz.engine.program.known_numbers import CallMet

        return CallMet(self.program, self.library.tier.emits)

    @cached_property
    def _interpreter(self) -> Interpreter:
        return self.library.tier.interpreted(self.program)

    def run(self, inputs: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the outputs for inputs."""
        if probe is not None and probe.level is not RUNS:
            return self._run_observed(inputs, probe)
        # these calls are a notable part of a short call
        before = ignore_errors()
        try:
            results: list[Any] = self._plain(self._taken(self.program, inputs), probe, None, None)
            return self._given(self.program, inputs, results)
        except Exception as error:
            raise self.flat.in_words(error) from error.__cause__
        finally:
            as_before(before)

    def _run_observed(self, inputs: Sequence[Any], probe: Probe) -> list[Any]:
        """Return the outputs of an observed call."""
        if probe.level is VALUES:
            return self._interpreter.run(inputs, probe)
        before = ignore_errors()
        try:
            ledger = self._weighing.ledger(inputs) if probe.weighs and probe.is_outer else None
            probe.ledger = ledger
            if ledger is not None:
                with probe.own.aside():
                    self.call_met.met(inputs)
            results = self.flat.run(self._taken(self.program, inputs), probe, probe.is_outer)
            results = self._given(self.program, inputs, results)
        finally:
            as_before(before)
        if ledger is not None:
            with probe.own.aside():
                probe.weighed(ledger)
        return results

    @property
    def emits(self) -> Emits:
        """The tier's abilities with memory."""
        return self.library.tier.emits

    def tiers(self) -> dict[int, tuple[Grouping, Emits]]:
        """Return how the tier of each outer loop plans it, by the loop's key."""
        found = {}
        for runner in self.flat.runners.values():
            if isinstance(runner, SpecialisedLoop):
                made = runner.all_made()
                tier = made[-1].tier if made else runner.expected
                found[runner.loop.key] = tier.groups, tier.emits
        return found

    def source(self) -> str:
        """Return the generated source of the program outside of its loops."""
        return self.flat.source

    def plans(self) -> dict[int, Plan]:
        """Return the plan of each loop run so far, for its last shapes, by the loop's key."""
        return {key: made.plan for key, made in all_made(self.flat.runners).items()}
