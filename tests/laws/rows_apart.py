"""Laws of loops whose rows threads take apart from one another: the bits are those of one thread."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.config import config
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from tests.laws.frame import NAMES, PLAIN, constants_set, over_always
from tests.laws.law import law
from tests.support.comparing import check_same


class _Given(NamedTuple):
    """The operands of a step beside its current value.

    Attributes
    ----------
    state, row : Variable
        The state's last row, and that of the sequence.
    weights : Variable
        A matrix.
    rows, numbers : Variable
        Which stay: of the state's shape, and a number for each row of it.
    bias : Variable
        As long as a row, or one number.
    """

    state: Variable
    row: Variable
    weights: Variable
    rows: Variable
    numbers: Variable
    bias: Variable


# next operations of a step on a value of the state's shape
TURNS: dict[str, Callable[[Variable, _Given], Variable]] = {
    "tanh": lambda v, given: T.tanh(v),
    "and the row": lambda v, given: v * 0.5 + given.row,
    "and the state": lambda v, given: v * 0.25 - given.state,
    "times weights": lambda v, given: T.dot(v, given.weights) if v.ndim == 2 else v * T.sum(given.weights),
    "times what stays": lambda v, given: v * given.rows,
    "what stays alone": lambda v, given: (
        T.dot(given.rows, T.dot(given.row.T, given.row)) * 0.01 if v.ndim == 2 else v
    ),
    "what stays as a whole": lambda v, given: v + T.sum(given.rows, axis=0),
    "one what stays in both ways": lambda v, given: v * given.rows + T.max(given.rows),
    "plus a bias": lambda v, given: v + given.bias,
    "a number a row": lambda v, given: (
        v + (T.dot(v, given.weights[:, 0])[:, None] if v.ndim == 2 else given.numbers)
    ),
    "largest of a row": lambda v, given: v - T.max(v, axis=-1, keepdims=True) if v.ndim == 2 else v,
    "softmax of rows": lambda v, given: T.nnet.softmax(v, axis=-1) if v.ndim == 2 else T.exp(-v * v),
    "rows mixed": lambda v, given: v - T.mean(v, axis=0),
    "rows turned round": lambda v, given: v + given.state[::-1],
    "how many rows": lambda v, given: v / v.shape[0],
    "at how many rows": lambda v, given: v + given.numbers[given.state.shape[0] - 1],
    "new zeros": lambda v, given: v + T.zeros_like(given.state),
    "as many numbers as rows, added up": lambda v, given: (
        v + T.sum(T.alloc(given.weights[0, 0], given.state.shape[0])) * 0.01
    ),
    "numbered rows": lambda v, given: (
        v + (T.arange(given.state.shape[0]) * 0.01)[:, None] if v.ndim == 2 else v
    ),
    "part of a row": lambda v, given: T.set_subtensor(v[..., :1], 0.5) if v.ndim == 2 else v,
    "one of the rows": lambda v, given: T.inc_subtensor(v[0], 0.25),
    "a number of the rows": lambda v, given: T.set_subtensor((given.state * 0.5)[1:-3:2], 0.5) + v,
    "joined": lambda v, given: T.concatenate([v[:, 1:], given.state[:, :1]], axis=1) if v.ndim == 2 else v,
}


@dataclass(frozen=True)
class RowsCase:
    """A loop over rows of a batch.

    Attributes
    ----------
    rows, width : int
        Of the state; a width of 0 for a vector.
    one_bias : bool
        Whether the bias is one number for all places of a row.
    steps, taps : int
        How many steps, and how many rows back it reads.
    turns : tuple of str
        The operations of a step, in order.
    read : str
        What is asked for: ``"all"`` rows, the ``"last"``, an ``"output"`` beside it, the ``"gradient"``, or the rows of a loop
        with ``"no state"``.
    dtype : str
        Of all numbers.
    strided : bool
        Whether the sequence is a part of a larger array.
    """

    rows: int
    width: int
    one_bias: bool
    steps: int
    taps: int
    turns: tuple[str, ...]
    read: str
    dtype: str
    strided: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the state."""
        return (self.rows, self.width) if self.width else (self.rows,)

    def values(self) -> list[Array]:
        """Return the sequence, the rows it starts from, the weights, what stays the same, and the bias."""
        rng = np.random.default_rng(self.rows + self.steps)
        shapes = [(2 * self.steps, *self.shape), (self.taps, *self.shape)]
        shapes += [
            (max(self.width, 1),) * 2,
            self.shape,
            (self.rows,),
            (1,) if self.one_bias else self.shape[-1:],
        ]
        found = [np.asarray(rng.uniform(-1, 1, shape), self.dtype) for shape in shapes]
        found[2] /= max(self.width, 1)  # the rows are to stay about as large as they are
        return [found[0][::2] if self.strided else found[0][: self.steps].copy(), *found[1:]]

    def built(self) -> tuple[list[Variable], Any]:
        """Return the inputs and the outputs."""
        inputs = [T.tensor(self.dtype, (None,) * array.ndim) for array in self.values()]
        x, start, w, a, c, b = inputs

        def step(x_t: Variable, *states: Variable) -> list[Variable]:
            value = states[0]
            given = _Given(value, x_t, w, a, c, b)
            for turn in self.turns:
                value = TURNS[turn](value, given)
            return [T.cast(value * 0.5, self.dtype), T.cast(value, self.dtype)]

        begin = {"initial": start[0] if self.taps == 1 else start, "taps": list(range(-self.taps, 0))}
        if self.read == "no state":
            rows, _ = scanviz.scan(lambda x_t: step(x_t, x_t)[1], x, return_list=True)
            return inputs, [rows[0]]
        rows, _ = scanviz.scan(step, x, [begin, None], return_list=True)
        match self.read:
            case "last":
                return inputs, [rows[0][-1]]
            case "output":
                return inputs, [rows[1]]
            case "gradient":
                return inputs, scanviz.grad(
                    T.sum(rows[0] * rows[0]), [x, start, w, b], disconnected_inputs="ignore"
                )
        return inputs, [rows[0]]


