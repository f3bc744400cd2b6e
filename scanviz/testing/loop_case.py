"""A random loop as data, and as a scan: kinds, taps, shapes, dtype, lengths, nesting, until, go_backwards, updates.

A :class:`LoopCase` describes a loop and holds values for its inputs.  ``case.build()`` makes the scan;
:func:`scanviz.testing.run_plainly` gives what it must return, by a plain Python loop over NumPy arrays.  A :class:`Reading` is what
a graph reads of the results, for rewrites look at that: a last row alone, a sum over the steps, rows turned round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field

from scanviz import Mode, function, scan, scan_checkpoints, shared, until
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.scan.updates import Updates
from scanviz.testing.expressions import RandomExpression, Shape


class Reading(NamedTuple):
    """A way of reading rows.

    Attributes
    ----------
    name : str
        In words.
    symbolic, plain : callable
        Functions from the variable, and from the array, that holds the rows to the part that is read.
    rows : int
        Least number of rows; with fewer, all rows are read.
    runs : bool
        Whether a step must be taken for it, if there is one.
    """

    name: str
    symbolic: Callable[[Any], Any]
    plain: Callable[[Any], Any]
    rows: int = 0
    runs: bool = True

    def __repr__(self) -> str:
        return self.name

    def of(self, rows: Any, count: int) -> Any:
        """Read rows of a variable or an array that has ``count`` of them at run time."""
        if count < self.rows:
            return rows
        return self.symbolic(rows) if isinstance(rows, Variable) else np.asarray(self.plain(rows))


ALL_ROWS = Reading("all rows", lambda rows: rows, lambda rows: rows)
LAST_ROW = Reading("the last row", lambda rows: rows[-1], lambda rows: rows[-1], 1)
READINGS = (
    ALL_ROWS,
    LAST_ROW,
    Reading("the first row", lambda rows: rows[0], lambda rows: rows[0], 1),
    Reading("the second row", lambda rows: rows[1], lambda rows: rows[1], 2),
    Reading("the row before the last", lambda rows: rows[-2], lambda rows: rows[-2], 2),
    Reading("all rows but the last", lambda rows: rows[:-1], lambda rows: rows[:-1], runs=False),
    Reading("the last two rows", lambda rows: rows[-2:], lambda rows: rows[-2:]),
    Reading("all rows but the first", lambda rows: rows[1:], lambda rows: rows[1:]),
    Reading("rows turned round", lambda rows: rows[::-1], lambda rows: rows[::-1]),
    Reading("the sum of all", T.sum, np.sum),
    Reading("the sum over the steps", lambda rows: T.sum(rows, axis=0), lambda rows: rows.sum(axis=0)),
    Reading("the sum of each row", lambda rows: T.sum(rows, axis=-1), lambda rows: rows.sum(axis=-1)),
    Reading("the sum of the last row", lambda rows: T.sum(rows[-1]), lambda rows: rows[-1].sum(), 1),
    Reading("the shape", lambda rows: rows.shape, lambda rows: np.array(rows.shape, np.int64), runs=False),
)


class SequenceCase(Struct, frozen=True):
    """A sequence: its values and taps."""

    values: Array
    taps: tuple[int, ...]


class OutputCase(Struct, frozen=True):
    """An output: its expression in the step, its shape, and its initial rows and taps if it is fed back.

    With ``from_zeros`` the graph makes the initial rows, zeros in the shape of an input: most sums begin so.
    """

    value: RandomExpression
    initial: Array | None
    taps: tuple[int, ...]
    shape: Shape
    from_zeros: bool = False


class LoopCase(Struct, frozen=True):
    """A random loop with values for its inputs.

    Attributes
    ----------
    dtype : str
        Of every array.
    row : tuple of int
        The shape that all rows have together when they broadcast; each may have fewer dimensions, or size 1 along some.
    sequences, outputs : list
        Its sequences and its outputs.
    constants : list of array
        Non-sequences.
    captured : array or None
        A value used in the step without being passed.
    update : RandomExpression or None
        New value of a shared variable, which starts at ``shared_start``.
    stop : float or None
        The loop ends after a step whose first output has a sum above this.
    n_steps : int or None
        As given to scan.
    symbolic_steps : bool
        Whether the number of steps is an input, and not known when building.
    static, constant : frozenset of str
        The names of inputs whose sizes are known when building, and of those whose values are, which then are no inputs.
    go_backwards : bool
        As given to scan.
    nested : RandomExpression or None
        The next state of a loop inside the step, from its state and the first argument; its last value joins the arguments.
    """

    dtype: str
    row: tuple[int, ...]
    sequences: list[SequenceCase]
    outputs: list[OutputCase]
    constants: list[Array]
    captured: Array | None
    update: RandomExpression | None
    shared_start: Array | None
    stop: float | None
    n_steps: int | None
    go_backwards: bool
    nested: RandomExpression | None
    symbolic_steps: bool = False
    static: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    inputs: list[tuple[Variable, Array]] = field(default_factory=list)

    def shapes(self) -> list[Shape]:
        """Return the shapes of the arguments of the step's expressions."""
        found = [sequence.values.shape[1:] for sequence in self.sequences for _ in sequence.taps]
        found += [output.shape for output in self.outputs for _ in output.taps]
        found += [
            constant.shape
            for constant in (*self.constants, self.captured, self.shared_start)
            if constant is not None
        ]
        return [*found, found[0]] if self.nested is not None else found

    def reads_nested(self) -> bool:
        """Return whether an output depends on the nested loop, whose value is the last argument."""
        count = len(self.shapes())
        read = [output.value for output in self.outputs] + ([self.update] if self.update is not None else [])
        return any(count - 1 in random_expression.needed(count) for random_expression in read)

    def build(
        self, every: int | None = None, **options: Any
    ) -> tuple[list[Variable], Updates, list[tuple[Variable, Array]], SharedVariable | None]:
        """Return the results and updates of the scan, its inputs with their values, and the shared variable.

        With ``every`` it is one of :func:`scanviz.scan_checkpoints`, which keeps every so many steps.
        """
        inputs: list[tuple[Variable, Array]] = []

        def symbol(values: Array, name: str) -> Variable:
            if name in self.constant:
                return T.constant(values, name=name)
            known = values.shape if name in self.static else (None,) * values.ndim
            variable = T.tensor(values.dtype, known, name)
            inputs.append((variable, values))
            return variable

        sequences = [
            dict(input=symbol(sequence.values, f"x{k}"), taps=list(sequence.taps))
            for k, sequence in enumerate(self.sequences)
        ]
        infos = [self._info(k, output, symbol) for k, output in enumerate(self.outputs)]
        constants = [symbol(constant, f"w{k}") for k, constant in enumerate(self.constants)]
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
            results = [output.value.apply(values) for output in self.outputs]
            returned: list[Any] = [results]
            if state is not None and self.update is not None:
                returned.append({state: self.update.apply(values)})
            if self.stop is not None:
                returned.append(until(T.sum(results[0]) > self.stop))
            return tuple(returned) if len(returned) > 1 else results

        given = dict(sequences=sequences, outputs_info=infos, non_sequences=constants, **options)
        given["n_steps"] = self._steps(symbol)
        if every is not None:
            kept, updates = scan_checkpoints(step, save_every_N=every, **given)
            return kept if isinstance(kept, list) else [kept], updates, inputs, state
        results, updates = scan(step, go_backwards=self.go_backwards, return_list=True, **given)
        return results, updates, inputs, state

    def _steps(self, symbol: Any) -> Any:
        if self.n_steps is None or not self.symbolic_steps:
            return self.n_steps
        return symbol(np.array(self.n_steps), "steps")

    def _info(self, k: int, output: OutputCase, symbol: Any) -> Any:
        if output.initial is None:
            return None
        single = output.taps == (-1,)
        initial = symbol(output.initial[-1] if single else output.initial, f"h{k}")
        if output.from_zeros:
            initial = T.zeros_like(initial)
        return initial if single else dict(initial=initial, taps=list(output.taps))

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
        self, mode: Mode | str, reading: Reading = ALL_ROWS, count: int = 1, **options: Any
    ) -> tuple[list[Array], Array | None]:
        """Return the loop's results and the shared variable's new value, computed by a tier.

        ``reading`` makes the wanted part of each result, which has ``count`` rows.
        """
        results, updates, inputs, state = self.build(**options)
        wanted = [reading.of(result, count) for result in results]
        f = function(
            [variable for variable, _ in inputs], wanted, updates=updates, mode=mode, on_unused_input="ignore"
        )
        found = f(*(values for _, values in inputs))
        return found, state.get_value() if state is not None else None
