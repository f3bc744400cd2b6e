"""Laws of gradients and rows: of single rows with known cotangents elsewhere, and of values shared by many rows."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import scan
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.mode import Mode
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import NAMES, PLAIN, built, computed, cost_of, gradients
from tests.laws.law import law
from tests.support.comparing import check_same


@law(
    sample=12,
    case=random_loops(smooth=True, dtypes=("float64",), updates=False, longest=6),
    places=st.lists(st.integers(-3, 2), min_size=1, max_size=2, unique=True),
    result=st.integers(0, 5),
    tier=st.sampled_from(["numpy", "reference"]),
)
def the_gradient_of_a_row_agrees_with_the_unrewritten_graph(
    case: LoopCase, places: list[int], result: int, tier: str
) -> None:
    """Costs of one or two rows have the gradients of the reference tier without rewrites."""
    rows, _ = run_plainly(case)
    count = len(rows[0])
    assume(all(-count <= place < count for place in places))
    loop = built(case)
    read = loop.results[result % len(loop.results)]
    slopes = gradients(cost_of([read[place] for place in places], None), list(loop.given))
    found, expected = (loop.computed(slopes, mode) for mode in (Mode(tier, "all"), PLAIN))
    check_same(found, expected, case.dtype, f"{places} of {count} rows")


@law(
    sample=12,
    rows=st.integers(0, 4),
    width=st.integers(1, 4),
    steps=st.integers(0, 5),
    alike=st.lists(st.booleans(), max_size=2),
    known=st.booleans(),
    product=st.sampled_from(["sequence", "state", "none"]),
    last=st.booleans(),
    tier=st.sampled_from(["numpy", "native", "reference"]),
)
def the_gradient_of_a_bias_sums_over_its_broadcast_axes(
    rows: int,
    width: int,
    steps: int,
    alike: list[bool],
    known: bool,
    product: str,
    last: bool,
    tier: str,
) -> None:
    """A bias of any rank and any known or unknown sizes gets the sum over its broadcast axes."""
    if tier not in NAMES:
        return
    axes = [1 if is_one else size for is_one, size in zip(alike, (width, rows), strict=False)][::-1]
    shapes = [(steps, rows, width), (rows, width), (width, width), tuple(axes)]
    given = [
        T.tensor("float64", shape if known else (None,) * len(shape), name=name)
        for shape, name in zip(shapes, ("x", "start", "weights", "bias"), strict=True)
    ]
    x, start, weights, bias = given

    def step(x_t: Variable, h: Variable) -> Variable:
        match product:
            case "sequence":
                return T.tanh(T.dot(x_t, weights) + h + bias)
            case "state":
                return T.tanh(x_t + T.dot(h, weights) + bias)
        return T.tanh(x_t * h + bias)

    found_rows, _ = scan(step, x, start)
    cost = T.sum(T.sin(found_rows[-1:] if last else found_rows))
    rng = np.random.default_rng(rows + 10 * steps)
    values = {variable: rng.uniform(-1, 1, shape) for variable, shape in zip(given, shapes, strict=True)}
    slopes = gradients(cost, given)
    found, expected = (computed(values, slopes, mode) for mode in (Mode(tier, "all"), PLAIN))
    check_same(found, expected, "float64", f"bias {tuple(axes)} of rows {(rows, width)}")