CASES = st.builds(
    RowsCase,
    rows=st.sampled_from([32, 48, 64, 96, 17, 33, 40, 50, 63, 79, 100]),
    width=st.sampled_from([0, 1, 3, 8, 20]),
    one_bias=st.booleans(),
    steps=st.integers(1, 6),
    taps=st.integers(1, 2),
    turns=st.lists(st.sampled_from(sorted(TURNS)), min_size=1, max_size=5).map(tuple),
    read=st.sampled_from(["all", "last", "output", "gradient", "no state"]),
    dtype=st.sampled_from(["float64", "float32"]),
    strided=st.booleans(),
)


@contextmanager
def parts_always() -> Iterator[None]:
    """Let threads take the rows apart however short the loop is."""
    from scanviz.engine.backends.native.run import threads

    names = {"PAYS_NS": 0.0, "SHORTEST_NS": 0.0, "COMPILED_NS": 0.0, "LOST": np.inf}
    allowed = config.native.threads
    with constants_set(threads, names):
        try:
            yield
        finally:
            config.native.threads = allowed


@contextmanager
def parts_first() -> Iterator[None]:
    """Let steps be estimated in the first run, however few there are."""
    from scanviz.engine.backends.native.run import threads

    with constants_set(threads, {"FEWEST": 0.0}):
        yield


@law(sample=10, case=CASES, rewrites=st.booleans(), first=st.integers(0, 3))
def a_loop_gives_the_same_bits_with_any_number_of_threads(case: RowsCase, rewrites: bool, first: int) -> None:
    """One, two and three threads compute a loop with the same bits and the right values.

    In some runs so many threads take the steps of the first call.
    """
    if "native" not in NAMES:
        return
    inputs, wanted = case.built()
    given, found = case.values(), []
    how = Mode("native", "all" if rewrites else "none")
    with parts_always(), over_always():
        f = scanviz.function(inputs, wanted, mode=how, on_unused_input="ignore")
        if first:
            config.native.threads = first
            with parts_first():
                found.append(f(*given))
        for threads in (1, 2, 3):
            config.native.threads = threads
            f(*given)  # after which it is known how long steps take
            found.append(f(*given))
    for other in found[1:]:
        for mine, theirs in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(mine.view(f"u{mine.itemsize}"), theirs.view(f"u{mine.itemsize}"))
    plain = scanviz.function(inputs, wanted, mode=PLAIN, on_unused_input="ignore")
    check_same(found[0], plain(*given), case.dtype)
