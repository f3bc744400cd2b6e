"""Derivatives of random draws: by reparametrisation where there are any, and words where there are none."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.forward import push_forward
from scanviz.engine.gradient.reverse import load_rows, pull_back
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Undefined
from scanviz.engine.graph.declaration import declarations


@pytest.mark.parametrize("name", ["normal", "uniform", "exponential"])
def test_a_draw_moves_with_its_parameters(name):
    rng = T.random.RandomStreams(7)
    a, b = T.scalar("a"), T.scalar("b")
    parameters = [a] if name == "exponential" else [a, b]
    values = getattr(rng, name)(*parameters, size=(5,))
    cost = T.sum(T.tanh(values))
    found = pull_back({cost: T.constant(1.0)}, parameters)
    pushed = push_forward({a: T.constant(1.0)}, [cost])
    at = [1.2, 2.5][: len(parameters)]
    f = scanviz.function(parameters, [cost, *found, *pushed], no_default_updates=True)
    result = f(*at)
    for k in range(len(parameters)):
        above, below = list(at), list(at)
        above[k] += 1e-6
        below[k] -= 1e-6
        np.testing.assert_allclose(result[1 + k], (f(*above)[0] - f(*below)[0]) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(result[-1], result[1])


def test_a_draw_that_chooses_says_that_it_has_no_derivative():
    rng, p = T.random.RandomStreams(7), T.scalar("p")
    values = T.cast(rng.gamma(p, 1.0, size=(3,)), "float64")
    (found,) = pull_back({T.sum(values): T.constant(1.0)}, [p])
    assert isinstance(found, Undefined) and "rejection" in found.why and "test_random.py" in str(found.where)
    (pushed,) = push_forward({p: T.constant(1.0)}, [T.sum(values)])
    assert isinstance(pushed, Undefined)


def test_whole_numbers_are_not_connected():
    rng, p = T.random.RandomStreams(7), T.scalar("p")
    assert pull_back({T.sum(T.cast(rng.binomial(size=(3,), n=5, p=p), "float64")): T.constant(1.0)}, [p]) == [
        None
    ]


def test_every_draw_has_rows():
    load_rows()
    for each in declarations():
        if each.family == "random" and each.name.startswith("draw_"):
            assert each in PULLBACKS and each in PUSHFORWARDS and each in CONNECTIONS, each.name
