"""Random loops whose values differ in shape and dtype, by scan and unrolled; for the tests of gradients of loops.

:func:`scanviz.testing.random_loops` gives every value of a loop one shape and one dtype.  Here rows are scalars, vectors and
matrices, of float64, float32 and int64, a step may draw random numbers and run a loop of its own, and one array may come in
as several inputs.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back

SHAPES = ((), (2,), (3, 2))


class Value(NamedTuple):
    """A sequence, state or output: the shape and dtype of its rows, and its taps."""

    shape: tuple[int, ...]
    dtype: str
    taps: tuple[int, ...]


class Options(NamedTuple):
    """A loop without its values.

    Attributes
    ----------
    steps : int
        The most it does.
    spare : int
        By how many rows its sequences are longer.
    go_backwards, draws, nested : bool
        Whether it reads from the end, draws numbers, runs a loop in its step.
    stop : int or None
        After which step it stops.
    same : bool
        Whether the first sequence comes in twice, and a state starts as a non-sequence where that fits.
    truncate_gradient : int
        As given to scan.
    """

    steps: int
    spare: int = 0
    go_backwards: bool = False
    draws: bool = False
    nested: bool = False
    stop: int | None = None
    same: bool = False
    truncate_gradient: int = -1


class MixedLoop:
    """A loop with values of its inputs.

    Parameters
    ----------
    sequences, states, outputs : list of Value
        Its inputs, states and outputs.
    options : Options
        What else.
    seed : int
        Of the step's coefficients and the inputs' values.
    """

    def __init__(self, sequences, states, outputs, options, seed):
        self.states, self.outputs, self.options = states, outputs, options
        self.rng = np.random.default_rng(seed)
        self.inputs = []
        self.w = [self._input(f"w{k}", "float64", shape) for k, shape in enumerate(SHAPES)]
        self.sequences = [(sequence, self._sequence(k, sequence)) for k, sequence in enumerate(sequences)]
        if options.same:
            self.sequences += self.sequences[:1]
        self.starts = [self._start(k, state) for k, state in enumerate(states)]
        self.recipes = [
            (self.rng.integers(0, 10**6, 3), self.rng.normal(size=2)) for _ in (*states, *outputs)
        ]

    def _input(self, name, dtype, shape):
        variable = T.tensor(dtype, (None,) * len(shape), name)
        values = self.rng.integers(-2, 3, shape) if dtype == "int64" else self.rng.normal(size=shape)
        self.inputs.append((variable, np.asarray(values, dtype)))
        return variable

    def _sequence(self, k, value):
        rows = self.options.steps + self.options.spare + max(0, *value.taps) - min(0, *value.taps)
        return self._input(f"x{k}", value.dtype, (rows, *value.shape))

    def _start(self, k, value):
        if self.options.same and value.taps == (-1,) and value.dtype == "float64":
            return self.w[SHAPES.index(value.shape)]
        rows = () if value.taps == (-1,) else (-min(value.taps),)
        return self._input(f"h{k}", value.dtype, (*rows, *value.shape))

    @property
    def wrt(self):
        """The variables with a gradient."""
        return [variable for variable, _ in self.inputs if variable.dtype != "int64"]

    def step(self, rows, states, drawn):
        """Return the new row of each state and output, from the rows of sequences, those of each state, and a number."""
        whole = [row for row in rows if row.dtype == "int64"]
        pool = [
            T.cast(each, "float64") for each in (*rows, *(row for state in states for row in state), *self.w)
        ]
        pool += [] if drawn is None else [drawn]
        if self.options.nested:
            pool.append(self._nested(_shaped(pool[0], (2,))))
        found = []
        for k, (each, (places, (c, d))) in enumerate(
            zip((*self.states, *self.outputs), self.recipes, strict=True)
        ):
            a, b, other = (_shaped(pool[place % len(pool)], each.shape) for place in places)
            if each.dtype == "int64":  # a state that counts
                found.append(sum((_whole(row, each.shape) for row in whole), states[k][-1] + 1) % 5)
            else:
                found.append(T.cast(T.tanh(c * a * b + T.sin(d * other)), each.dtype))
        return found

    def _nested(self, first):
        inner, _ = scanviz.scan(lambda row, p: T.sin(p * row + first), self.w[2], first, name="inner")
        return inner[-1]

    def scan(self):
        """Return the results of the loop, and the numbers that it drew or None."""
        options = self.options
        stream = T.random.RandomStreams(7) if options.draws else None

        def step(*arguments):
            left = iter(arguments)
            rows = list(islice(left, sum(len(each.taps) for each, _ in self.sequences)))
            states = [list(islice(left, len(state.taps))) for state in self.states]
            drawn = None if stream is None else stream.normal(size=())
            found = self.step(rows, states, drawn)
            found += [] if drawn is None else [drawn]
            count = next(left)
            found.append(count + 1)
            return (found, scanviz.until(T.ge(count, options.stop))) if options.stop is not None else found

        starts = [
            start if state.taps == (-1,) else dict(initial=start, taps=list(state.taps))
            for state, start in zip(self.states, self.starts, strict=True)
        ]
        infos = [*starts, *[None] * (len(self.outputs) + options.draws), T.constant(0)]
        results, _ = scanviz.scan(
            step,
            [dict(input=x, taps=list(each.taps)) for each, x in self.sequences],
            infos,
            n_steps=options.steps,
            go_backwards=options.go_backwards,
            return_list=True,
            truncate_gradient=options.truncate_gradient,
        )
        results.pop()
        return results, results.pop() if options.draws else None

    def unrolled(self, numbers):
        """Return the results of the loop by a Python ``for``; ``numbers`` are those that it draws."""
        options = self.options
        steps = options.steps if options.stop is None else min(options.steps, options.stop + 1)
        kept = [
            [start] if state.taps == (-1,) else [start[k] for k in range(-min(state.taps))]
            for state, start in zip(self.states, self.starts, strict=True)
        ]
        depths = [len(rows) for rows in kept] + [0] * len(self.outputs)
        kept += [[] for _ in self.outputs]
        for t in range(steps):
            rows = []
            for each, x in self.sequences:
                place = options.steps + options.spare - 1 - t if options.go_backwards else t
                rows += [x[place - min(0, *each.taps) + tap] for tap in each.taps]
            states = [
                [mine[depth + t + tap] for tap in state.taps]
                for state, mine, depth in zip(self.states, kept, depths, strict=False)
            ]
            found = self.step(rows, states, numbers[t] if options.draws else None)
            constant = 0 <= options.truncate_gradient < steps - t
            for mine, row in zip(kept, found, strict=True):
                mine.append(scanviz.disconnected_grad(row) if constant else row)
        return [
            T.stack(mine[depth:]) if steps else T.zeros((0, *each.shape), each.dtype)
            for each, mine, depth in zip((*self.states, *self.outputs), kept, depths, strict=True)
        ]


def _shaped(value, shape):
    """Return a value as one of a shape: its sum over the axes that are too many, repeated along those that are missing."""
    for _ in range(value.ndim - len(shape)):
        value = T.sum(value, axis=0) * 0.5
    return value + T.zeros(shape)


def _whole(value, shape):
    return T.cast(_shaped(T.cast(value, "float64") * 2, shape), "int64")


def _values(taps):
    shape = st.sampled_from(SHAPES)
    floats = st.builds(Value, shape, st.sampled_from(["float64", "float64", "float32"]), taps)
    return floats | st.builds(Value, shape, st.just("int64"), taps)


def _taps(low, high):
    return st.lists(st.integers(low, high), min_size=1, max_size=2, unique=True).map(tuple)


OPTIONS = st.builds(
    Options,
    st.integers(0, 4),
    st.integers(0, 2),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(0, 4),
    st.booleans(),
    st.just(-1) | st.integers(1, 4),
)
MIXED_LOOPS = st.builds(
    MixedLoop,
    st.lists(_values(_taps(-2, 2)), max_size=3),
    st.lists(_values(st.just((-1,)) | _taps(-3, -1)), min_size=1, max_size=3),
    st.lists(st.builds(Value, st.sampled_from(SHAPES), st.just("float64"), st.just(())), max_size=2),
    OPTIONS,
    st.integers(0, 10**6),
)


def gradients(cost, wrt):
    """Return the gradient with respect to each, zeros where there is none."""
    found = pull_back({cost: T.constant(np.ones((), cost.dtype))}, wrt)
    return [T.zeros_like(x) if g is None else g for g, x in zip(found, wrt, strict=True)]


MODES = ("numpy", "reference")
