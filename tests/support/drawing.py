"""Draws by their formulas, element by element, in the order of NumPy's draws; and functions that draw, for several threads."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.function.callable import Function
from scanviz.engine.graph.nodes import Array
from scanviz.engine.ops.formulas.draws import draw_block
from scanviz.engine.ops.formulas.words import FIRST_PARAMETER, NUMBER, block_at
from scanviz.engine.scalar.array_source import on_arrays
from scanviz.engine.scalar.blocks import typed


def formula_draw(name: str, state: Array, count: int, dtype: str, parameters: Sequence[Any]) -> Array:
    """Return ``count`` numbers of a distribution that has a formula, with one parameter of each kind for each number.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> formula_draw("integers", seed_state(3), 4, "int64", [[1] * 4, [7] * 4]).tolist()
    [5, 5, 3, 2]
    """
    draw = draw_block(name, "float32" if dtype == "float32" else "float64")
    assert draw is not None, name
    blocks = -(-count // draw.elements)
    kind = draw.block.dtypes[draw.given]
    given = [
        np.resize(np.asarray(parameter).astype(kind), blocks * draw.elements)[k :: draw.elements]
        for k in range(draw.elements)
        for parameter in parameters
    ]
    numbers = np.arange(blocks, dtype=np.uint64)
    if draw.words is None:
        made_of = [*state, numbers]
    else:
        words = _words(state, blocks * draw.elements, draw.words)
        made_of = [words[k :: draw.elements] for k in range(draw.elements)]
    with np.errstate(all="ignore"):
        found = on_arrays(draw.block)(*made_of, *given)
    whole = np.stack([np.broadcast_to(array, (blocks,)) for array in found], axis=1).reshape(-1)
    return whole[:count].astype(dtype)


def _words(state: Array, count: int, dtype: str) -> Array:
    """Return so many words of a dtype, by the formula of the generator, low halves first."""
    made = on_arrays(typed(block_at(NUMBER, 0), ["uint64"] * FIRST_PARAMETER))
    wide = np.stack(made(*state, np.arange(count, dtype=np.uint64)), axis=1).reshape(-1)
    if dtype == "uint32":
        wide = np.stack([wide, wide >> np.uint64(32)], axis=1).reshape(-1)
    return wide[:count].astype(dtype)


def drawer(size: int, steps: int) -> Function:
    """Return a function that draws so many numbers, and as many in each step of a loop of so many steps.

    Examples
    --------
    >>> [array.shape for array in drawer(2, 3)()]
    [(2,), (3, 2)]
    """
    stream = T.random.RandomStreams(seed=7)
    outputs = stream.uniform(size=size)
    if not steps:
        return scanviz.function([], [outputs])
    rows, updates = scanviz.scan(lambda: stream.uniform(size=size), n_steps=steps)
    return scanviz.function([], [outputs, rows], updates=updates)


def assert_each_drawn_once(drawn: Sequence[Sequence[Any]], alone: Function) -> None:
    """Refuse calls of threads, a sequence of calls each, that together are not what ``alone`` gives in as many calls."""
    found = sorted(_numbers(call) for calls in drawn for call in calls)
    assert found == sorted(_numbers(alone()) for _ in found)


def _numbers(call: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(np.concatenate([np.ravel(array) for array in call]))
