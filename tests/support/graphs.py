"""Small random graphs over every dtype and every declared operation, with special values for their inputs.

A :class:`GraphCase` holds a graph and several rows of values for its inputs, each with the values that the operations' NumPy
meanings give, one after the other: the oracle.  The operations of one graph come from a small palette, so that they meet one
another, and operands are often the result before, a number such as 0, 1 and -1, or an array filled with one.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, tensor_type
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import linalg
from scanviz.engine.ops.index import LAST_ROW
from scanviz.engine.ops.shape import alloc, dimension
from scanviz.engine.ops.support import constant
from scanviz.engine.rewrites.families import all_rules
from tests.support.declared import ROWS, UnfitError
from tests.support.special_values import moderate_numbers, special_array, special_numbers

SIZES = (1, 2, 3)  # of axes that are not 1; one number a graph, so that shapes broadcast


@dataclass(frozen=True, eq=False)
class GraphCase:
    """A random graph with rows of values.

    Attributes
    ----------
    inputs : list of Variable
        Its inputs.
    outputs : list of Variable
        Its outputs, each made by an operation.
    rows : list of list of array
        For each row a value for each input.
    expected : list of list of array
        For each row the value of each output, computed operation by operation as NumPy does.
    failing : list of Variable
        Results without a value, or with one that machines do not agree on: they stand beside the graph.
    """

    inputs: list[Variable]
    outputs: list[Variable]
    rows: list[list[Array]]
    expected: list[list[Array]]
    failing: list[Variable] = field(default_factory=list)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{variable.name}: {variable.type}" for variable in self.inputs)
        return f"{'; '.join(map(written, self.outputs))} of {kinds}, at {self.rows!r}"

    def declarations(self) -> set[Declaration]:
        """Return the operations of the graph."""
        return {node.op.declaration for node in toposort(self.outputs)}


def written(variable: Variable, depth: int = 6) -> str:
    """Return a graph as one line: names of inputs, values of constants, operations with parameters, so many of them deep.

    Examples
    --------
    >>> x = T.vector("x")
    >>> written(T.exp(x) * 2)
    'multiply(exp(x), 2.0)'
    """
    if isinstance(variable, Constant):
        number = str(variable.value.tolist())
        return number if variable.weak is not None else f"{tensor_type(variable).dtype} {number}"
    node = variable.owner
    if node is None:
        return str(variable.name)
    inputs = ", ".join(written(operand, depth - 1) for operand in node.inputs) if depth else "…"
    return f"{node.op}({inputs})"


class GraphPool:
    """Operands from a graph that grows: inputs, results, numbers.  It knows the value of each in each row."""

    def __init__(self, rng: Random, rows: int, moderate: bool) -> None:
        self.rng, self.moderate = rng, moderate
        self.inputs: list[Variable] = []
        self.given: list[list[Array]] = [[] for _ in range(rows)]
        self.known: list[Variable] = []
        self.failing: list[Variable] = []
        self.values: list[dict[Variable, Array]] = [{} for _ in range(rows)]

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of some options."""
        return self.rng.choice(options)

    def add_input(self, dtype: str, shape: tuple[int, ...]) -> Variable:
        """Add an input, whose sizes the graph knows or not."""
        known = tuple(size if self.choose((False, True)) else None for size in shape)
        variable = T.tensor(dtype, known, f"x{len(self.inputs)}")
        self.inputs.append(variable)
        for values, given in zip(self.values, self.given, strict=True):
            values[variable] = special_array(self.rng, dtype, shape, self.moderate)
            given.append(values[variable])
        self.known.append(variable)
        return variable

    def add(self, made: Variable) -> bool:
        """Add what an operation made, if it has a value in every row that every machine agrees on."""
        nodes = toposort([made], self.values[0].keys())
        fresh = [valued(nodes, values) for values in self.values]
        for values, found in zip(self.values, fresh, strict=True):
            if found is None:
                self.failing.append(made)
                return False
            values.update(found)
        self.known.append(made)
        return True

    def array(self, ranks: Sequence[int] = (0, 1, 2), dtypes: Sequence[str] = DTYPES) -> Variable:
        """Return one of the inputs and results; the last is taken most often."""
        fitting = [
            variable
            for variable in reversed(self.known)
            if tensor_type(variable).ndim in ranks and tensor_type(variable).dtype in dtypes
        ]
        if not fitting:
            raise UnfitError
        return fitting[0] if self.choose((False, True)) else self.choose(fitting)

    def operand(self) -> Any:
        """Return an array, a number of one of their dtypes, a weak Python number, or an array filled with a number."""
        how = self.choose(("array", "array", "array", "number", "weak", "filled"))
        if how == "weak":
            return self.choose((0, 1, -1, 2, 0, 1, -1, 0.0, 1.0, -1.0, 2.0, -0.0))
        if how == "array":
            return self.array()
        among = moderate_numbers if self.moderate else special_numbers
        numbers = among(tensor_type(self.array()).dtype)
        number = constant(
            self.choose(self.choose((numbers[:3], numbers[:3], numbers)))
        )  # 0, 1 and -1 above all
        if how == "number":
            return number
        like = self.array()
        sizes = [dimension(like, axis) for axis in range(tensor_type(like).ndim)]
        return alloc(number, sizes) if sizes else number

    def matrix(self) -> Variable:
        """Special values make no matrices that can be inverted."""
        raise UnfitError


