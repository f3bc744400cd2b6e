"""Random loops whose values differ in shape and dtype, by scan and unrolled; for the tests of gradients of loops.

:func:`scanviz.testing.random_loops` gives every value of a loop one shape and one dtype.  Here rows are scalars, vectors and
matrices, of float64, float32 and int64, one step may draw random numbers and run a loop of its own, and one array may come
in as several inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T

SHAPES = ((), (2,), (3, 2))
LONGEST = 6


class Value(NamedTuple):
    """A sequence, state or output: the shape and dtype of its rows, and its taps."""

    shape: tuple[int, ...]
    dtype: str
    taps: tuple[int, ...]


class Options(NamedTuple):
    """What a loop has beside its values.

    Attributes
    ----------
    steps : int
        How many it may do; sequences may be longer.
    spare : int
        By how much they are.
    """

    steps: int
    spare: int
    go_backwards: bool
    draws: bool
    nested: bool
    stop: int | None
    truncate_gradient: int
    same: bool


class MixedLoop:
    """A loop with values of its inputs.

    Parameters
    ----------
    sequences, states, outputs : list of Value
        What it reads and gives.
    options : Options
        What else.
    seed : int
        Of the step's coefficients and the inputs' values.
    """

    def __init__(self, sequences, states, outputs, options, seed):
        self.sequences, self.states, self.outputs, self.options = sequences, states, outputs, options
        self.rng = np.random.default_rng(seed)
        self.inputs = []
        rows = [
            options.steps + options.spare + max(0, *each.taps) - min(0, *each.taps) for each in sequences
        ]
        self.x = [self._input(f"x{k}", each.dtype, (n, *each.shape)) for k, (each, n) in enumerate(zip(sequences, rows, strict=True))]
        self.start = [
            self._input(f"h{k}", each.dtype, each.shape if each.taps == (-1,) else (-min(each.taps), *each.shape))
            for k, each in enumerate(states)
        ]
        self.w = [self._input(f"w{k}", "float64", shape) for k, shape in enumerate(SHAPES)]
        if options.same:  # one array as a state's start and as a non-sequence
            self.start = [
                next((w for w, shape in zip(self.w, SHAPES, strict=True) if (each.taps, each.dtype, each.shape) == ((-1,), "float64", shape)), given)
                for each, given in zip(states, self.start, strict=True)
            ]
        self.recipes = [(self.rng.integers(0, 10**6, 3), self.rng.normal(size=2)) for _ in [*states, *outputs]]

    def _input(self, name, dtype, shape):
        variable = T.tensor(dtype, (None,) * len(shape), name)
        values = self.rng.integers(-2, 3, shape) if dtype == "int64" else self.rng.normal(size=shape)
        self.inputs.append((variable, np.asarray(values, dtype)))
        return variable

    @property
    def wrt(self):
        return [variable for variable, _ in self.inputs if variable.dtype != "int64"]

    def step(self, reads, t, drawn):
        """Return the new row of each state and output, from everything a step reads."""
        pool = [T.cast(each, "float64") for each in [*reads, *self.w]]
        pool += [drawn] if drawn is not None else []
        if self.options.nested:
            first = _shaped(pool[0], (2,))
            inner, _ = scanviz.scan(lambda row, p: T.sin(p * row + first), self.w[2], first, name="inner")
            pool.append(inner[-1])
        new = []
        for each, (places, (c, d)) in zip([*self.states, *self.outputs], self.recipes, strict=True):
            a, b, other = (_shaped(pool[k % len(pool)], each.shape) for k in places)
            if each.dtype == "int64":
                new.append(reads[len(self.flat_sequences) + self.first_reads[id(each)]] + 1)
            else:
                new.append(T.cast(T.tanh(c * a * b + T.sin(d * other)), each.dtype))
        return new
