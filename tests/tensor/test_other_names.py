"""What errors say of names of other systems: it runs, and gives what the other system gives."""

import re

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.tensor.other_names import OTHER_NAMES, missing

A, B = np.array([[0.5, -1.5], [2.0, 0.25]]), np.array([[2.0, 3.0], [0.5, -4.0]])
K, N = np.array([6, 3]), np.array([4, 2])
# What an expression stands for, by NumPy, of those that no word follows.
MEANT = {
    "array": A,
    "argwhere": np.argwhere(A),
    "around": np.round(A),
    "cumulative_sum": np.cumsum(A, axis=0),
    "empty_like": np.zeros((2, 2)),
    "fabs": np.fabs(A),
    "isin": np.isin(A, [2.0, 0.5]),
    "radians": np.radians(A),
    "rint": np.rint(A),
    "vecdot": np.sum(A * B, axis=-1),
    "average": np.average(A, weights=B),
    "count_nonzero": np.count_nonzero(A),
    "fliplr": np.fliplr(A),
    "flipud": np.flipud(A),
    "nanmean": np.nanmean(A),
    "nansum": np.nansum(A),
    "batched_tensordot": np.einsum("bij,bjk->bik", A[None], B[None]),
    "bitwise_not": ~K,
    "ceil_intdiv": np.array([2, 2]),
    "compress": A[A > 0],
    "cov": np.cov(A.T),
    "extract_diag": np.array([0.5, 0.25]),
    "fill": np.full((2, 2), 7.0),
    "fill_diagonal": np.array([[7.0, -1.5], [2.0, 7.0]]),
    "floor_div": A // B,
    "horizontal_stack": np.hstack([A, B]),
    "identity_like": np.eye(2),
    "iround": np.array([[0, -2], [2, 0]]),
    "ne": A != B,
    "or_": K | N,
    "ptp": np.ptp(A),
    "sgn": np.sign(A),
    "shape_padaxis": A[:, None],
    "topk": np.sort(A)[..., -3:],
    "vertical_stack": np.vstack([A, B]),
    "xor": K ^ N,
}
EXPRESSIONS = [
    (module, name, text)
    for module, rows in OTHER_NAMES.items()
    for name, text in rows.items()
    if not re.search(r"[:,;]? (a|and|or|where|there|of|beside) |: ", text)
]


@pytest.mark.parametrize(("module", "name", "text"), EXPRESSIONS, ids=[name for _, name, _ in EXPRESSIONS])
def test_what_is_to_be_written_runs(module, name, text):
    a, b, v, p, q = T.matrix("a"), T.matrix("b"), T.scalar("v"), T.tensor3("p"), T.tensor3("q")
    k, n = T.lvector("k"), T.lvector("n")
    names = {
        "T": T,
        "scanviz": scanviz,
        "rng": T.random.RandomStreams(1),
        "a": a,
        "b": b,
        "v": v,
        "k": k,
        "n": n,
        "p": p,
        "q": q,
    }
    names |= {"x": v, "y": v**2, "mask": T.gt(a, 0)}
    found = eval(text, names)
    if not isinstance(found, T.TensorVariable):
        assert name not in MEANT
        return
    value = found.eval({a: A, b: B, v: 7.0, k: K, n: N, p: A[None], q: B[None]})
    if name in MEANT:
        np.testing.assert_array_equal(value, MEANT[name])


@pytest.mark.parametrize("module", OTHER_NAMES)
def test_a_name_of_another_system_is_missing_and_its_error_says_what_to_write(module):
    where = {
        "scanviz": scanviz,
        "scanviz.tensor": T,
        "scanviz.tensor.nnet": T.nnet,
        "scanviz.tensor.random": T.random,
        "scanviz.tensor.random.RandomStreams": T.random.RandomStreams(1),
    }
    for name, text in OTHER_NAMES[module].items():
        with pytest.raises(AttributeError, match=re.escape(f"no attribute {name!r}; write: {text}")):
            getattr(where[module], name)
        assert not hasattr(where[module], name)


def test_a_name_that_nothing_has_is_told_without_advice():
    assert str(missing("scanviz.tensor", "abc")) == "module 'scanviz.tensor' has no attribute 'abc'"


@pytest.mark.parametrize(
    ("name", "text"), [("tag", "x.eval({…})"), ("norm", "T.linalg.norm(x)"), ("sqr", "T.sqr(x)")]
)
def test_an_attribute_of_theanos_variables_says_what_to_write(name, text):
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(T.vector("x"), name)


def test_the_function_of_a_module_that_is_a_function_here_says_what_to_write():
    with pytest.raises(AttributeError, match=re.escape("write: T.xlogy(a, b)")):
        T.xlogx.xlogy0(T.vector(), T.vector())
