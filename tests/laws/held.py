"""Laws of variables that a user holds: each may be replaced, and differentiated by, wherever the graph reads it.

A program of short steps is run by scanviz and by NumPy, which can be given another value for what one of the steps makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import clone, function, grad, scan
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from tests.laws.law import law

Step = tuple[str, int, int]
STEP = 1e-6


def _set_first(xp: Any, vector: Any, number: Any) -> Any:
    return T.set_subtensor(vector[0], number) if xp is T else np.concatenate([[number], vector[1:]])


# what a step makes of two scalars and two vectors, none of them empty, of which it reads some
SCALARS: dict[str, Callable[..., Any]] = {
    "product": lambda xp, a, b, v, w: a * b,
    "first": lambda xp, a, b, v, w: v[0],
    "last": lambda xp, a, b, v, w: v[-1],
    "sum": lambda xp, a, b, v, w: xp.sum(v * v),
    "mean": lambda xp, a, b, v, w: xp.mean(v),
    "length": lambda xp, a, b, v, w: a * v.shape[0],
}
VECTORS: dict[str, Callable[..., Any]] = {
    "listed": lambda xp, a, b, v, w: (T.as_tensor_variable if xp is T else np.array)([a, b, a]),
    "stacked": lambda xp, a, b, v, w: xp.stack([a, b]),
    "joined": lambda xp, a, b, v, w: xp.concatenate([v, w]),
    "set": lambda xp, a, b, v, w: _set_first(xp, v, a),
    "turned": lambda xp, a, b, v, w: v[::-1],
    "cut": lambda xp, a, b, v, w: v[:2],
    "scaled": lambda xp, a, b, v, w: a * v,
    "squared": lambda xp, a, b, v, w: v**2,
    "reshaped": lambda xp, a, b, v, w: xp.reshape(xp.reshape(v, (-1, 1)), (-1,)),
    "transposed": lambda xp, a, b, v, w: xp.sum(xp.outer(v, w).T, axis=0),
    "filled": lambda xp, a, b, v, w: xp.full(v.shape, a),
    "ones": lambda xp, a, b, v, w: xp.ones_like(v) * b,
}
STEPS = st.lists(
    st.tuples(st.sampled_from([*SCALARS, *VECTORS]), st.integers(0, 9), st.integers(0, 9)),
    min_size=2,
    max_size=7,
)


def _run(
    xp: Any, steps: Sequence[Step], leaves: Sequence[Any], held: int = -1, value: Any = None
) -> list[Any]:
    """Return what each step makes, of T or NumPy; ``value`` stands for what step ``held`` makes."""
    scalars, vectors = [leaves[0]], [leaves[1]]
    made = []
    for k, (name, first, second) in enumerate(steps):
        operands = [numbers[at % len(numbers)] for numbers in (scalars, vectors) for at in (first, second)]
        (of_kind, rule) = (scalars, SCALARS[name]) if name in SCALARS else (vectors, VECTORS[name])
        result = value if k == held else rule(xp, *operands)
        of_kind.append(result)
        made.append(result)
    return made


def _total(xp: Any, made: Sequence[Any]) -> Any:
    """Return a number that every step counts for, each otherwise."""
    return sum(xp.sum(xp.sin(result)) * (k + 1) for k, result in enumerate(made))


def _slope(of: Callable[[Array], Any], at: Array) -> Array:
    """Return the derivative of a number by an array, by central differences."""
    found = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        move = np.zeros(at.shape)
        move[index] = STEP
        found[index] = (of(at + move) - of(at - move)) / (2 * STEP)
    return found


def _differentiated(total: Variable, held: Variable, where: str) -> Variable:
    """Return the derivative by a variable, taken outside of a loop, or in a step that captures the variable or gets it passed."""
    if where == "outside":
        outside: Variable = grad(total, held)
        return outside
    passed = [held, total] if where == "passed" else []
    rows, _ = scan(lambda k, *_: grad(total, held), T.arange(2), non_sequences=passed)
    row: Variable = rows[1]
    return row


@law(
    sample=8,
    steps=STEPS,
    at=st.integers(0, 6),
    seed=st.integers(0, 2**31),
    where=st.sampled_from(["outside", "captured", "passed"]),
)
def a_held_variable_is_replaced_and_differentiated_by(
    steps: list[Step], at: int, seed: int, where: str
) -> None:
    """What a step makes may be an input, a given, cloned away or held constant; the derivative by it is the slope along it."""
    held, rng = at % len(steps), np.random.default_rng(seed)
    point = [np.asarray(rng.uniform(-1, 1)), rng.uniform(-1, 1, 2)]
    leaves = [T.scalar("a"), T.vector("v")]
    made, plain = _run(T, steps, leaves), _run(np, steps, point)
    variable, total = made[held], _total(T, made)
    assume(np.size(plain[held]) <= 8 and all(np.size(result) <= 64 for result in plain))
    other = np.asarray(rng.uniform(-1, 1, np.shape(plain[held])))

    def with_held(value: Array, leaf: int = 0, moved: Array | None = None) -> Any:
        given = [moved if k == leaf and moved is not None else number for k, number in enumerate(point)]
        return _total(np, _run(np, steps, given, held, value))

    def called(inputs: list[Variable], output: Any, values: list[Array], **options: Any) -> Any:
        return function(inputs, output, on_unused_input="ignore", **options)(*values)

    derivative = _differentiated(total, variable, where)
    expected = with_held(other), _slope(with_held, other)
    for found in (
        called([*leaves, variable], [total, derivative], [*point, other]),
        called(leaves, [total, derivative], point, givens={variable: other}),
        called(leaves, clone([total, derivative], {variable: other}), point),
    ):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5)
    by_leaves = grad(total, leaves, consider_constant=[variable], disconnected_inputs="ignore")
    for k, found in enumerate(called(leaves, by_leaves, point)):
        slope = _slope(partial(with_held, plain[held], k), point[k])
        np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-5)
