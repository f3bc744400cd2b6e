"""A law of steps that choose between two sides: values and gradients of both orders are the same on every tier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from tests.laws.frame import MODES, PLAIN
from tests.laws.law import law
from tests.support.comparing import check_same

Side = Callable[[Variable, Variable, Variable], Variable]
SIDES: dict[str, Side] = {
    "state": lambda x, s, w: s,
    "row": lambda x, s, w: x,
    "square": lambda x, s, w: s * s * 0.5,
    "bent": lambda x, s, w: T.tanh(s + x),
    "product": lambda x, s, w: T.tanh(T.dot(w, s)),
    "sum": lambda x, s, w: T.sin(T.sum(s)) * x,
    "turned": lambda x, s, w: s[::-1] * x,
    "weights": lambda x, s, w: s * w[0] * 0.3,
    "zeros": lambda x, s, w: T.zeros_like(s),
    "changed": lambda x, s, w: T.set_subtensor(s[:1], x[-1:]),
}


@dataclass(frozen=True)
class SidesCase:
    """A loop whose steps choose between two sides.

    Attributes
    ----------
    then, otherwise : str
        Of :data:`SIDES`.
    by_state : bool
        Whether the choice hangs on the state, and not on the row of the sequence.
    after : bool
        Whether the selected value is used further.
    width, steps, order, seed : int
        Of vectors; of the loop; how often it is differentiated; of the numbers.
    """

    then: str
    otherwise: str
    by_state: bool
    after: bool
    width: int
    steps: int
    order: int
    seed: int

    def values(self) -> list[Array]:
        """Return the sequence, the initial state and the weights."""
        rng, width = np.random.default_rng(self.seed), self.width
        return [rng.normal(size=shape) for shape in ((self.steps, width), (width,), (width, width))]

    def build(self) -> tuple[list[Variable], Sequence[Variable]]:
        """Return the inputs, and the rows with their derivatives."""
        x, start, w = T.matrix("x"), T.vector("start"), T.matrix("w")

        def step(x_t: Variable, s: Variable, w: Variable) -> Variable:
            condition = (T.sum(s) if self.by_state else x_t[0]) > 0.00137
            found = scanviz.ifelse(condition, SIDES[self.then](x_t, s, w), SIDES[self.otherwise](x_t, s, w))
            return T.sin(found) + 0.1 * s if self.after else found

        rows, _ = scanviz.scan(step, x, start, w, name="law")
        inputs, wanted = [x, start, w], [rows]
        cost = T.sum(T.sin(rows))
        for _ in range(self.order):
            slopes = scanviz.grad(cost, inputs, disconnected_inputs="ignore")
            cost = T.sum(T.stack([T.sum(slope * slope) for slope in slopes]))
            wanted += slopes
        return inputs, wanted


CASES = st.builds(
    SidesCase,
    then=st.sampled_from(sorted(SIDES)),
    otherwise=st.sampled_from(sorted(SIDES)),
    by_state=st.booleans(),
    after=st.booleans(),
    width=st.sampled_from([1, 3, 11]),
    steps=st.integers(0, 5),
    order=st.integers(0, 2),
    seed=st.integers(0, 999),
)


@law(sample=6, case=CASES, mode=MODES)
def branches_of_a_step_and_their_gradients_agree_with_the_reference(case: SidesCase, mode: Mode) -> None:
    """Rows of steps with branches and their first and second derivatives agree with the interpreted graph."""
    inputs, wanted = case.build()
    values, mode = case.values(), mode
    found, expected = (
        scanviz.function(inputs, wanted, mode=chosen, on_unused_input="ignore")(*values)
        for chosen in (mode, PLAIN)
    )
    check_same(found, expected, "float64")
