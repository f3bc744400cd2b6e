"""Replacements of names of other systems run and agree with the other system."""

import re

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.other_keywords import _JAX_SCAN
from scanviz.engine.other_names import OTHER_NAMES, missing

A, B = np.array([[0.5, -1.5], [2.0, 0.25]]), np.array([[2.0, 3.0], [0.5, -4.0]])
K, N = np.array([6, 3]), np.array([4, 2])
# What an expression stands for, by NumPy, of those that no word follows.
MEANT = {
    "argtopk": np.argsort(A)[..., -3:],
    "associative_scan": np.maximum.accumulate([3.0, 1.0, 4.0]),
    "bmm": A[None] @ B[None],
    "bn": (A - A.mean(0)) / np.sqrt(A.var(0) + 1e-4),
    "digitize": np.digitize(A, [0.0, 1.0]),
    "fori_loop": 2.0**4,
    "gather": np.take_along_axis(A, np.array([[0], [1]]), 1),
    "geomspace": np.geomspace(1.0, 100.0, 5),
    "graph_replace": 9.0,
    "heaviside": np.heaviside(A, B),
    "jacfwd": 14.0,
    "logspace": np.logspace(0.0, 2.0, 5),
    "map_variables": 9.0,
    "masked_fill": np.where(A > 0, 7.0, A),
    "nanmax": 2.0,
    "rot90": np.rot90(A),
    "selu": np.where(A > 0, 1.0507009873554805 * A, 1.0507009873554805 * 1.6732632423543772 * np.expm1(A)),
    "silu": A / (1 + np.exp(-A)),
    "trapz": np.trapezoid(A, axis=0) if hasattr(np, "trapezoid") else np.trapz(A, axis=0),
    "vectorize_graph": np.array([1.0, 4.0]),
    "while_loop": 128.0,
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
    (module, name, text.format("w") if module == "Variable" else text)
    for module, rows in OTHER_NAMES.items()
    for name, text in rows.items()
    if not re.search(r"[:,;]? (a|and|as|beside|for|of|one|or|there|where|which) |: ", text)
]


@pytest.mark.parametrize(("module", "name", "text"), EXPRESSIONS, ids=[name for _, name, _ in EXPRESSIONS])
def test_the_suggested_replacements_run(module, name, text):
    a, b, v, p, q = T.matrix("a"), T.matrix("b"), T.scalar("v"), T.tensor3("p"), T.tensor3("q")
    k, n, w = T.lvector("k"), T.lvector("n"), scanviz.shared(np.eye(2), "w")
    names = {
        "T": T,
        "a": a,
        "b": b,
        "k": k,
        "n": n,
        "numpy": np,
        "p": p,
        "q": q,
        "scanviz": scanviz,
        "v": v,
        "w": w,
    }
    names |= {
        "x": v,
        "y": v**2,
        "z": T.constant(3.0),
        "cost": v**2,
        "mask": T.gt(a, 0),
        "condition": T.gt(v, 0),
    }
    names |= {"batch": T.constant([1.0, 2.0]), "edges": [0.0, 1.0], "index": [[0], [1]]}
    names |= {"rng": T.random.RandomStreams(1), "f": scanviz.function([v], v), "fn": T.maximum, "g": v}
    names |= {
        "init": 1.0,
        "lower": 3,
        "upper": 7,
        "body": lambda *of: of[-1] * 2,
        "cond": lambda s: T.lt(s, 100),
    }
    names |= {"i": 0, "xs": T.constant([3.0, 1.0, 4.0]), "neutral": -np.inf, "step": lambda x_t, s: x_t + s}
    names |= {"pullback": lambda inputs, outputs, cotangents: cotangents}
    if text.startswith("from "):
        exec(text, names)
        return
    found = eval(text, names)
    if not isinstance(found, T.TensorVariable) or text.startswith('T.tensor("x"'):
        assert name not in MEANT
        return
    value = scanviz.function([a, b, v, k, n, p, q], found, on_unused_input="ignore")(
        A, B, 7.0, [1, 0] if "crossentropy" in text else K, N, A[None], B[None]
    )
    if name in MEANT:
        np.testing.assert_allclose(value, MEANT[name], rtol=1e-12)


