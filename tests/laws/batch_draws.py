"""Laws of draws in loops: the numbers, the states after the loop and the gradients are those of a loop that draws step by step."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.mode import Mode
from tests.laws.frame import PLAIN, TIERS
from tests.laws.law import law

Drawing = Callable[..., tuple[Variable, Variable]]
_SMOOTH: dict[str, Drawing] = {
    "uniform": lambda s, a, **more: T.random.uniform(s, -a, a, **more),
    "normal": lambda s, a, **more: T.random.normal(s, a, a, **more),
    "exponential": T.random.exponential,
    "lognormal": lambda s, a, **more: T.random.lognormal(s, a, a, **more),
    "laplace": lambda s, a, **more: T.random.laplace(s, a, a, **more),
    "gumbel": lambda s, a, **more: T.random.gumbel(s, a, a, **more),
}
_CHOOSING: dict[str, Drawing] = {
    "gamma": lambda s, a, **more: T.random.gamma(s, a, 2.0, **more),
    "beta": lambda s, a, **more: T.random.beta(s, a, 1.5, **more),
    "truncated_normal": lambda s, a, **more: T.random.truncated_normal(s, a, 1.0, -a, a, **more),
    "poisson": lambda s, a, size, dtype: T.random.poisson(s, 20 * a, size),
    "bernoulli": lambda s, a, size, dtype: T.random.bernoulli(s, a, size),
    "binomial": lambda s, a, size, dtype: T.random.binomial(s, 30, a, size),
    "integers": lambda s, a, size, dtype: T.random.integers(s, 0, T.cast(9 * a, "int64") + 7, size),
    "categorical": lambda s, a, size, dtype: T.random.categorical(s, T.stack([a, 1.0 - a]), size),
    "permutation": lambda s, a, size, dtype: T.random.permutation(s, 3),
}
_DRAWS = _SMOOTH | _CHOOSING
_BY_FUNCTIONS = (set(_SMOOTH) - {"uniform"}) | {"gamma", "beta", "truncated_normal"}
_OF_NO_STATE = st.sampled_from(["number", "number", "array", "non-sequence", "sequence"])
_OF = _OF_NO_STATE | st.just("state")


@dataclasses.dataclass(frozen=True)
class _Drawn:
    """A draw of a step: its distribution, size and dtype, what its parameter is, and whether it shares a state."""

    name: str
    size: tuple[int, ...]
    dtype: str
    of: str
    chained: bool


@dataclasses.dataclass(frozen=True)
class _DrawingLoop:
    """A loop that draws: its steps, whether a call gives their number, whether a loop is around it, or it may end early."""

    draws: tuple[_Drawn, ...]
    steps: int
    symbolic: bool
    around: bool
    ends: bool
    seed: int

    @property
    def slopes(self) -> bool:
        """Whether a gradient is needed too: of smooth functions of the draws, through no state."""
        smooth = all(drawn.name in _SMOOTH and drawn.of != "state" for drawn in self.draws)
        return smooth and not self.ends

    def compiled(self, mode: Mode) -> Function:
        """Return the function of parameter, sequence and number of steps: numbers drawn, rows of the loop, a gradient."""
        w, x, n = T.scalar("w"), T.vector("x"), T.scalar("n", dtype="int64")
        shared = T.random.random_state(self.seed)
        steps = n if self.symbolic else self.steps

        def loop(state: Any) -> tuple[list[Variable], Any]:
            infos = [T.zeros(()), state, *[None] * len(self.draws)]
            results, updates = scanviz.scan(self._step, x, infos, [w], steps, name="drawing")
            return list(results), updates

        if self.around:
            infos = [shared, None, *[None] * len(self.draws)]

            def outside(state: Variable) -> Any:
                (h, state, *drawn), updates = loop(state)
                return [state, h, *drawn], updates

            (state, h, *drawn), updates = scanviz.scan(outside, None, infos, n_steps=2, name="around")
        else:
            (h, state, *drawn), updates = loop(shared)
        outputs = [*drawn, h, scanviz.grad(T.sum(h), w)] if self.slopes else [*drawn, h]
        return scanviz.function(
            [w, x, n],
            outputs,
            updates=[*updates.items(), (shared, state)],
            mode=mode,
            on_unused_input="ignore",
        )

    def _step(self, x_t: Variable, h: Variable, state: Variable, w: Variable) -> Any:
        of = {"number": T.constant(0.3), "non-sequence": w, "sequence": x_t, "state": 0.5 + 0.4 * h}
        drawn: list[Variable] = []
        for k, asked in enumerate(self.draws):
            last = asked.size[-1] if asked.size and asked.name != "categorical" else None
            array = np.asarray(0.4) if last is None else np.linspace(0.2, 0.8, last)
            parameter = of.get(asked.of, T.constant(array))
            own = state if asked.chained else T.random.random_state(self.seed + k + 1)
            following, values = _DRAWS[asked.name](own, parameter, size=asked.size, dtype=asked.dtype)
            if isinstance(own, SharedVariable):
                own.default_update = following
            else:
                state = following
            drawn.append(values)
        sums = [T.sum(T.cast(numbers, "float64")) for numbers in drawn]
        results = [T.tanh(x_t + w * sum(sums) + 0.5 * h), state, *drawn]
        return (results, {}, scanviz.until(results[0] > 0.9)) if self.ends and not self.around else results

    def called(self, compiled: Function) -> list[Any]:
        """Return what two calls give: the second shows the states after the first."""
        x = np.linspace(0.3, 0.7, self.steps)
        return [value for _ in range(2) for value in compiled(0.6, x, self.steps)]


_SIZES = st.sampled_from([(), (), (1,), (2,), (3,), (5,), (2, 3), (0,), (2, 0)])
_DTYPES = st.sampled_from(["float64", "float32"])


def _drawing(
    names: Any, ends: st.SearchStrategy[bool], of: st.SearchStrategy[str]
) -> st.SearchStrategy[_DrawingLoop]:
    """Return the strategy of loops that draw from some distributions."""
    draws = st.builds(_Drawn, st.sampled_from(sorted(names)), _SIZES, _DTYPES, of, st.booleans())
    return st.builds(
        _DrawingLoop,
        st.lists(draws, min_size=1, max_size=4).map(tuple),
        st.integers(0, 5),
        st.booleans(),
        st.booleans(),
        ends,
        st.integers(0, 2**62),
    )


@law(
    sample=20,
    case=_drawing(_DRAWS, st.booleans(), _OF) | _drawing(_SMOOTH, st.just(False), _OF_NO_STATE),
    tier=TIERS,
    rest=st.booleans(),
)
def batched_draws_agree_with_draws_in_steps(case: _DrawingLoop, tier: str, rest: bool) -> None:
    """Draws before a loop and draws in its steps give equal numbers, states and gradients, under any rules.

    Native code and a GPU have logarithms and cosines of their own: numbers made with them are NumPy's within some units in the last place.
    """
    plain = case.compiled(PLAIN)
    expected = case.called(plain)
    usual = Mode(tier) if tier == "native" else Mode(tier, "all")  # native code draws in the step
    rules = usual if rest else Mode(tier, "none").including("batch_draws")
    found = case.called(case.compiled(rules))
    count = len(expected) // 2
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.dtype == other.dtype and one.shape == other.shape, (k, one, other)
        exact = k % count < len(case.draws) and all(drawn.of != "state" for drawn in case.draws)
        if exact and tier in ("native", "cupy"):
            exact = case.draws[k % count].name not in _BY_FUNCTIONS
        if exact and not case.ends:
            assert one.tobytes() == other.tobytes(), (k, one, other)
        else:
            np.testing.assert_allclose(one.astype("float64"), other.astype("float64"), rtol=1e-5, atol=1e-7)
