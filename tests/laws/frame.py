"""What laws share: tiers and modes to draw, a function compiled for one call, and limits of the engine set low."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from hypothesis import strategies as st

from scanviz import grad
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability
from scanviz.engine.function import Function, function
from scanviz.engine.graph.nodes import Array, Variable, is_floating
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.mode import Mode
from scanviz.testing.loop_case import LoopCase
from tests.engine.backends.cupy import stand_in
from tests.laws.law import Law

stand_in.register()  # for `--tier stand-in` and `--tier stand-in-kernels`

CHOSEN = "SCANVIZ_LAWS_TIERS"  # a variable of the environment, for `python -m tests.laws --tier` and the processes that it starts
NAMES = tuple(
    name for name in os.environ.get(CHOSEN, "numpy reference native").split() if availability(name).works
)
TIERS = st.sampled_from(NAMES)
OTHER_TIERS = st.sampled_from([name for name in NAMES if name != "reference"])  # to compare with it
PLAIN = Mode("reference", "none")


def modes(*tiers: str) -> st.SearchStrategy[Mode]:
    """Return the modes of tiers, with all rules or with none."""
    return st.builds(Mode, st.sampled_from(tiers), st.sampled_from(["none", "all"]))


MODES = modes(*NAMES)


def draws_tier(law: Law) -> bool:
    """Return whether a law is tried on one tier of all that work here."""
    return any(strategy in (TIERS, OTHER_TIERS, MODES) for strategy in law.strategies.values())


def computed(
    given: Mapping[Variable, Any],
    wanted: Sequence[Variable] | Variable,
    mode: Mode | str,
    **options: Any,
) -> Any:
    """Return the outputs for values given for variables."""
    return function(list(given), wanted, mode=mode, on_unused_input="ignore", **options)(*given.values())


class Built(NamedTuple):
    """A random loop as a graph: its results, and its inputs with their values."""

    results: list[Variable]
    updates: dict[SharedVariable, Variable]
    given: dict[Variable, Array]
    state: SharedVariable | None

    @property
    def values(self) -> list[Array]:
        """What its function is called with."""
        return list(self.given.values())

    @property
    def floats(self) -> list[Variable]:
        """The inputs that a gradient is taken by."""
        return [variable for variable in self.given if is_floating(variable)]

    @property
    def read(self) -> list[Variable]:
        """The inputs and the state."""
        return [*self.given, *([] if self.state is None else [self.state])]

    @property
    def new_state(self) -> Variable | None:
        """The next value of the state."""
        return None if self.state is None else self.updates[self.state]

    @property
    def cost(self) -> Variable:
        """A number that all results and the new state have a part in."""
        return cost_of(self.results, self.new_state)

    def gradients(self) -> list[Variable]:
        """Return the gradients of a cost of the results that have any."""
        smooth = [T.cast(result, "float64") for result in self.results if is_floating(result)]
        return gradients(cost_of(smooth, None), self.floats) if smooth and self.floats else []

    @property
    def wanted(self) -> list[Variable]:
        """Results, updates, and gradients as far as there are any."""
        return [*self.results, *self.updates.values(), *self.gradients()]

    def function(self, wanted: Iterable[Variable], mode: Mode | str, **options: Any) -> Function:
        """Return the function of the outputs, which leaves the state alone without updates."""
        options = {"no_default_updates": "updates" not in options, **options}
        return function(list(self.given), list(wanted), mode=mode, on_unused_input="ignore", **options)

    def computed(self, wanted: Sequence[Variable], mode: Mode | str) -> list[Array]:
        """Return the outputs of the loop."""
        found: list[Array] = self.function(wanted, mode)(*self.values)
        return found


def built(case: LoopCase, every: int | None = None, **options: Any) -> Built:
    """Return a random loop as a graph."""
    results, updates, inputs, state = case.build(every, **options)
    return Built(results, dict(updates), dict(inputs), state)


def cost_of(results: Sequence[Variable], state: Variable | None) -> Variable:
    """Return the number that ``cost_of_values`` computes of values."""
    total = sum((T.sum(T.sin(result * (1 + 0.25 * k))) for k, result in enumerate(results)), T.constant(0.0))
    return total if state is None else total + T.sum(T.cos(state))


def gradients(cost: Variable, wrt: Sequence[Variable]) -> list[Variable]:
    """Return the gradients of a number, zeros for disconnected variables."""
    found: list[Variable] = grad(cost, list(wrt), disconnected_inputs="ignore")
    return found


@contextmanager
def constants_set(module: ModuleType | type, names: Mapping[str, float]) -> Iterator[None]:
    """Give constants of a module or a class other values, so low that examples of a few numbers reach them."""
    before = {name: getattr(module, name) for name in names}
    for name, value in names.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


@contextmanager
def over_always() -> Iterator[None]:
    """Let rows be written over those of sequences however few they are."""
    from scanviz.engine.backends.source import entry
    from scanviz.engine.program.plan import location

    few = {"SHORTEST_OVER": 0}
    with constants_set(entry, few), constants_set(location, few):
        yield
