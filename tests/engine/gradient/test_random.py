"""Derivatives of random draws: by reparametrisation where there are any, and words where there are none."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError, UndefinedGradientError
from scanviz.engine.gradient.random import DRAWS
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Undefined, connection
from scanviz.engine.graph.declaration import Op, declarations
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.draws import continuous as distributions_continuous
from scanviz.engine.ops.draws import distributions
from scanviz.engine.ops.random import _SIGNATURES, STATE_WORDS
from scanviz.testing import verify_grad

SMOOTH = {"uniform": 2, "normal": 2, "exponential": 1, "laplace": 2, "gumbel": 2, "lognormal": 2}
modes = st.sampled_from(["reference", "numpy"])
names = st.sampled_from(list(SMOOTH))
any_spread = st.sampled_from([0.0, 1e-9, 0.3, 2.0])


class Draw(NamedTuple):
    """A draw of a shape: where from, and parameters that broadcast to the shape."""

    name: str
    seed: int
    shape: tuple[int, ...]
    parameters: list[np.ndarray]

    def build(self, dtype):
        """Return a function of the parameters that draws the same at every call."""
        state = T.random.random_state(self.seed)
        return lambda *given: getattr(T.random, self.name)(state, *given, size=self.shape, dtype=dtype)[1]

    def noise(self, dtype):
        """Return the standard values, by the very functions that the operation calls."""
        state = T.random.random_state(self.seed).get_value()
        known = distributions if hasattr(distributions, self.name) else distributions_continuous
        return getattr(known, self.name)(state, self.shape, dtype=dtype)[1]


@st.composite
def draws(draw, spread=any_spread):
    """A draw; its parameters are an increasing pair, or a place and a spread, or a spread."""
    name, seed = draw(names), draw(st.integers(0, 2**32 - 1))
    shapes = draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3, min_side=0))
    rng = np.random.default_rng(seed)
    place = rng.normal(size=shapes.input_shapes[0])
    wide = np.asarray(rng.uniform(0.5, 1.0, shapes.input_shapes[1]) * draw(spread))
    if name == "uniform":
        wide = np.asarray(4 + wide) if place.shape != wide.shape else place + wide
    return Draw(name, seed, shapes.result_shape, [place, wide][-SMOOTH[name] :])


def summed(value, shape):
    """Return a cotangent summed to the shape of a parameter."""
    lead = value.ndim - len(shape)
    axes = (*range(lead), *(lead + k for k, size in enumerate(shape) if size == 1 != value.shape[lead + k]))
    return value.sum(axis=axes, keepdims=True).reshape(shape)


def by_hand(case, noise, weights):
    """Return the weights times the derivatives with respect to each parameter."""
    if case.name == "uniform":
        return [weights * (1 - noise), weights * noise]
    if case.name == "lognormal":
        mean, sigma = case.parameters
        values = weights * np.exp(mean + sigma * np.log(noise))
        return [values, values * np.log(noise)]
    return [weights * noise] if case.name == "exponential" else [weights, weights * noise]


@given(draws(), st.booleans(), modes)
def test_the_gradient_is_that_of_the_formula_on_the_same_draw_at_any_spread(case, known, mode):
    inputs = [T.tensor("float64", p.shape if known else (None,) * p.ndim) for p in case.parameters]
    y = case.build("float64")(*inputs)
    weights = np.random.default_rng(0).normal(size=case.shape)
    found = pull_back({y: T.constant(weights)}, inputs)
    result = scanviz.function(inputs, found, mode=mode, on_unused_input="ignore")(*case.parameters)
    wanted = by_hand(case, case.noise("float64"), weights)
    for mine, theirs, parameter in zip(result, wanted, case.parameters, strict=True):
        assert mine.shape == parameter.shape
        np.testing.assert_allclose(mine, summed(theirs, parameter.shape), rtol=1e-12, atol=1e-12)


@given(draws(st.just(1.0)), st.booleans(), modes)
def test_both_modes_agree_with_finite_differences(case, known, mode):
    verify_grad(case.build("float64"), case.parameters, known_shapes=known, mode=mode)


@given(draws(st.just(1.0)), modes)
def test_second_derivatives_of_draws_agree_with_finite_differences(case, mode):
    def gradient(*inputs):
        y = T.sum(T.tanh(case.build("float64")(*inputs)))
        return pull_back({y: T.constant(1.0)}, list(inputs))

    verify_grad(gradient, case.parameters, mode=mode, tolerance=1e-4)


@given(draws(), st.sampled_from(["float32", "float64"]))
def test_values_and_parameters_may_differ_in_dtype(case, dtype):
    other = {"float32": "float64", "float64": "float32"}[dtype]
    inputs = [T.tensor(other, (None,) * p.ndim) for p in case.parameters]
    y = case.build(dtype)(*inputs)
    weights = np.random.default_rng(0).normal(size=case.shape).astype(dtype)
    found = pull_back({y: T.constant(weights)}, inputs)
    result = scanviz.function(inputs, found, on_unused_input="ignore")(
        *(p.astype(other) for p in case.parameters)
    )
    wanted = by_hand(case, case.noise(dtype).astype("float64"), weights.astype("float64"))
    for mine, theirs, parameter in zip(result, wanted, case.parameters, strict=True):
        assert mine.dtype == other
        np.testing.assert_allclose(mine, summed(theirs, parameter.shape), rtol=1e-4, atol=1e-5)


def test_a_small_spread_beside_a_large_mean_keeps_all_digits():
    mean, std = T.scalar("mean"), T.scalar("std")
    _, y = T.random.normal(T.random.random_state(3), mean, std, size=(4,))
    noise = distributions.normal(T.random.random_state(3).get_value(), (4,))[1]
    weights = np.array([1.0, -2.0, 3.0, 0.5])
    found = scanviz.grad(T.sum(y * weights), std).eval({mean: 1e12, std: 1e-6})
    np.testing.assert_allclose(found, noise @ weights, rtol=1e-12)


def drawn(*variables):
    """Return the names of the draws that variables are computed from."""
    return [node.op.name for node in toposort(variables) if node.op.declaration.family == "random"]


def test_the_gradient_of_a_mean_draws_nothing():
    mean, std = T.scalar("mean"), T.scalar("std")
    _, y = T.random.normal(T.random.random_state(3), mean, std, size=(4,))
    g = T.vector("g")
    assert drawn(*pull_back({y: g}, [mean])) == []
    assert drawn(*pull_back({y: g}, [std])) == ["draw_normal"]


def test_a_size_and_a_state_have_no_derivative():
    n, std = T.lscalar("n"), T.scalar("std")
    following, y = T.random.normal(T.random.random_state(3), 0.0, std, size=(n,))
    assert connection(y.owner) == [[False, False], [False, False], [False, True], [False, True]]
    _, later = T.random.normal(following, size=(n,))
    with pytest.raises(DisconnectedInputError):
        scanviz.grad(T.sum(later), std)
    assert scanviz.grad(T.sum(y), std).eval({n: 0, std: 1.0}) == 0.0


def test_the_ways_that_these_messages_name_have_derivatives():
    scale, rows = T.scalar("scale"), T.matrix("rows")
    _, standard = T.random.gamma(T.random.random_state(1), 2.0, size=(3,))
    y = T.sum(scale * standard)
    value, of_scale = scanviz.function([scale], [y, scanviz.grad(y, scale)])(4.0)
    assert of_scale == value / 4 > 0
    _, order = T.random.permutation(T.random.random_state(1), 3)
    weights = np.arange(6.0).reshape(3, 2)
    y = T.sum(T.tanh(rows[order]) * weights)
    of_rows, chosen = scanviz.function([rows], [scanviz.grad(y, rows), order])(np.zeros((3, 2)))
    np.testing.assert_array_equal(of_rows[chosen], weights)


# distribution → a draw by a vector of its parameter, one for each parameter that has no derivative; () where all have one
WITHOUT = {
    "uniform": {},
    "normal": {},
    "exponential": {},
    "laplace": {},
    "gumbel": {},
    "lognormal": {},
    "gamma": {"shape": lambda s, p: T.random.gamma(s, p, 2.0)},
    "beta": {"a": lambda s, p: T.random.beta(s, p, 2.0), "b": lambda s, p: T.random.beta(s, 2.0, p)},
    "dirichlet": {"alpha": T.random.dirichlet},
    "truncated_normal": {
        "loc": lambda s, p: T.random.truncated_normal(s, p, 1.0, -1.0, 2.0),
        "scale": lambda s, p: T.random.truncated_normal(s, 0.0, p, -1.0, 2.0),
        "low": lambda s, p: T.random.truncated_normal(s, 0.0, 1.0, p, 2.0),
        "high": lambda s, p: T.random.truncated_normal(s, 0.0, 1.0, -1.0, p),
    },
    "poisson": {"lam": T.random.poisson},
    "binomial": {"p": lambda s, p: T.random.binomial(s, n=3, p=p)},
    "bernoulli": {"p": T.random.bernoulli},
    "integers": {},
    "categorical": {"p": T.random.categorical},
    "multinomial": {"pvals": lambda s, p: T.random.multinomial(s, 3, p)},
    "choice": {"p": lambda s, p: T.random.choice(s, 3, size=(2,), p=p)},
    "permutation": {"x": T.random.permutation},
}
CASES = [(name, parameter) for name, draws in WITHOUT.items() for parameter in draws]


def test_every_distribution_has_a_derivative_row_for_every_parameter():
    for declaration in declarations():
        if declaration.family != "random" or not declaration.name.startswith("draw_"):
            continue
        signature, name = _SIGNATURES[declaration.name], declaration.name.removeprefix("draw_")
        assert declaration.name in DRAWS, f"{name} needs a row in engine/gradient/random.py"
        row = DRAWS[declaration.name]
        assert set(row.moves) == set(signature.parameters) - set(signature.whole), name
        assert set(WITHOUT[name]) == {key for key, move in row.moves.items() if isinstance(move, str)}, name
        text = (Path(__file__).parents[3] / "docs" / "reference" / "derivatives.md").read_text(
            encoding="utf-8"
        )
        assert f"| `{name}` |" in text, f"{name} needs a line in docs/reference/derivatives.md"


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_a_gradient_through_a_discrete_draw_is_an_error_with_distribution_and_line(name, parameter):
    p = T.vector("p")
    _, values = WITHOUT[name][parameter](T.random.random_state(1), p)
    cost = T.sum(T.cast(values, "float64")) + T.sum(p**2)  # a gradient there is, but not all of it
    with pytest.raises(UndefinedGradientError) as caught:
        scanviz.grad(cost, p)
    text = str(caught.value)
    assert name in text and f"`{parameter}`" in text and "`p`" in text
    assert "test_random.py" in text.splitlines()[0] and "write:" in text
    assert isinstance(push_forward({p: p}, [cost])[0], Undefined)
    assert isinstance(scanviz.grad(cost, p, null_gradients="return"), Undefined)
    w = T.vector("w")
    of_others = scanviz.grad(
        T.sum(T.cast(values, "float64")) * T.sum(w), w
    )  # what does not choose has its derivative
    assert of_others is not None


def test_a_gamma_draw_has_a_derivative_with_respect_to_its_scale():
    verify_grad(
        lambda scale: T.random.gamma(T.random.random_state(5), 2.0, scale, size=(2, 3))[1],
        [np.array([0.5, 1.0, 2.0])],
    )


def test_every_draw_has_rows_and_nothing_else_of_the_family_is_connected():
    for declaration in declarations():
        if declaration.family == "random" and declaration.name.startswith("draw_"):
            assert declaration in PULLBACKS and declaration in PUSHFORWARDS and declaration in CONNECTIONS, (
                declaration.name
            )
        elif declaration.family == "random":
            assert declaration in CONNECTIONS and declaration not in PULLBACKS, declaration.name
    words = build_one(Op(STATE_WORDS), T.random.random_state(1))
    assert connection(words.owner) == [[False]]
