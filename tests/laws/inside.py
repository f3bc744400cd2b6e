"""Laws of loops and branches inside the steps of loops: of any kind, read in any way, with what a tier may call out for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.observe import observed_by
from scanviz.profiler.recording.recorder import Recorder
from tests.laws.frame import MODES, NAMES, PLAIN, computed, gradients
from tests.laws.law import law
from tests.support.comparing import check_same


@dataclass(frozen=True)
class InsideCase:
    """A loop with a loop or a branch in its step.

    Attributes
    ----------
    dtype : str
        Of all arrays.
    alone : bool
        Whether a state is one number rather than a vector.
    width : int
        Elements of a vector: few, or more than a register holds.
    short : bool
        Whether the work of a step is a few additions and products.
    steps, inner_steps : int
        How many.
    taps : int
        How many rows back the loop inside reads.
    rows : bool
        Whether it runs over rows of its own beside its state.
    read : str
        The read of its states: ``"last"``, ``"last two"``, ``"all"``, or the rows of an ``"output"``.
    stop : float or None
        It ends after a step whose result is beyond that.
    branch : str
        Where an ``ifelse`` stands: ``"none"``, ``"around"`` the loop, ``"within"`` it, or ``"beside"`` it.
    draws : bool
        Whether the loop inside draws random numbers.
    sorts : bool
        Whether something in both steps has no native code.
    deep : bool
        Whether there is one more loop in the loop inside.
    """

    dtype: str
    alone: bool
    width: int
    short: bool
    steps: int
    inner_steps: int
    taps: int
    rows: bool
    read: str
    stop: float | None
    branch: str
    draws: bool
    sorts: bool
    deep: bool

    def values(self) -> list[Array]:
        """Return the values of its inputs: rows, and a constant of the step."""
        rng = np.random.default_rng(self.steps + 10 * self.inner_steps)
        shape = (self.steps, *self.shape)
        if self.dtype == "int64":
            return [rng.integers(-3, 4, shape), rng.integers(-3, 4, self.shape)]
        found = [rng.uniform(-1, 1, shape), rng.uniform(-1, 1, self.shape)]
        return [np.asarray(array, self.dtype) for array in found]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return () if self.alone else (self.width,)

    def mixed(self, a: Variable, b: Variable) -> Variable:
        """Return something of two values."""
        if self.dtype == "int64":
            return a * 2 - b
        if self.short:
            return T.cast(a * 0.75 - b * 0.5, self.dtype)
        found = T.tanh(a) * 0.75 + T.cast(T.sin(b), self.dtype)
        return T.cast(found, self.dtype)

    def sorted(self, a: Variable) -> Variable:
        """Return a value, sorted where that is wanted."""
        return T.sort(a) if self.sorts and not self.alone else a

    def inside(self, x: Variable, h: Variable) -> tuple[Variable, Any]:
        """Return the results of the inner loop, and its updates."""
        start: Any = h
        if self.taps > 1:
            start = {"initial": T.stack([h, x]), "taps": [-2, -1]}
        sequences = (
            [T.stack([x + k for k in range(self.inner_steps)])] if self.rows and self.inner_steps else None
        )
        state = T.random.random_state(7) if self.draws else None

        def step(*given: Variable) -> Any:
            row, *states = given if sequences is not None else (x, *given)
            new = self.mixed(states[-1], states[0] + row)
            if self.deep:
                deeper, _ = scanviz.scan(lambda d: self.mixed(d, new), None, new, n_steps=2, name="deepest")
                new = deeper[-1]
            if self.branch == "within":
                new = T.ifelse(T.sum(new) > 0, self.mixed(new, row), new)
            new = self.sorted(new)
            updates: dict[Any, Any] = {}
            if state is not None:
                updates[state], drawn = T.random.integers(state, 0, 5, size=self.shape or None)
                new = new + T.cast(drawn, self.dtype)
            results = [new, T.sum(new) + T.sum(row)]
            if self.stop is None:
                return results, updates
            return results, updates, scanviz.until(T.sum(new) > self.stop)

        steps = self.inner_steps
        (states, sums), updates = scanviz.scan(step, sequences, [start, None], n_steps=steps, name="inside")
        return self._read(states, sums, h), updates

    def _read(self, states: Variable, sums: Variable, h: Variable) -> Variable:
        steps = self.inner_steps
        if not steps:
            return h
        match self.read:
            case "last two" if steps > 1 and self.stop is None:
                return self.mixed(states[-1], states[-2])
            case "all" if self.stop is None:
                return T.cast(T.sum(states, axis=0), self.dtype)
            case "output":
                return self.mixed(h, T.cast(sums[-1], self.dtype))
        last: Variable = states[-1]
        return last

    def build(self) -> tuple[list[Variable], Variable]:
        """Return its inputs and the rows that it gives."""
        x, w = (
            T.tensor(self.dtype, (None,) * n, name)
            for n, name in ((len(self.shape) + 1, "x"), (len(self.shape), "w"))
        )

        def step(x_t: Variable, h: Variable, w: Variable) -> Any:
            found, updates = self.inside(x_t, h if self.branch == "beside" else self.mixed(h, w))
            if self.branch == "around":
                found = T.ifelse(T.sum(x_t) > 0, found, self.mixed(h, w))
            elif self.branch == "beside":
                found = found + T.ifelse(T.sum(h) > 0, x_t, h)
            return self.sorted(T.reshape(found, self.shape) if self.shape else found), updates

        start = T.zeros(self.shape, dtype=self.dtype)
        rows, _ = scanviz.scan(
            step, x, start, [w], name="around"
        )  # its updates stay: each call draws the same
        return [x, w], rows


CASES = st.builds(
    InsideCase,
    dtype=st.sampled_from(["float64", "float64", "float32", "int64"]),
    alone=st.booleans(),
    width=st.sampled_from([3, 3, 11, 71]),
    short=st.booleans(),
    steps=st.integers(0, 5),
    inner_steps=st.integers(0, 4),
    taps=st.integers(1, 2),
    rows=st.booleans(),
    read=st.sampled_from(["last", "last", "last two", "all", "output"]),
    stop=st.sampled_from([None, None, 0.313, 2.101]),
    branch=st.sampled_from(["none", "none", "around", "within", "beside"]),
    draws=st.booleans(),
    sorts=st.booleans(),
    deep=st.booleans(),
)


@contextmanager
def calling_out_for_nothing(wanted: bool) -> Iterator[None]:
    """Let native code call out whatever it costs, where that is wanted."""
    if not wanted or "native" not in NAMES:
        yield
        return

    from scanviz.engine.backends.native.emit import program

    usual, program.A_CALL = program.A_CALL, 0
    try:
        yield
    finally:
        program.A_CALL = usual


@law(
    sample=32,
    case=CASES,
    mode=MODES,
    calls=st.booleans(),
    watched=st.sampled_from([None, None, "steps", "ops"]),
    slopes=st.booleans(),
)
def an_inner_loop_agrees_with_the_reference(
    case: InsideCase, mode: Mode, calls: bool, watched: Any, slopes: bool
) -> None:
    """A step and its gradient agree on every tier with the interpreted unrewritten graph, observed or not."""
    inputs, rows = case.build()
    values, wanted = case.values(), [rows]
    if slopes and case.dtype == "float64":
        wanted += gradients(T.sum(T.sin(rows)), inputs)
    expected = computed(dict(zip(inputs, values, strict=True)), wanted, PLAIN)
    f = scanviz.function(inputs, wanted, mode=mode, on_unused_input="ignore")
    with calling_out_for_nothing(calls):
        found = [f(*values)]
        if watched is not None:
            with observed_by(Recorder(watched)):
                found.append(f(*values))
    for arrays in found:
        check_same(arrays, expected, case.dtype)
