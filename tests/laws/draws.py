"""Laws of discrete draws: the part of a gradient through a drawn value is never silently missing.

The oracle is the way itself, which is drawn: it passes the value on, or only selects by it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import UndefinedGradientError
from scanviz.engine.graph.nodes import Variable
from tests.laws.law import law


class _Way(NamedTuple):
    """One step from a drawn vector to the cost, and whether the value goes on through it or only selects."""

    name: str
    build: Callable[[Any], Any]
    by_value: bool = True


def _looped(k: Variable) -> Variable:
    rows: Variable
    rows, _ = scanviz.scan(lambda row, h: h + row, k, T.cast(T.zeros(()), k.dtype), name="counts")
    return rows


_DRAWS: dict[str, Callable[[Variable, Variable], Any]] = {
    "poisson": T.random.poisson,
    "bernoulli": T.random.bernoulli,
    "binomial": lambda s, p: T.random.binomial(s, n=3, p=p),
    "categorical": lambda s, p: T.random.categorical(s, p, size=(3,)),
    "multinomial": lambda s, p: T.random.multinomial(s, 3, p),
    "choice": lambda s, p: T.random.choice(s, 3, size=(3,), p=p),
    "gamma": lambda s, p: T.random.gamma(s, p, 1.0),
}
_WAYS = (
    _Way("cast", lambda k: T.cast(k, "float64")),
    _Way("whole", lambda k: T.cast(k, "int64")),
    _Way("arithmetic", lambda k: k * 2 + 1),
    _Way("comparison", lambda k: T.cast(T.ge(k, 1), "int32")),
    _Way("turned", lambda k: k[::-1]),
    _Way("loop", _looped),
    _Way("index", lambda k: T.arange(3, dtype="float64")[T.cast(k, "int64") % 3], False),
    _Way("condition", lambda k: T.where(T.eq(k, 1), T.ones((3,)), T.zeros((3,))), False),
    _Way("constant", scanviz.disconnected_grad, False),
    _Way("zero", scanviz.zero_grad, False),
)


@law(
    sample=25,
    draw=st.sampled_from(sorted(_DRAWS)),
    ways=st.lists(st.sampled_from(_WAYS), max_size=4),
    inside=st.booleans(),
    reads_state=st.booleans(),
)
def a_gradient_through_a_discrete_draw_is_reported(
    draw: str, ways: list[_Way], inside: bool, reads_state: bool
) -> None:
    """A gradient through a discrete draw is an error; a draw that only selects terms leaves the other gradients."""
    theta = T.vector("theta")

    def value(row: Variable) -> Variable:
        k = _DRAWS[draw](T.random.random_state(1), T.nnet.softmax(row))[1]
        for way in ways:
            k = way.build(k)
        return T.cast(k, "float64")

    if inside:

        def step(h: Variable) -> tuple[Variable, Variable]:
            drawn = value(h if reads_state else theta)
            return T.tanh(h + theta), drawn

        (h, drawn), _ = scanviz.scan(step, outputs_info=[T.zeros(3), None], n_steps=2, name="draws")
        cost = T.sum(drawn[-1]) + T.sum(h[-1])
    else:
        cost = T.sum(value(theta)) + T.sum(T.tanh(theta))
    by_value = all(way.by_value for way in ways)
    try:
        found = scanviz.grad(cost, theta)
    except UndefinedGradientError as error:
        assert by_value, "it only selects"
        assert draw in str(error), error
        return
    assert not by_value, "a derivative by way of the value is missing"
    assert np.isfinite(found.eval({theta: [0.1, 0.2, 0.3]})).all()
