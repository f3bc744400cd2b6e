"""Laws of states that start from Python numbers: they are in the loop what Python numbers are in a loop of NumPy's."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import function, scan
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.scan.arguments import Number
from tests.laws.law import law

Formula = tuple[str, int, int, int]  # (first ∘ second) ∘ third, of values read by a step, and numbers
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "first": lambda a, b: a,
}
DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "uint64", "float16", "float32", "float64")
ROWS = st.sampled_from([(0, 1, 2), (0.0, 0.5, 1.0)]).flatmap(
    lambda numbers: st.lists(st.sampled_from(numbers), min_size=1, max_size=2)
)
STARTS = st.lists(ROWS, min_size=1, max_size=3)
FORMULAS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATORS)), st.integers(0, 11), st.integers(0, 11), st.integers(0, 11)),
    min_size=3,
    max_size=3,
)


def _value(formula: Formula, read: Sequence[Any]) -> Any:
    name, *places = formula
    operands = [*read, 1, 2, 0.5]
    first, second, third = (operands[place % len(operands)] for place in places)
    return OPERATORS[name](OPERATORS[name](first, second), third)


def _plainly(starts: Sequence[Sequence[Number]], formulas: Sequence[Formula], rows: Array) -> list[list[Any]]:
    """Return all rows of each state, those it starts from in front, as NumPy and Python compute them."""
    states: list[list[Any]] = [list(start) for start in starts]
    for row in rows:
        read = [
            row,
            *(value for state, start in zip(states, starts, strict=True) for value in state[-len(start) :]),
        ]
        for state, value in zip(states, [_value(formula, read) for formula in formulas], strict=False):
            state.append(value)
    return states


@law(
    sample=40,
    starts=STARTS,
    formulas=FORMULAS,
    dtype=st.sampled_from(DTYPES),
    count=st.integers(2, 4),
    mode=st.sampled_from(["reference", "numpy"]),
)
def a_state_from_a_python_number_agrees_with_numpy(
    starts: list[list[Number]], formulas: list[Formula], dtype: str, count: int, mode: str
) -> None:
    """A loop with states from Python numbers has the dtypes and values of a loop in NumPy and Python."""
    rows = (np.arange(count) % 3).astype(dtype)
    try:
        with np.errstate(all="raise"):
            states = _plainly(starts, formulas, rows)
        with np.errstate(all="ignore"):  # what comes late may decide a dtype
            zeros = [[type(number)() for number in start] for start in starts]
            longer = _plainly(zeros, formulas, np.zeros(8, dtype))
    except (
        OverflowError,
        FloatingPointError,
        TypeError,
    ):  # NumPy has no such number, or no difference of truth values
        assume(False)
    kinds = [{np.asarray(value).dtype.kind == "f" for value in state} for state in longer]
    sequence = T.tensor(dtype, (None,), "x")
    try:
        results = scan(
            lambda *read: [_value(formula, read) for formula in formulas[: len(starts)]],
            sequence,
            [{"initial": start, "taps": [-2, -1]} if len(start) == 2 else start[0] for start in starts],
            return_list=True,
            return_updates=False,
        )
    except ScanvizTypeError as error:
        assert "starts as" in str(error) and any(len(kind) == 2 for kind in kinds), error
        return
    for state, start in zip(longer, starts, strict=True):
        made_whole = all(isinstance(value, np.integer | np.bool_) for value in state[len(start) :])
        assert not (made_whole and type(start[0]) is float), (
            "a step of whole numbers is cast to a state of floats"
        )
    found = function([sequence], results, mode=mode, on_unused_input="ignore")(rows)
    counts = any(all(type(value) is int for value in state) for state in longer)
    for state, start, rows_of_zeros, result in zip(states, starts, longer, found, strict=True):
        undecided = all(type(value) in (int, float) for value in rows_of_zeros)
        expected = np.asarray(rows_of_zeros).dtype if undecided else np.result_type(*rows_of_zeros)
        wider = counts and np.can_cast(
            expected, result.dtype, "safe"
        )  # a number that counts may grow beyond its neighbours
        assert result.dtype == expected or wider, (result.dtype, expected)
        np.testing.assert_allclose(result.astype(float), np.array(state[len(start) :], float), rtol=4e-3)
