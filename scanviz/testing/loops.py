"""Whole random loops: kinds, taps, dtypes, lengths, nesting, until, go_backwards, updates; as data and as a scan.

A :class:`LoopCase` describes a loop and holds values for its inputs.  ``case.build()`` makes the scan;
:func:`scanviz.testing.run_plainly` gives what it must return, by a plain Python loop over NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, function, scan, shared, until
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.scan.updates import Updates
from scanviz.testing.expressions import Expression, expressions

DTYPES = ("float64", "float32", "int64", "int32")


@dataclass(frozen=True)
class SequenceCase:
    """A sequence: its values and taps."""

    values: Array
    taps: tuple[int, ...]


@dataclass(frozen=True)
class OutputCase:
    """An output: what the step returns for it, and its initial rows and taps if it is fed back."""

    value: Expression
    initial: Array | None
    taps: tuple[int, ...]


@dataclass(frozen=True)
class LoopCase:
    """A random loop with values for its inputs.

    Attributes
    ----------
    dtype : str
        Of every array.
    row : tuple of int
        Shape of every row: () or (n,).
    sequences, outputs : list
        What it runs over and gives.
    constants : list of array
        Non-sequences.
    captured : array or None
        A value used in the step without being passed.
    update : Expression or None
        New value of a shared variable, which starts at ``shared_start``.
    stop : float or None
        The loop ends after a step whose first output has a sum above this.
    n_steps : int or None
        As given to scan.
    go_backwards : bool
        As given to scan.
    nested : LoopCase or None
        A loop inside the step, over the row of the first sequence, whose last value joins the arguments.
    """

    dtype: str
    row: tuple[int, ...]
    sequences: list[SequenceCase]
    outputs: list[OutputCase]
    constants: list[Array]
    captured: Array | None
    update: Expression | None
    shared_start: Array | None
    stop: float | None
    n_steps: int | None
    go_backwards: bool
    nested: Expression | None
    inputs: list[tuple[Variable, Array]] = field(default_factory=list)

    def arguments(self) -> int:
        """Return how many values an expression of the step can use."""
        taps = sum(len(each.taps) for each in self.sequences) + sum(len(each.taps) for each in self.outputs)
        extras = (self.captured is not None) + (self.update is not None) + (self.nested is not None)
        return taps + len(self.constants) + extras

    def build(
        self, **options: Any
    ) -> tuple[list[Variable], Updates, list[tuple[Variable, Array]], SharedVariable | None]:
        """Return the results and updates of the scan, its inputs with their values, and the shared variable."""
        inputs: list[tuple[Variable, Array]] = []

        def symbol(values: Array, name: str) -> Variable:
            variable = T.tensor(values.dtype, (None,) * values.ndim, name)
            inputs.append((variable, values))
            return variable

        sequences = [
            dict(input=symbol(each.values, f"x{k}"), taps=list(each.taps))
            for k, each in enumerate(self.sequences)
        ]
        infos = [self._info(k, each, symbol) for k, each in enumerate(self.outputs)]
        constants = [symbol(each, f"w{k}") for k, each in enumerate(self.constants)]
        captured = symbol(self.captured, "captured") if self.captured is not None else None
        state = shared(self.shared_start, "state") if self.shared_start is not None else None

        def step(*arguments: Variable) -> Any:
            values = [
                *arguments,
                *([captured] if captured is not None else []),
                *([state] if state is not None else []),
            ]
            if self.nested is not None:
                values.append(self._nested(values))
            results = [each.value.apply(values) for each in self.outputs]
            returned: list[Any] = [results]
            if state is not None and self.update is not None:
                returned.append({state: self.update.apply(values)})
            if self.stop is not None:
                returned.append(until(T.sum(results[0]) > self.stop))
            return tuple(returned) if len(returned) > 1 else results

        results, updates = scan(
            step,
            sequences=sequences,
            outputs_info=infos,
            non_sequences=constants,
            n_steps=self.n_steps,
            go_backwards=self.go_backwards,
            return_list=True,
            **options,
        )
        return results, updates, inputs, state

    def _info(self, k: int, output: OutputCase, symbol: Any) -> Any:
        if output.initial is None:
            return None
        if output.taps == (-1,):
            return symbol(output.initial[-1], f"h{k}")
        return dict(initial=symbol(output.initial, f"h{k}"), taps=list(output.taps))

    def _nested(self, values: list[Variable]) -> Variable:
        """Return the last value of a loop over three copies of the first argument."""
        assert self.nested is not None
        inner = self.nested
        rows, _ = scan(
            lambda before, first: inner.apply([before, first]),
            outputs_info=values[0],
            non_sequences=values[0],
            n_steps=3,
            name="nested",
        )
        last: Variable = rows[-1]
        return last

    def compute(
        self, mode: Mode | str, last_only: bool = False, **options: Any
    ) -> tuple[list[Array], Array | None]:
        """Return the loop's results and the shared variable's new value, computed by a tier.

        ``last_only`` asks for the last row of each result, so that rows before need not be kept.
        """
        results, updates, inputs, state = self.build(**options)
        wanted = [each[-1] for each in results] if last_only else results
        f = function(
            [variable for variable, _ in inputs], wanted, updates=updates, mode=mode, on_unused_input="ignore"
        )
        found = f(*(values for _, values in inputs))
        return found, state.get_value() if state is not None else None


def _array(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> Array:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype.startswith("int"):
        return rng.integers(0, 60, shape).astype(dtype)
    return rng.uniform(-1.5, 1.5, shape).astype(dtype)


@st.composite
def random_loops(
    draw: st.DrawFn,
    *,
    stops: bool = True,
    updates: bool = True,
    nesting: bool = True,
    dtypes: tuple[str, ...] = DTYPES,
    longest: int = 7,
    smooth: bool = False,
) -> LoopCase:
    """Draw a random loop.

    Parameters
    ----------
    stops, updates, nesting : bool
        Whether there may be a stop condition, an updated shared variable, a loop in the step.
    dtypes : tuple of str
        To choose from.
    longest : int
        The most steps.
    smooth : bool
        Whether the step has derivatives of any order everywhere: floating dtypes and smooth operations alone.  (A stop
        condition still makes the number of steps jump.)
    """
    dtype = draw(st.sampled_from([each for each in dtypes if not smooth or each.startswith("float")]))
    row = draw(st.sampled_from([(), (3,), (1,)]))
    steps = draw(st.integers(0, longest))
    sequences = [_sequence(draw, row, dtype, steps) for _ in range(draw(st.integers(0, 2)))]
    taps = [_output_taps(draw) for _ in range(draw(st.integers(1, 3)))]
    constants = [_array(draw, row, dtype) for _ in range(draw(st.integers(0, 1)))]
    captured = _array(draw, row, dtype) if draw(st.booleans()) else None
    has_update = updates and draw(st.booleans())
    count = (
        sum(len(each.taps) for each in sequences)
        + sum(map(len, taps))
        + len(constants)
        + (captured is not None)
        + has_update
    )
    nested = nesting and count > 0 and draw(st.integers(0, 3)) == 0
    if count == 0:
        constants, count = [_array(draw, row, dtype)], 1
    count += nested
    integer = dtype.startswith("int")
    outputs = [
        OutputCase(
            draw(expressions(count, integer, smooth=smooth)),
            _array(draw, (-min(each), *row), dtype) if each else None,
            each,
        )
        for each in taps
    ]
    given = steps if not sequences or draw(st.booleans()) else None
    if sequences and given is None:
        steps = min(_possible(each) for each in sequences)
    return LoopCase(
        dtype,
        row,
        sequences,
        outputs,
        constants,
        captured,
        draw(expressions(count, integer, smooth=smooth)) if has_update else None,
        _array(draw, row, dtype) if has_update else None,
        _stop(draw) if stops and draw(st.integers(0, 2)) == 0 else None,
        given,
        draw(st.booleans()),
        draw(expressions(2, integer, 2, smooth)) if nested else None,
    )


def _stop(draw: st.DrawFn) -> float:
    """Return a limit off the round numbers: sums that are 0 but for rounding would stop one tier and not the other."""
    return draw(st.floats(-1, 60)) + 0.001357


def _sequence(draw: st.DrawFn, row: tuple[int, ...], dtype: str, steps: int) -> SequenceCase:
    taps = tuple(draw(st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True)))
    lost = max(0, *taps) - min(0, *taps)
    return SequenceCase(_array(draw, (steps + lost + draw(st.integers(0, 2)), *row), dtype), taps)


def _possible(sequence: SequenceCase) -> int:
    return len(sequence.values) - (max(0, *sequence.taps) - min(0, *sequence.taps))


def _output_taps(draw: st.DrawFn) -> tuple[int, ...]:
    kind = draw(st.sampled_from(["nitsot", "sitsot", "mitsot"]))
    if kind == "nitsot":
        return ()
    if kind == "sitsot":
        return (-1,)
    return tuple(draw(st.lists(st.integers(-4, -1), min_size=1, max_size=3, unique=True)))
