"""Laws of rows that a loop writes over those of a sequence: readers of these, earlier or later, are not affected."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from tests.laws.frame import NAMES, PLAIN, over_always
from tests.laws.law import law
from tests.support.comparing import check_same

# arrays of rows, made of two others
_Array = Callable[[Variable, Variable], Variable]
# results of a step from a row, another row and its state
_Value = Callable[[Variable, Variable, Variable], Variable]


def _loop(give_state: bool, turned: bool = False) -> _Array:
    def made(a: Variable, b: Variable) -> Variable:
        first = T.zeros_like(a[0])
        (state, output), _ = scanviz.scan(
            lambda x, y, h: (T.tanh(x + h * 0.5), h * y), [a, b], [first, None], name="before"
        )
        rows: Variable = state if give_state else output
        return rows[::-1] if turned else rows

    return made


ARRAYS: dict[str, _Array] = {
    "the first": lambda a, b: a,
    "product": lambda a, b: a * b,
    "turned product": lambda a, b: (a * b)[::-1],
    "turned first": lambda a, b: a[::-1],
    "difference of turned ones": lambda a, b: a[::-1] - b[::-1],
    "twice turned": lambda a, b: T.exp(-a * a)[::-1][::-1],
    "joined": lambda a, b: T.concatenate([a[:1], b[1:] * 0.5]),
    "a number in all": lambda a, b: T.zeros_like(a) + 0.25,
    "one row in all": lambda a, b: T.broadcast_to(b[:1], a.shape) if a.ndim > 1 else a,
    "rows of a loop": _loop(give_state=True),
    "its output": _loop(give_state=False),
    "its output turned": _loop(give_state=False, turned=True),
}
VALUES: dict[str, _Value] = {
    "all": lambda x, y, h: x * 0.5 + y - h,
    "the row alone": lambda x, y, h: T.tanh(x),
    "the row": lambda x, y, h: x,
    "several operations": lambda x, y, h: T.exp(-x * x) * h + x * y,
    "less its sum": lambda x, y, h: x - T.sum(x) * 0.1,
    "turned": lambda x, y, h: x[::-1] * 0.5 + h if x.ndim else x * h,
    "added up": lambda x, y, h: T.cumsum(x, axis=0) if x.ndim else x + h,
    "in order": lambda x, y, h: T.sort(x, axis=0) if x.ndim else x,
    "a part set": lambda x, y, h: T.set_subtensor(x[:1], 0.5) if x.ndim else x * 0.5,
    "a part added to": lambda x, y, h: T.inc_subtensor(x[1:], h[1:]) if x.ndim else x + y,
    "product of matrices": lambda x, y, h: T.dot(x, T.dot(x.T, h)) * 0.1 if x.ndim == 2 else x * h,
    "transposed twice": lambda x, y, h: (x.T * 0.5).T + x if x.ndim else x,
}
READERS = ("nobody", "a sum", "a sum from the last on", "the caller")


@dataclass(frozen=True)
class OverCase:
    """A loop over computed rows, and the readers of each array.

    Attributes
    ----------
    shape : tuple of int
        Of a row.
    steps : int
        How many rows there are.
    arrays : tuple of (str, int, int)
        How each further array is made of two before it.
    read : tuple of int
        The arrays that are the loop's sequences.
    values : tuple of (str, int, int)
        What each output of a step is made of: two of the sequences' rows.
    backwards : bool
        Whether the loop reads the rows from the last on.
    reader : str
        The reader of the last array after the loop.
    then : str
        Who reads the outputs: ``"the caller"``, ``"a loop"`` or ``"a gradient"``.
    dtype : str
        Of all numbers.
    """

    shape: tuple[int, ...]
    steps: int
    arrays: tuple[tuple[str, int, int], ...]
    read: tuple[int, ...]
    values: tuple[tuple[str, int, int], ...]
    backwards: bool
    reader: str
    then: str
    dtype: str

    def given(self) -> list[Array]:
        """Return the two arrays that all begins with."""
        rng = np.random.default_rng(self.steps)
        return [np.asarray(rng.uniform(-1, 1, (self.steps, *self.shape)), self.dtype) for _ in range(2)]

    def built(self) -> tuple[list[Variable], list[Variable]]:
        """Return the inputs and the outputs."""
        inputs = [T.tensor(self.dtype, (None,) * (1 + len(self.shape))) for _ in range(2)]
        made = list(inputs)
        for name, first, second in self.arrays:
            made.append(ARRAYS[name](made[first % len(made)], made[second % len(made)]))
        outputs = self._looped([made[k % len(made)] for k in self.read], "over")
        wanted = list(outputs)
        if self.then == "a loop":
            wanted = self._looped(outputs[:1], "after")
        elif self.then == "a gradient":
            cost = T.sum(outputs[0] * outputs[0])
            for output in outputs[1:]:
                cost = cost + T.sum(output * output)
            wanted = scanviz.grad(cost, inputs, disconnected_inputs="ignore")
        match self.reader:
            case "a sum":
                wanted.append(T.sum(made[-1] * made[-1]))
            case "a sum from the last on":
                wanted.append(T.sum(made[-1][::-1] * outputs[0]))
            case "the caller":
                wanted.append(made[-1])
        return inputs, wanted

    def _looped(self, sequences: list[Variable], name: str) -> list[Variable]:
        def step(*given: Variable) -> list[Variable]:
            *rows, h = given
            made = [
                VALUES[value](rows[first % len(rows)], rows[second % len(rows)], h)
                for value, first, second in self.values
            ]
            return [T.tanh(h + rows[0]), *(T.cast(value, self.dtype) for value in made)]

        start = T.zeros(self.shape, self.dtype)
        rows, _ = scanviz.scan(
            step, sequences, [start, *(None for _ in self.values)], go_backwards=self.backwards, name=name
        )
        return list(rows[1:])


_INDEX = st.integers(0, 5)
CASES = st.builds(
    OverCase,
    shape=st.sampled_from([(), (1,), (3,), (5,), (2, 3)]),
    steps=st.integers(1, 6),
    arrays=st.lists(st.tuples(st.sampled_from(sorted(ARRAYS)), _INDEX, _INDEX), min_size=1, max_size=4).map(
        tuple
    ),
    read=st.lists(_INDEX, min_size=1, max_size=3).map(tuple),
    values=st.lists(st.tuples(st.sampled_from(sorted(VALUES)), _INDEX, _INDEX), min_size=1, max_size=3).map(
        tuple
    ),
    backwards=st.booleans(),
    reader=st.sampled_from(READERS),
    then=st.sampled_from(["the caller", "a loop", "a gradient"]),
    dtype=st.sampled_from(["float64", "float32"]),
)


@law(sample=25, case=CASES, tier=st.sampled_from(["numpy", "native"]))
def rows_written_over_a_sequence_are_correct(case: OverCase, tier: str) -> None:
    """A loop that overwrites computed rows has the results of the unrewritten graph, and so have other readers."""
    if tier not in NAMES:
        return
    inputs, wanted = case.built()
    plain = scanviz.function(inputs, wanted, mode=PLAIN, on_unused_input="ignore")
    given, expected = case.given(), _listed(plain(*case.given()))
    with over_always():
        f = scanviz.function(inputs, wanted, mode=tier, on_unused_input="ignore")
        found = [_listed(f(*given)) for _ in range(3)]
    for called in found:  # results of earlier calls stay as they are
        check_same(called, expected, case.dtype)
    check_same(given, case.given(), case.dtype)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]