OWNERS = {
    "scanviz": scanviz,
    "scanviz.tensor": T,
    "scanviz.tensor.linalg": T.linalg,
    "scanviz.tensor.nnet": T.nnet,
    "scanviz.tensor.random": T.random,
    "scanviz.tensor.random.RandomStreams": T.random.RandomStreams(1),
    "Function": scanviz.function([], T.constant(1.0)),
    "Variable": T.vector("x"),
}


@pytest.mark.parametrize("module", OTHER_NAMES)
def test_a_name_of_another_system_is_missing_with_a_replacement(module):
    for name, text in OTHER_NAMES[module].items():
        with pytest.raises(AttributeError, match=f"no attribute .{name}.") as caught:
            getattr(OWNERS[module], name)
        assert caught.value.fix == (text.format("x") if module == "Variable" else text)
        assert not hasattr(OWNERS[module], name)


def test_the_replacement_of_a_jax_scan_agrees_with_jax():
    names = {
        "scan": scanviz.scan,
        "init": 1.0,
        "xs": T.constant([2.0, 3.0]),
        "f": lambda c, x: (c + x, c * x),
    }
    exec(_JAX_SCAN.partition(", then")[0], names)
    assert names["carries"][-1].eval() == 6
    np.testing.assert_array_equal(names["ys"].eval(), [2.0, 9.0])


def test_the_replacement_of_function_copy_swaps_a_shared_variable():
    x, w, v = T.scalar("x"), scanviz.shared(1.0, "w"), scanviz.shared(10.0, "v")
    names = {"scanviz": scanviz, "f": scanviz.function([x], x * w, updates={w: w + 1}), "w": w, "v": v}
    swapped = eval(OTHER_NAMES["Function"]["copy"].partition(" for swap")[0], names)
    assert swapped(3.0) == [30.0] and w.get_value() == 1


def test_a_name_of_tensor_looked_up_in_scanviz_gets_advice():
    with pytest.raises(AttributeError, match="'scanviz' has no attribute 'tanh'") as caught:
        scanviz.tanh  # noqa: B018
    assert caught.value.fix == "T.tanh"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("detach", "scanviz.disconnected_grad(x)"),
        ("tanh", "T.tanh(x)"),
        ("add_", "T.add(x, …)"),
        ("clamp_", "T.clip(x, 0, 1)"),
        ("squeezed", "x.squeeze"),
    ],
)
def test_an_attribute_that_variables_do_not_have_is_a_function_of_the_variable(name, text):
    with pytest.raises(AttributeError) as caught:
        getattr(T.vector("x"), name)
    assert caught.value.fix == text


@pytest.mark.parametrize(
    ("place", "name", "text"),
    [
        (T, "jit", "scanviz.function([x], y)"),
        (T, "scan", "scanviz.scan"),
        (T.nnet, "gelu", "a * (1 + T.erf(a / 2**0.5)) / 2"),
    ],
)
def test_a_name_of_an_outer_module_has_the_same_replacement(place, name, text):
    with pytest.raises(AttributeError) as caught:
        getattr(place, name)
    assert caught.value.fix == text


def test_dissimilar_names_are_not_suggested():
    with pytest.raises(AttributeError) as caught:
        T.vector("x").fine  # noqa: B018
    assert caught.value.fix is None


def test_a_function_of_python_where_a_variable_is_expected_is_to_be_called():
    def cost(x):
        return (x**2).sum()

    x = T.vector("x")
    for use in (scanviz.function, T.exp, lambda f: scanviz.grad(f, x), lambda f: scanviz.jacobian(f, x)):
        with pytest.raises(TypeError, match=r"Python function `cost` stands(?s:.*)write: +cost\(x\)"):
            use(cost)


def test_an_unknown_name_gets_no_advice():
    assert str(missing("scanviz.tensor", "abc")) == "module 'scanviz.tensor' has no attribute 'abc'"


@pytest.mark.parametrize(
    ("name", "text"), [("tag", "x.eval({…})"), ("norm", "T.linalg.norm(x)"), ("sqr", "T.sqr(x)")]
)
def test_an_attribute_of_theanos_variables_is_an_error_with_a_replacement(name, text):
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(T.vector("x"), name)


def test_a_function_used_as_a_module_is_an_error_with_a_replacement():
    with pytest.raises(AttributeError, match=r"write: +T\.xlogy\(a, b\)"):
        T.xlogx.xlogy0(T.vector(), T.vector())
