"""Laws of sizes: arithmetic on unknown sizes agrees with numbers, and proofs about sizes hold for all numbers.

The oracle is plain Python on ints.  A recipe is computed three times: on numbers, on sizes, and as a graph that is read as a size.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import scan
from scanviz import tensor as T
from scanviz.engine.function import function
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.sizes import (
    as_size,
    size_of,
    substituted,
    surely_at_most,
    surely_equal,
    surely_not_negative,
)
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.program.shapes import partial_shapes
from scanviz.engine.sizes.dims import SIZES, Dim
from scanviz.engine.sizes.polynomial import Unknown
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import built
from tests.laws.law import law
from tests.laws.programs import compiled
from tests.support.graphs import GraphCase, random_graphs

Recipe = Any  # a name, a number, or an operation's name with recipes
Operations = Mapping[str, Callable[..., Any]]
AXES, NUMBERS = ("n", "m", "k"), ("a", "b")  # sizes of arrays, and scalars that may be negative
LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)


def _of(*kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Recipe]:
    return st.tuples(*kinds)


STEP = st.integers(-3, 3).filter(bool)
LEAVES = st.sampled_from([*AXES, *NUMBERS]) | st.integers(-4, 4)
RECIPES = st.recursive(
    LEAVES,
    lambda search_strategy: st.one_of(
        _of(
            st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum"]),
            search_strategy,
            search_strategy,
        ),
        _of(st.just("floor_divide"), search_strategy, STEP),
        _of(
            st.just("slice"), search_strategy, st.none() | search_strategy, st.none() | search_strategy, STEP
        ),
    ),
    max_leaves=7,
)
VALUES = st.fixed_dictionaries(
    {name: st.integers(0, 6) for name in AXES} | {name: st.integers(-6, 6) for name in NUMBERS}
)

ON_NUMBERS: Operations = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "maximum": max,
    "minimum": min,
    "floor_divide": operator.floordiv,
    "slice": lambda size, start, stop, step: len(range(max(size, 0))[start:stop:step]),
}
ON_SIZES: Operations = {
    "slice": lambda size, start, stop, step: SIZES.slice_length(
        SIZES.maximum(size, 0), start, stop, step, (start is not None, stop is not None)
    ),
    **{name: getattr(SIZES, name) for name in ON_NUMBERS if name != "slice"},
}
IN_GRAPHS: Operations = {
    "slice": lambda size, start, stop, step: as_size(
        shape_of(T.arange(T.maximum(size, 0))[start:stop:step])[0]
    ),
    **{name: getattr(T, name) for name in ON_NUMBERS if name != "slice"},
}


def computed(recipe: Recipe, leaves: Mapping[str, Any], operations: Operations) -> Any:
    """Return a recipe's value on its leaves with one kind of arithmetic."""
    if isinstance(recipe, tuple):
        name, *given = recipe
        return operations[name](*(computed(operand, leaves, operations) for operand in given))
    return leaves[recipe] if isinstance(recipe, str) else recipe


class Symbols:
    """Variables for the leaves of recipes: three sizes of arrays, and two scalars."""

    def __init__(self) -> None:
        arrays = {name: T.vector(name) for name in AXES}
        scalars = {name: T.lscalar(name) for name in NUMBERS}
        self.inputs: dict[str, Variable] = {**arrays, **scalars}
        self.graphs: dict[str, Variable] = {
            name: variable.shape[0] for name, variable in arrays.items()
        } | scalars
        self.sizes: dict[str, Dim] = {name: size_of(variable) for name, variable in self.graphs.items()}

    def value(self, size: Dim, values: Mapping[str, int]) -> Dim:
        """Return a size with numbers put in; of what lies too deep in a graph to be read, the number that it computes."""

        def number(unknown: Unknown) -> int:
            if unknown.source.name in values:
                return values[unknown.source.name]
            deep = unknown.source if unknown.axis is None else dimension(unknown.source, unknown.axis)
            return self._evaluated(deep, values)

        return substituted(size, number)

    def run(self, size: Dim, values: Mapping[str, int]) -> int:
        """Return a size as a graph computes it."""
        return self._evaluated(as_size(size), values)

    def _evaluated(self, variable: Variable, values: Mapping[str, int]) -> int:
        givens = {self.inputs[name]: np.zeros(values[name]) for name in AXES}
        return int(evaluate(variable, givens | {self.inputs[name]: values[name] for name in NUMBERS}))


@law(sample=100, recipe=RECIPES, values=VALUES)
def arithmetic_on_sizes_agrees_with_numbers(recipe: Recipe, values: dict[str, int]) -> None:
    """Arithmetic on sizes agrees with arithmetic on numbers, by substitution, in a graph, and read from one."""
    expected = computed(recipe, values, ON_NUMBERS)
    symbols = Symbols()
    size = computed(recipe, symbols.sizes, ON_SIZES)
    graph = computed(recipe, symbols.graphs, IN_GRAPHS)
    for same in (size, size_of(graph)):
        assert symbols.value(same, values) == expected, f"{same} is not {expected}"
        assert symbols.run(SIZES.add(same, 1), values) == expected + 1, f"the graph of {same}"
        assert symbols.run(same, values) == expected, f"the graph of {same}"


