"""Random loops of every kind, as :class:`~scanviz.testing.LoopCase`, over rows of shapes that broadcast together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.graph.nodes import Array
from scanviz.testing.expressions import RandomExpression, Shape, expressions, fed_back
from scanviz.testing.loop_case import LoopCase, OutputCase, SequenceCase

DTYPES = ("float64", "float32", "int64", "int32")
EVERY_DTYPE = (*DTYPES, "float16", "int8", "uint8", "bool")
# 11 numbers fill a register of any width, and some are left
WHOLE_SHAPES: tuple[Shape, ...] = ((), (3,), (1,), (2, 3), (1, 3), (2, 1), (11,))


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
    symbolic_steps: bool = False,
    constants: bool = False,
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
    symbolic_steps : bool
        Whether the number of steps may be an input, ``steps``.
    constants : bool
        Whether inputs may be constants, whose values are known when building.
    """
    dtype = draw(st.sampled_from([text for text in dtypes if not smooth or text.startswith("float")]))
    whole = draw(st.sampled_from(WHOLE_SHAPES))
    steps = draw(st.integers(0, longest))
    sequences = [
        _sequence(draw, draw(shapes_within(whole)), dtype, steps) for _ in range(draw(st.integers(0, 2)))
    ]
    results = [(_output_taps(draw), draw(shapes_within(whole))) for _ in range(draw(st.integers(1, 3)))]
    fixed = [_array(draw, draw(shapes_within(whole)), dtype) for _ in range(draw(st.integers(0, 1)))]
    captured = _array(draw, draw(shapes_within(whole)), dtype) if draw(st.booleans()) else None
    start = _array(draw, draw(shapes_within(whole)), dtype) if updates and draw(st.booleans()) else None
    shapes = [sequence.values.shape[1:] for sequence in sequences for _ in sequence.taps]
    own = [len(shapes) + sum(len(taps) for taps, _ in results[:k]) for k in range(len(results))]
    shapes += [shape for taps, shape in results for _ in taps]
    shapes += [array.shape for array in (*fixed, captured, start) if array is not None]
    if not shapes:
        fixed, shapes = [_array(draw, whole, dtype)], [whole]
    shared = len(shapes) - 1
    inner = (
        _nested(draw, shapes[0], dtype, whole, smooth) if nesting and draw(st.integers(0, 3)) == 0 else None
    )
    shapes += [shapes[0]] if inner is not None else []
    outputs = [
        _output(draw, taps, place, shapes, dtype, whole, smooth)
        for (taps, _), place in zip(results, own, strict=True)
    ]
    update = None
    if start is not None:
        term = draw(expressions(shapes, dtype, whole, smooth=smooth))
        update = fed_back(term, shapes, dtype, shared, adds=draw(st.booleans()))
    given = steps if not sequences or draw(st.booleans()) else None
    return LoopCase(
        dtype,
        whole,
        sequences,
        outputs,
        fixed,
        captured,
        update,
        start,
        _stop(draw) if stops and dtype != "float16" and draw(st.integers(0, 2)) == 0 else None,
        given,
        draw(st.booleans()),
        inner,
        symbolic_steps and draw(st.booleans()),
        frozenset(draw(st.sets(st.sampled_from(_NAMES)))),
        frozenset(draw(st.sets(st.sampled_from(_NAMES), max_size=2))) if constants else frozenset(),
    )


_NAMES = ("x0", "x1", "h0", "h1", "h2", "w0", "captured")


@st.composite
def shapes_within(draw: st.DrawFn, whole: Shape) -> Shape:
    """Draw a shape that broadcasts to ``whole``: often the same, else with fewer dimensions or sizes of 1."""
    if draw(st.booleans()):
        return whole
    left = whole[draw(st.integers(0, len(whole))) :]
    return tuple(1 if draw(st.booleans()) else size for size in left)


def _array(draw: st.DrawFn, shape: Shape, dtype: str) -> Array:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), dtype)
    if not dtype.startswith("float"):
        return np.asarray(rng.integers(0, 60, shape), dtype)
    return np.asarray(rng.uniform(-1.5, 1.5, shape), dtype)


def _stop(draw: st.DrawFn) -> float:
    """Return a limit away from round numbers, where rounding could stop one tier only."""
    return draw(st.floats(-1, 60)) + 0.001357


def _sequence(draw: st.DrawFn, row: Shape, dtype: str, steps: int) -> SequenceCase:
    taps = tuple(draw(st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True)))
    lost = max(0, *taps) - min(0, *taps)
    return SequenceCase(_array(draw, (steps + lost + draw(st.integers(0, 2)), *row), dtype), taps)


def _output_taps(draw: st.DrawFn) -> tuple[int, ...]:
    kind = draw(st.sampled_from(["nitsot", "sitsot", "mitsot"]))
    if kind == "nitsot":
        return ()
    if kind == "sitsot":
        return (-1,)
    return tuple(draw(st.lists(st.integers(-4, -1), min_size=1, max_size=3, unique=True)))


def _output(
    draw: st.DrawFn,
    taps: tuple[int, ...],
    own: int,
    shapes: Sequence[Shape],
    dtype: str,
    whole: Shape,
    smooth: bool,
) -> OutputCase:
    """Draw an output; a state is replaced or accumulated in each step."""
    adds = bool(taps) and draw(st.booleans())
    value = draw(expressions(shapes, dtype, whole, 1 if adds else 4, smooth))
    if not taps:
        return OutputCase(value, None, taps, value.shape(shapes, dtype))
    row = shapes[own]
    value = fed_back(value, shapes, dtype, own, adds=adds)
    initial, from_zeros = _array(draw, (-min(taps), *row), dtype), adds and not smooth and draw(st.booleans())
    return OutputCase(value, np.zeros_like(initial) if from_zeros else initial, taps, row, from_zeros)


def _nested(draw: st.DrawFn, row: Shape, dtype: str, whole: Shape, smooth: bool) -> RandomExpression:
    value = draw(expressions([row, row], dtype, whole, 2, smooth))
    return fed_back(value, [row, row], dtype, 0, adds=draw(st.booleans()))


__all__ = ["DTYPES", "EVERY_DTYPE", "LoopCase", "OutputCase", "SequenceCase", "random_loops", "shapes_within"]
