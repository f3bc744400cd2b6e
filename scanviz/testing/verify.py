"""Check derivatives: reverse and forward mode against finite differences and each other.

For ``y = f(x)`` with Jacobian J, a random direction v of x and a random direction u of y, three numbers must agree:

- ``u · (f(x + ε v) - f(x - ε v)) / 2ε``, the central difference;
- ``u · (J v)``, by forward mode;
- ``(Jᵀ u) · v``, by reverse mode: the dot-product test of an adjoint.

Each element of ``Jᵀ u`` is also compared with its own central difference, so that an error is reported with its position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz import function
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import Undefined
from scanviz.engine.graph.nodes import Array, Variable, tensor_type
from scanviz.engine.graph.types import FLOATS

# dtype → (step of the differences, relative tolerance) that its precision allows
PRECISION = {"float64": (1e-6, 1e-5), "float32": (1e-2, 2e-2), "float16": (1e-1, 2e-1)}


class GradientMismatchError(AssertionError):
    """A wrong derivative: its input, place, and both values."""


class _Case(NamedTuple):
    """A function at a point: symbolic inputs and outputs, and the values there."""

    inputs: list[Variable]
    outputs: list[Variable]
    points: list[Array]
    moving: list[int]  # positions of inputs that can move
    mode: str


def verify_grad(
    build: Callable[..., Any],
    points: Sequence[Any],
    *,
    rng: np.random.Generator | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    known_shapes: bool = False,
    forward: bool = True,
    mode: str = "reference",
) -> None:
    """Check the derivatives of a function at a point.

    Parameters
    ----------
    build : callable
        ``build(*variables)`` returns a floating variable or a list of them.
    points : sequence of array_like
        The point: one value per variable.  Integers and booleans are passed as they are, and not moved.
    rng : numpy.random.Generator, optional
        Chooses the directions; by default always the same.
    step, tolerance : float, optional
        Of the differences, and how much they may differ, relative to the larger of 1 and the value; by default what the
        lowest precision among the points allows.
    known_shapes : bool
        Whether the variables know their shapes when the graph is built.
    forward : bool
        Whether forward mode is checked too.
    mode : str
        The tier that computes.

    Raises
    ------
    GradientMismatchError
        Naming the input, the element and both values.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> verify_grad(lambda x, y: T.tanh(x * y), [[0.1, 0.2], 0.3])
    >>> verify_grad(lambda x: x * scanviz.zero_grad(x), [2.0])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    scanviz.testing.verify.GradientMismatchError: input 0: reverse mode gives 2.0, the difference is 4.0
    """
    rng = np.random.default_rng(0) if rng is None else rng
    case = _case(build, points, known_shapes, mode)
    lowest = max((PRECISION[str(case.points[k].dtype)] for k in case.moving), default=PRECISION["float64"])
    step, tolerance = step or lowest[0], tolerance or lowest[1]
    compute = function(case.inputs, case.outputs, mode=mode, on_unused_input="ignore")
    values = compute(*case.points)
    up = [rng.uniform(-1, 1, np.shape(value)) for value in values]
    along = {k: np.asarray(rng.uniform(-1, 1, case.points[k].shape)) for k in case.moving}

    def projected(moved: Sequence[Array]) -> float:
        return float(sum(np.sum(u * y) for u, y in zip(up, compute(*moved), strict=True)))

    gradients = _reverse(case, up)
    for k in case.moving:
        _check_elements(case, k, gradients[k], projected, step, tolerance)
    if forward and case.moving:
        tangents = _forward(case, along, values)
        pushed = float(sum(np.sum(u * t) for u, t in zip(up, tangents, strict=True)))
        pulled = float(sum(np.sum(gradients[k] * along[k]) for k in case.moving))
        _compare(pushed, pulled, tolerance, "forward mode", "reverse mode")


def _case(build: Callable[..., Any], points: Sequence[Any], known_shapes: bool, mode: str) -> _Case:
    values = [np.asarray(point) for point in points]
    inputs = [
        T.tensor(str(value.dtype), value.shape if known_shapes else (None,) * value.ndim, f"x{k}")
        for k, value in enumerate(values)
    ]
    made = build(*inputs)
    outputs = list(made) if isinstance(made, list | tuple) else [made]
    moving = [k for k, variable in enumerate(inputs) if tensor_type(variable).dtype in FLOATS]
    return _Case(inputs, outputs, values, moving, mode)


def _values(case: _Case, wanted: Sequence[Variable], points: Sequence[Array]) -> list[Array]:
    f = function(case.inputs, list(wanted), mode=case.mode, on_unused_input="ignore")
    found: list[Array] = f(*points)
    return found


def _reverse(case: _Case, up: Sequence[Array]) -> dict[int, Array]:
    """Return the cotangents of the inputs that can move."""
    seeds = {
        output: T.constant(u.astype(tensor_type(output).dtype))
        for output, u in zip(case.outputs, up, strict=True)
    }
    found = pull_back(seeds, [case.inputs[k] for k in case.moving])
    zeros = [np.zeros_like(case.points[k]) for k in case.moving]
    computed = iter(
        _values(case, [variable for variable in found if isinstance(variable, Variable)], case.points)
    )
    result: dict[int, Array] = {}
    for k, derivative, zero in zip(case.moving, found, zeros, strict=True):
        if isinstance(derivative, Undefined):
            raise GradientMismatchError(f"input {k} has no derivative: {derivative.why}")
        result[k] = zero if derivative is None else next(computed)
        if result[k].shape != zero.shape or result[k].dtype != zero.dtype:
            raise GradientMismatchError(
                f"input {k}: the gradient is {result[k].dtype}{result[k].shape}, the input {zero.dtype}{zero.shape}"
            )
    return result


def _forward(case: _Case, along: dict[int, Array], values: Sequence[Array]) -> list[Array]:
    """Return the tangents of the outputs for tangents of the inputs."""
    seeds = {case.inputs[k]: T.constant(v.astype(case.points[k].dtype)) for k, v in along.items()}
    found = push_forward(seeds, case.outputs)
    computed = iter(
        _values(case, [variable for variable in found if isinstance(variable, Variable)], case.points)
    )
    result = []
    for k, (derivative, value) in enumerate(zip(found, values, strict=True)):
        if isinstance(derivative, Undefined):
            raise GradientMismatchError(f"output {k} has no tangent: {derivative.why}")
        result.append(np.zeros_like(value) if derivative is None else next(computed))
        if result[-1].shape != value.shape:
            raise GradientMismatchError(
                f"output {k}: the tangent has shape {result[-1].shape}, the output {value.shape}"
            )
    return result


def _check_elements(
    case: _Case,
    position: int,
    gradient: Array,
    projected: Callable[[Sequence[Array]], float],
    step: float,
    tolerance: float,
) -> None:
    for place in np.ndindex(gradient.shape):
        sides = []
        for sign in (1, -1):
            moved = [point.copy() for point in case.points]
            moved[position][place] += sign * step
            sides.append((projected(moved), float(moved[position][place])))
        (above, high), (below, low) = sides
        what = f"input {position}" + (f", element {place}" if place else "")
        _compare(
            float(gradient[place]),
            (above - below) / (high - low),
            tolerance,
            f"{what}: reverse mode",
            "the difference",
        )


def _compare(found: float, expected: float, tolerance: float, what: str, other: str) -> None:
    if not abs(found - expected) <= tolerance * max(1.0, abs(expected)):
        raise GradientMismatchError(f"{what} gives {found}, {other} is {expected}")


__all__ = ["GradientMismatchError", "verify_grad"]
