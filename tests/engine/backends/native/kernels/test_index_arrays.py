"""Indices by arrays of integers in native loops."""

import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from tests.engine.backends.native.emit.test_native_loops import RNG, agree, tiers_of

TABLE = RNG.normal(size=(5, 4))
PICKS = RNG.integers(-5, 5, (6, 7))


def loop(step, dtype="int64"):
    """Return a loop over rows of indices with a table, and its inputs."""
    k, w = T.tensor(dtype, (None, None), "k"), T.matrix("w")
    out, _ = scanviz.scan(step, k, None, [w], name="picking")
    return [k, w], out


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize(
    "step",
    [
        lambda k, w: w[k],
        lambda k, w: w[:, 1][k],
        lambda k, w: w[k, k[0:1] * 0 + 2],
        lambda k, w: w[T.reshape(k[:6], (2, 3))],
        lambda k, w: w[::-1][k[:0]],
        lambda k, w: T.set_subtensor(w[k], 2.0),
        lambda k, w: T.set_subtensor(w[k[:2]], w[:2] * 3.0),
        lambda k, w: T.inc_subtensor(w[k], 0.5),
        lambda k, w: T.inc_subtensor(w[k, k * 0], T.cast(k, "float64")),
        lambda k, w: w[k, 1],
        lambda k, w: w[k[0], T.cast(k % 4, "int16")],
        lambda k, w: w[:, k % 4],
        lambda k, w: w.T[:, T.reshape(k[:6], (3, 2))],
        lambda k, w: T.set_subtensor(w[:, k % 4], T.cast(k, "float64")),
        lambda k, w: T.inc_subtensor(w[k, -1], 2.0),
        lambda k, w: T.set_subtensor(w[w > 0.3], 2.0),
        lambda k, w: T.inc_subtensor(w[w[:, 0] > w[k[0], 1]], w[k[1]]),
    ],
)
def test_indexing_and_indexed_assignment_agree_with_numpy(step, dtype):
    inputs, out = loop(step, dtype)
    picks = PICKS if dtype != "uint8" else PICKS % 5
    f = agree(inputs, out, picks.astype(dtype), TABLE, rewrites="none")
    assert all("called out" not in why for _, why in tiers_of(f)), tiers_of(f)


def test_the_gradient_of_indexing_adds_up_repeated_indices():
    inputs, out = loop(lambda k, w: T.sin(w[k]))
    for rewrites in ("all", "none"):
        agree(inputs, scanviz.grad(T.sum(out * out), inputs[1]), PICKS, TABLE, rewrites=rewrites)


def picked(step, dtype, picks, size=23):
    """Return a step's indexed elements of a vector of a dtype, on both tiers."""
    k, w = T.tensor(picks.dtype.name, (None,) * picks.ndim, "k"), T.tensor(dtype, (None,), "w")
    out, _ = scanviz.scan(step, k, None, [w], name="picking")
    table = (10 * RNG.normal(size=size)).astype(dtype)
    return agree([k, w], out, picks, table, rewrites="none")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("many", [1, 3, 7, 8, 16, 21, 100])
def test_elements_of_any_dtype_are_picked_side_by_side(dtype, many):
    f = picked(lambda k, w: w[k], dtype, RNG.integers(-23, 23, (4, many)))
    assert all("called out" not in why for _, why in tiers_of(f)), tiers_of(f)


@pytest.mark.parametrize(
    "step",
    [
        lambda k, w: w[::2][k // 2],
        lambda k, w: w[::-1][T.reshape(k[:20], (4, 5))],
        lambda k, w: T.outer(w, w)[k, k[::-1]],
        lambda k, w: T.outer(w, w).T[k[:9], T.reshape(k[:9], (9, 1))],
        lambda k, w: T.outer(w, w)[k, 3],
        lambda k, w: k[k],
        lambda k, w: T.set_subtensor(k[k], k),
    ],
)
@pytest.mark.parametrize("kind", ["int64", "int16"])
def test_indexing_views_two_axes_and_index_arrays_agrees_with_numpy(step, kind):
    picked(step, "float64", RNG.integers(0, 22, (4, 23)).astype(kind))


@pytest.mark.parametrize("where", [0, 5, 8, 15, 16, 22])
@pytest.mark.parametrize("bad", [23, -24, 2**62, -(2**63), 2**63 - 1])
def test_an_index_beyond_its_axis_is_found_in_any_lane(where, bad):
    k, w = T.lmatrix("k"), T.vector("w")
    out, _ = scanviz.scan(lambda k, w: w[k], k, None, [w], name="picking")
    given = RNG.integers(-23, 23, (3, 23))
    given[1, where] = bad
    for tier in ("native", "reference"):
        with pytest.raises(IndexError, match=str(bad)):
            scanviz.function([k, w], out, mode=Mode(tier, "none"))(given, RNG.normal(size=23))


def test_an_indexed_state_becomes_its_next_row():
    w, k = T.vector("w"), T.lvector("k")
    out, _ = scanviz.scan(lambda h, k: h[k], None, w, [k], n_steps=7, name="shuffled")
    for wanted in (out, out[-1]):
        agree([w, k], wanted, RNG.normal(size=23), RNG.permutation(23))
