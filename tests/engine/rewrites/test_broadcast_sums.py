"""Sums that leave a loop where the term has fewer dimensions than the state, or size 1 along some, or does not fit it."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import ShapeError

MODES = [Mode(tier, rewrites) for tier in ("numpy", "reference") for rewrites in ("all", "none")]
c, m, n = T.vector("c"), T.matrix("m"), T.lscalar("n")
VALUES = {c: np.array([1.0, 2.0]), m: np.arange(6.0).reshape(2, 3), n: 3}


def run(wanted, mode, values=VALUES):
    f = scanviz.function(list(values), wanted, mode=mode, on_unused_input="ignore")
    return f(*values.values())


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("steps", [1, 2, "n"])
def test_a_term_that_does_not_fit_its_state_is_the_error_of_the_loop(mode, steps):
    count = {"n": n}.get(steps, steps)
    rows, _ = scanviz.scan(lambda t, s: s + t, m, T.zeros(T.minimum(n, 1)), n_steps=count, name="adds")
    values = {**VALUES, n: 2}
    for wanted in (rows, rows[-1], T.sum(rows[-1])):
        with pytest.raises(ShapeError, match=r"`\w+` of loop `adds` changed its shape") as text:
            run(wanted, mode, values)
        assert "(1,)" in str(text.value) and "(3,)" in str(text.value)