@law(sample=80, recipes=st.tuples(RECIPES, RECIPES), rows=st.lists(VALUES, min_size=6, max_size=6))
def proofs_about_sizes_hold_for_numbers(recipes: tuple[Recipe, Recipe], rows: list[dict[str, int]]) -> None:
    """Sizes proved equal, ordered or nonnegative are so for all numbers."""
    symbols, (first, second) = Symbols(), recipes
    a, b = (computed(recipe, symbols.sizes, ON_SIZES) for recipe in recipes)
    for values in rows:
        x, y = (computed(expression, values, ON_NUMBERS) for expression in (first, second))
        assert x == y or not surely_equal(a, b), f"{a} equals {b}"
        assert x <= y or not surely_at_most(a, b), f"{a} is at most {b}"
        assert x >= 0 or not surely_not_negative(a), f"{a} is not negative"


TERMS = st.lists(st.tuples(st.sampled_from([*AXES, *NUMBERS]), st.integers(-3, 3)), max_size=4)


@law(sample=80, first=TERMS, second=TERMS, more=TERMS, constants=st.tuples(*[st.integers(-2, 2)] * 2))
def affine_sizes_are_proved_equal_if_and_only_if_they_are(
    first: list[tuple[str, int]],
    second: list[tuple[str, int]],
    more: list[tuple[str, int]],
    constants: tuple[int, int],
) -> None:
    """Integer combinations of sizes are proved equal if and only if they are equal at all sizes."""
    symbols = Symbols()
    for left, right in ((first, second), ([*first, *more], [*more, *first[::-1]])):
        graphs = [_sum(terms, symbols.graphs, c) for terms, c in zip((left, right), constants, strict=True)]
        points: list[dict[str, int]] = [dict.fromkeys(symbols.graphs, 0)]
        points += [{name: int(name == one) for name in symbols.graphs} for one in symbols.graphs]
        same = all(_sum(left, at, constants[0]) == _sum(right, at, constants[1]) for at in points)
        assert surely_equal(*graphs) == same
        assert surely_equal(*map(size_of, graphs)) == same


def _sum(terms: Sequence[tuple[str, int]], leaves: Mapping[str, Any], constant: int) -> Any:
    total: Any = constant
    for name, factor in terms:
        total = total + leaves[name] * factor
    return T.as_tensor_variable(total) if isinstance(total, Variable) else total


@law(sample=60, case=random_graphs())
def inferred_shapes_agree_with_run_time_shapes(case: GraphCase) -> None:
    """The inferred shape of each result of a random graph is the shape of its value."""
    for row, expected in zip(case.rows, case.expected, strict=True):
        givens = dict(zip(case.inputs, row, strict=True))
        for output, value in zip(case.outputs, expected, strict=True):
            _check_shape(output, givens, value)


@law(sample=12, case=LOOPS, rewrites=st.booleans())
def inferred_shapes_of_loops_agree_with_run_time_shapes(case: LoopCase, rewrites: bool) -> None:
    """Inferred shapes of a loop's rows, in graph and Program, agree with the run."""
    rows, _ = run_plainly(case)
    loop = built(case)
    givens = loop.given | ({} if loop.state is None else {loop.state: case.shared_start})
    for result, value in zip(loop.results, rows, strict=True):
        _check_shape(result, givens, value)
    f, given = compiled(case, rewrites)
    shapes = partial_shapes(f.program, [np.shape(array) for array in given])
    for number, value in zip(f.program.outputs, rows, strict=False):
        inferred = shapes[number]
        assert len(inferred) == value.ndim, f"{inferred} for {value.shape}"
        assert all(a in (None, b) for a, b in zip(inferred, value.shape, strict=True)), f"{inferred}"


STEPS = 2


@law(sample=10, recipe=RECIPES, values=VALUES)
def sizes_in_a_step_are_known_around_the_loop(recipe: Recipe, values: dict[str, int]) -> None:
    """The shape of rows is known around a loop from sizes, outer numbers or drawn numbers of its step."""
    draws = T.random.RandomStreams(0)
    symbols = {"x": T.matrix("x"), "h": T.vector("h"), "w": T.vector("w"), "a": T.lscalar("a")}

    def step(x: Variable, h: Variable, w: Variable, a: Variable) -> list[Variable]:
        drawn = draws.integers(size=(), low=values["b"], high=values["b"] + 1)
        leaves = {"n": x.shape[0], "m": w.shape[0], "k": h.shape[0], "a": a, "b": drawn}
        size = computed(recipe, leaves, IN_GRAPHS)
        return [h, T.zeros(T.minimum(T.maximum(size, 0), 9))]

    (_, rows), updates = scan(step, symbols["x"], [symbols["h"], None], [symbols["w"], symbols["a"]])
    given = [np.zeros((STEPS, values["n"])), np.zeros(values["k"]), np.zeros(values["m"]), values["a"]]
    mode = Mode("reference", "all")
    f = function(list(symbols.values()), rows.shape, updates=updates, mode=mode, on_unused_input="ignore")
    expected = min(max(computed(recipe, values, ON_NUMBERS), 0), 9)
    assert f(*given).tolist() == [STEPS, expected]


def _check_shape(variable: Variable, givens: Mapping[Variable, Any], value: Array) -> None:
    inferred = tuple(int(evaluate(as_size(size), givens)) for size in shape_of(variable))
    assert inferred == np.shape(value), f"{shape_of(variable)} gives {inferred}, and not {np.shape(value)}"
