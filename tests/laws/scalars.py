"""Laws of the scalar language: blocks on arrays, derivatives of formulas, draws as formulas."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.ops.draws import continuous as distributions_continuous
from scanviz.engine.ops.draws import counts as distributions_counts
from scanviz.engine.ops.draws import discrete as distributions_discrete
from scanviz.engine.ops.draws import distributions
from scanviz.engine.ops.draws.philox import advance, seed_state
from scanviz.engine.ops.elementwise_declaration import elementwise
from scanviz.engine.scalar.array_source import on_arrays
from scanviz.engine.scalar.blocks import typed
from scanviz.engine.scalar.formula import floats
from scanviz.testing.verify import verify_grad
from tests.laws.law import law
from tests.support.drawing import formula_draw
from tests.support.formulas import WHOLE, Grower, plain_value, smooth_formula
from tests.support.internals import temporary_declarations
from tests.support.special_values import special_array

SEEDS = st.integers(0, 2**32 - 1)


@law(sample=150, seed=SEEDS, steps=st.integers(1, 12))
def a_formula_on_arrays_agrees_with_plain_python(seed: int, steps: int) -> None:
    """A random expression of integers, booleans and floats, with loops, gives each element plain Python's value."""
    rng = Random(seed)
    dtypes = [rng.choice((*WHOLE, "float64", "bool")) for _ in range(rng.choice((1, 2, 3)))]
    made, kind = Grower(rng, dtypes).grow(steps)
    given = [special_array(rng, dtype, (5,), moderate=True) for dtype in dtypes]
    with np.errstate(all="ignore"):
        (found,) = on_arrays(typed([made], dtypes, kind))(*given)
    wanted = [plain_value(made, [array[k].item() for array in given], dtypes) for k in range(5)]
    assert found.dtype == kind == wanted[0][1], f"{found.dtype}, {kind}"
    expected = np.array([value for value, _ in wanted], kind)
    assert np.array_equal(np.broadcast_to(found, (5,)), expected, equal_nan=kind == "float64"), (
        f"{made!r} of {given}: {found}, not {expected}"
    )


@law(sample=12, seed=SEEDS, steps=st.integers(1, 6))
def a_derived_derivative_agrees_with_finite_differences(seed: int, steps: int) -> None:
    """The derivative derived from a random formula agrees with finite differences, in both modes."""
    rng = Random(seed)
    formula = smooth_formula(rng, steps)
    points = [np.array([rng.uniform(-1.5, 1.5) for _ in range(3)]) for _ in range(2)]
    with temporary_declarations():
        made = elementwise("random_formula", floats(formula), "A random formula.", like=np.add)
        verify_grad(made, points)


@law(sample=40, seed=SEEDS, blocks=st.integers(0, 2**128 - 1), count=st.integers(1, 40))
def a_draw_agrees_with_its_formula(seed: int, blocks: int, count: int) -> None:
    """Each distribution with a formula gives its bits, for random states, sizes and parameters."""
    rng, state = np.random.default_rng(seed), advance(seed_state(seed), blocks)
    real, chance = rng.normal(size=count) * 10.0 ** rng.integers(-3, 4), rng.random(count)
    low = rng.integers(-(2**40), 2**40, count)
    size = 10.0 ** (rng.random(count) * 7 - 2)
    trials = rng.integers(0, 10 ** rng.integers(1, 9, count))
    cases: dict[str, tuple[Callable[..., Any], str, list[Any]]] = {
        "uniform": (distributions.uniform, "float64", [real, real + chance]),
        "normal": (distributions.normal, "float64", [real, chance]),
        "exponential": (distributions.exponential, "float64", [chance]),
        "bernoulli": (distributions_discrete.bernoulli, "bool", [chance]),
        "integers": (
            distributions_discrete.integers,
            "int64",
            [low, low + 1 + (chance * 2.0**62).astype(int)],
        ),
        "lognormal": (distributions.lognormal, "float64", [real, chance]),
        "laplace": (distributions_continuous.laplace, "float64", [real, chance]),
        "gumbel": (distributions_continuous.gumbel, "float64", [real, chance]),
        "beta": (distributions_continuous.beta, "float64", [size, size[::-1]]),
        "truncated_normal": (
            distributions_continuous.truncated_normal,
            "float64",
            [real, chance + 1e-3, *np.sort([real * 2 - chance, np.roll(real, 1)], axis=0)],
        ),
        "gamma": (distributions_continuous.gamma, "float64", [size, chance]),
        "poisson": (distributions_counts.poisson, "int64", [size]),
        "binomial": (distributions_counts.binomial, "int64", [trials, chance]),
    }
    for name, (function, dtype, parameters) in cases.items():
        wanted = function(state, (count,), *parameters, dtype=dtype)[1]
        found = formula_draw(name, state, count, dtype, parameters)
        assert found.tobytes() == wanted.tobytes(), f"{name}: {found}, not {wanted}"
