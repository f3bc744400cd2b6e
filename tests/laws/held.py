"""Laws of variables that a user holds: each may be replaced, and differentiated by, wherever the graph reads it.

A program of short steps is run by scanviz and by NumPy, which can be given another value for what one of the steps makes.
"""

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


# results of a step from two scalars and two vectors, none empty, some of them unread
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
def a_held_variable_can_be_replaced_and_differentiated_by(
    steps: list[Step], at: int, seed: int, where: str
) -> None:
    """A variable of a step may be an input, a given, cloned away or constant; its derivative is the slope along it."""
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


# what a step makes of two sizes and a vector of two, and what is built of two of these, beside a vector
NUMBERS: dict[str, Callable[..., Any]] = {
    "sum": lambda xp, a, b, v: a + b,
    "product": lambda xp, a, b, v: a * b,
    "larger": lambda xp, a, b, v: xp.maximum(a, b),
    "next": lambda xp, a, b, v: a + 1,
    "half": lambda xp, a, b, v: a // 2,
    "first": lambda xp, a, b, v: v[0],
    "last": lambda xp, a, b, v: v[-1],
    "listed": lambda xp, a, b, v: (T.as_tensor_variable if xp is T else np.array)([a, b]),
    "turned": lambda xp, a, b, v: v[::-1],
    "grown": lambda xp, a, b, v: v + 1,
}
BUILT: dict[str, Callable[..., Any]] = {
    "tiled": lambda xp, a, b, v, x: xp.tile(x, a),
    "tiled along two axes": lambda xp, a, b, v, x: xp.tile(x, (a, b)),
    "tiled by a vector": lambda xp, a, b, v, x: xp.tile(x, v),
    "split": lambda xp, a, b, v, x: _split(xp, x, [a, b])[1],
    "split by a vector": lambda xp, a, b, v, x: _split(xp, x, v)[0],
    "repeated": lambda xp, a, b, v, x: xp.repeat(x, a),
    "zeros": lambda xp, a, b, v, x: xp.zeros((a, b)),
    "zeros of a vector": lambda xp, a, b, v, x: xp.zeros(v),
    "filled": lambda xp, a, b, v, x: xp.full((b, a), x[0]),
    "counted": lambda xp, a, b, v, x: xp.arange(a, a + b),
    "reshaped": lambda xp, a, b, v, x: xp.reshape(xp.arange(a * b), (b, a)),
    "spread": lambda xp, a, b, v, x: xp.broadcast_to(x, (a, 3)),
}
LARGEST = 12


def _split(xp: Any, x: Any, sizes: Any) -> Any:
    """Return a longer vector cut into parts of two sizes and the rest."""
    long = xp.tile(x, LARGEST)
    cut = [sizes[0], sizes[1], 3 * LARGEST - sizes[0] - sizes[1]]
    return T.split(long, cut) if xp is T else np.split(long, np.cumsum(cut)[:-1])


def _sizes(
    xp: Any, steps: Sequence[Step], leaves: Sequence[Any], held: int = -1, value: Any = None
) -> tuple[list[Any], list[Any]]:
    """Return what each step makes, and all sizes and vectors of sizes; ``value`` stands for what step ``held`` makes."""
    scalars, vectors, made = [leaves[0]], [leaves[1]], []
    for k, (name, first, second) in enumerate(steps):
        a, b = (scalars[-1 - at % len(scalars)] for at in (first, second))
        result = value if k == held else NUMBERS[name](xp, a, b, vectors[-1 - first % len(vectors)])
        (vectors if name in ("listed", "turned", "grown") else scalars).append(result)
        made.append(result)
    return made, [scalars[-1], scalars[len(scalars) // 2], vectors[-1]]


@law(
    sample=8,
    steps=st.lists(
        st.tuples(st.sampled_from([*NUMBERS]), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4
    ),
    at=st.integers(0, 3),
    built=st.sampled_from([*BUILT]),
    numbers=st.lists(st.integers(1, 3), min_size=5, max_size=5),
)
def a_held_size_is_replaced_in_every_array_built_from_it(
    steps: list[Step], at: int, built: str, numbers: list[int]
) -> None:
    """A computed size, or vector of sizes, may be an input, a given or cloned away; arrays take the new sizes."""
    held, x = at % len(steps), np.arange(3.0)
    point = [np.asarray(numbers[0]), np.asarray(numbers[1:3])]
    leaves = [T.lscalar("n"), T.tensor("int64", (2,), "m")]
    (made, sizes), (plain, _) = _sizes(T, steps, leaves), _sizes(np, steps, point)
    other = np.asarray(numbers[3:] if np.ndim(plain[held]) else numbers[3])
    replaced = _sizes(np, steps, point, held, other)[1]
    assume(all(np.max(size) <= LARGEST for size in replaced))
    result, expected = BUILT[built](T, *sizes, T.as_tensor_variable(x)), BUILT[built](np, *replaced, x)
    for inputs, output, values, givens in (
        ([*leaves, made[held]], result, [*point, other], {}),
        (leaves, result, point, {made[held]: other}),
        (leaves, clone([result, made[held]], {made[held]: T.as_tensor_variable(other)})[0], point, {}),
    ):
        found = function(inputs, output, givens=givens, on_unused_input="ignore")(*values)
        np.testing.assert_array_equal(found, expected)