def valued(nodes: Sequence[Apply], known: Mapping[Variable, Array]) -> dict[Variable, Array] | None:
    """Return the values of what nodes make, None where one has none or machines do not agree on it."""
    found: dict[Variable, Array] = {}
    with np.errstate(all="ignore"):
        for node in nodes:
            given = [
                variable.value
                if isinstance(variable, Constant)
                else found[variable]
                if variable in found
                else known[variable]
                for variable in node.inputs
            ]
            try:
                results = node.op.perform(given)
            except (ScanvizError, ValueError, ZeroDivisionError):
                return None  # no value there: integers to negative powers, shapes that do not fit, rows that do not exist
            if not _agreed(node, given):
                return None
            found.update(zip(node.outputs, map(np.asarray, results), strict=True))
    return found


# A library of matrix products may leave out what is multiplied by 0, infinities and NaN too, depending on shapes; and a sum of
# terms that are all -0.0 is either zero, as it begins with 0.0 or with the first term.
PRODUCTS = frozenset((linalg.DOT, linalg.MATMUL, linalg.BATCHED_DOT, linalg.TENSORDOT))


def _agreed(node: Apply, given: Sequence[Array]) -> bool:
    """Return whether a value depends neither on the machine nor on where NumPy finds it in memory.

    Where NumPy gives either zero, all have one sign; ``0.5`` is no exponent of 0 and of -inf, and a product of matrices has neither
    what is not finite nor terms of -0.0.  What comes after a loop gets rows as loops make them.
    """
    declaration = node.op.declaration
    if declaration in PRODUCTS:
        return all(bool(np.all(np.isfinite(array))) for array in given) and not _negative_zeros(given)
    if declaration is LAST_ROW:
        return bool(given[0].shape[1:] == given[1].shape)  # which the loop before it has seen to
    if declaration is e.power:
        base, exponent = given  # with one exponent for all NumPy takes a root, which differs for these
        return not bool(np.any(((base == 0) | (base == -np.inf)) & (exponent == 0.5)))
    return not node.op.facts.either_zero or not _both_zeros(given)


def _both_zeros(values: Sequence[Array]) -> bool:
    """Return whether there are zeros of both signs; those of integers become positive ones."""
    zeros = [array[array == 0].astype(np.float64) for array in map(np.asarray, values)]
    return len({bool(sign) for zero in zeros for sign in np.signbit(zero)}) > 1


def _negative_zeros(factors: Sequence[Array]) -> bool:
    """Return whether a product of elements of some arrays may be -0.0."""
    floats = [np.asarray(factor, np.float64) for factor in factors]
    return any(np.any(array == 0) for array in floats) and any(np.any(np.signbit(array)) for array in floats)


@functools.cache
def rewritten_operations() -> list[Declaration]:
    """Return the operations that rules about values are meant for: they are drawn more often than others."""
    meant = {declaration for rule in all_rules() for declaration in rule.on}
    return [row for row in ROWS if row in meant]


def grown(
    seed: int,
    most: int,
    *,
    among: Sequence[Declaration] = (),
    rows: int = 1,
    moderate: bool = False,
) -> GraphCase:
    """Return the random graph of a seed; a smaller ``most`` gives a beginning of the same graph.

    Parameters
    ----------
    seed : int
        Equal seeds give equal graphs.
    most : int
        How many operations are tried.
    among : sequence of Declaration, optional
        The operations to choose from; by default all, those that rules are meant for most often.
    rows : int
        How many rows of values it has.
    moderate : bool
        Whether values are such that a few may be added and multiplied in any order.
    """
    rng = Random(seed)
    pool = GraphPool(rng, rows, moderate)
    size = rng.choice(SIZES)
    dtypes = [rng.choice(DTYPES) for _ in range(rng.choice((1, 1, 2, 3)))]
    for _ in range(rng.choice((1, 2, 3))):
        shape = tuple(rng.choice((size, size, 1)) for _ in range(rng.choice((0, 1, 1, 2))))
        pool.add_input(rng.choice(dtypes), shape)
    possible = list(among or ROWS)
    often = possible if among else rewritten_operations()
    palette = [rng.choice(rng.choice((often, often, possible))) for _ in range(rng.choice((3, 6, 9)))]
    for _ in range(most):
        try:
            made = ROWS[rng.choice(palette)](pool)
        except (ScanvizError, UnfitError, OverflowError):
            continue
        if made.owner is not None:
            pool.add(made)
    made_here = [variable for variable in pool.known if variable.owner is not None]
    read = {variable for one in made_here for variable in (one.owner.inputs if one.owner else ())}
    outputs = [variable for variable in made_here if variable not in read] or pool.inputs[:1]
    expected = [[values[output] for output in outputs] for values in pool.values]
    return GraphCase(pool.inputs, outputs, pool.given, expected, pool.failing)


def random_graphs(most: int = 30, **options: Any) -> st.SearchStrategy[GraphCase]:
    """Return the strategy of random graphs of at most so many operations; options are those of :func:`grown`.

    A graph comes from one number, so that all parts of it are equally likely whatever graphs were drawn before.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(random_graphs(), lambda case: len(case.outputs) == 2).expected[0][0].ndim <= 2
    True
    """
    counts = (
        st.integers(1, most) | st.just(most) | st.just(most)
    )  # large ones find most, small ones explain most
    return st.builds(lambda seed, count: grown(seed, count, **options), st.integers(0, 2**32 - 1), counts)


def values_of(outputs: Sequence[Variable], inputs: Sequence[Variable], row: Sequence[Array]) -> list[Array]:
    """Return the values of a graph by each operation's NumPy meaning."""
    found = evaluate(list(outputs), dict(zip(inputs, row, strict=True)))
    return [np.asarray(value) for value in found]
