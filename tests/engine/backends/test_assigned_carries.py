"""Carries that steps assign to are changed in place: steps of several carries, and such as hand them on; others: the laws of assigned carries."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.run.tier import listings
from scanviz.engine.program.instructions import is_scalar
from scanviz.engine.program.plan.location import StoreKind
from tests.laws.assigned import passes
from tests.support.internals import loop_sources

N, B0, S0 = T.lscalar("n"), T.vector("b0"), T.scalar("s0")
COUNT = 1009


def edit_distance(t, c):
    i, j = t // 20, t % 20
    best = T.minimum(c[i, j + 1] + 1, T.minimum(c[i + 1, j] + 1, c[i, j] + T.neq(i % 3, j % 3)))
    return T.set_subtensor(c[i + 1, j + 1], best)


STEPS = {
    "two carries": (
        lambda t, b, c: (T.set_subtensor(b[t], 1.0), T.inc_subtensor(c[t], b[t])),
        [B0, T.zeros(COUNT)],
    ),
    "exchanged": (lambda t, b: T.set_subtensor(T.set_subtensor(b[t], b[t // 2])[t // 2], b[t]), [B0]),
    "table": (edit_distance, [T.zeros((51, 21))]),
    "passed on": (lambda t, b, s: (b, s * 0.5 + b[t]), [B0, S0]),
    "old part": (lambda t, b: (T.set_subtensor(b[1:5], b[2:6]), b[t]), [B0, None]),
}


def carries_of(f):
    """Return the kind of each store of a state that is an array, and the elements that native code of a step passes over."""
    kinds, most = [], 0
    for listing in listings(f.executable):
        kinds += [
            listing.plan.stores["state", k].kind
            for k, slot in enumerate(listing.loop.states)
            if not is_scalar(listing.loop.body, slot.writes[0][1])
        ]
        most = max([most, *(passes(listing.loop, listing.plan) if listing.ir else [])])
    return kinds, most


@pytest.mark.parametrize("tier", ["numpy", "native"])
@pytest.mark.parametrize("name", STEPS)
def test_an_assigned_carry_is_changed_in_place(name, tier):
    step, starts = STEPS[name]
    results, _ = scanviz.scan(step, T.arange(N), starts, return_list=True)
    wanted = [rows[-1] for rows in results]
    f, plain = (
        scanviz.function([N, B0, S0], wanted, mode=mode, on_unused_input="ignore")
        for mode in (tier, "reference")
    )
    given = (900, np.linspace(-1, 1, COUNT), 0.5)
    for found, expected in zip(f(*given), plain(*given), strict=True):
        np.testing.assert_array_equal(found, expected)
    kinds, most = carries_of(f)
    assert kinds and set(kinds) == {StoreKind.SINGLE}
    assert most < COUNT // 2


def test_a_part_that_moves_within_its_carry_is_not_copied_on_numpy():
    width = 4
    results, _ = scanviz.scan(
        lambda i, c: (T.set_subtensor(c[i : i + width], c[i + 1 : i + 1 + width]), c[i]),
        T.arange(N),
        [B0, None],
    )
    f = scanviz.function([N, B0], [results[0][-1], results[1]], mode="numpy")
    start = np.arange(20.0)
    carry, picked = start.copy(), []
    for i in range(10):
        picked.append(carry[i])
        carry[i : i + width] = carry[i + 1 : i + 1 + width].copy()
    for found, expected in zip(f(10, start), (carry, picked), strict=True):
        np.testing.assert_array_equal(found, expected)
    (text,) = loop_sources(f.executable)
    assert "copy" not in text
