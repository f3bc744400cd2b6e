"""Laws of gradients: against oracles from outside, at singular points, and of both modes against one another."""

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Declaration, declarations
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from tests.laws.frame import MODES, PLAIN, TIERS
from tests.laws.law import law
from tests.support.guarded import GuardedLoop, guarded_loops
from tests.support.singular import SINGULAR_POINTS, SingularPoint

# first arguments of those with no derivative with respect to them: a whole number, the shape of a distribution
_FIRST = {"polygamma": 1, "gammainc": 0.5, "gammaincc": 0.5}


def _arguments(op: ElementwiseDeclaration, *given: Variable) -> list[Variable]:
    """Return as many arguments as an operation takes: whole numbers or conditions where it wants them."""
    if op.name in _FIRST:
        return [T.constant(_FIRST[op.name]), given[0]]
    if op.name == "where":
        return [given[0] > 0, *given[:2]]
    return [*given, T.constant(0.5)][: op.arity]


def _gives_floats(op: Declaration) -> bool:
    """Return whether an operation is meant for floats and gives floats."""
    if not isinstance(op, ElementwiseDeclaration):
        return False
    try:
        return op(*_arguments(op, T.dscalar(), T.dscalar())).type == T.dscalar().type
    except ScanvizTypeError:
        return False


def _symbols(values: list[Array]) -> list[Variable]:
    return [T.tensor("float64", (None,) * value.ndim, f"x{k}") for k, value in enumerate(values)]


def _repeated(point: SingularPoint, xs: list[Variable], weights: list[float], place: str) -> Variable:
    """Return the sum of a singular function times each weight: at once, or a step each."""
    if place == "alone":
        return T.sum(point.build(*xs)) * float(sum(weights))
    if place == "of rows":
        rows = [T.stack([x] * len(weights)) for x in xs]
        terms, _ = scanviz.scan(
            lambda w, *given: w * T.sum(point.build(*given)), [T.constant(np.array(weights)), *rows]
        )
        return T.sum(terms)
    totals, _ = scanviz.scan(
        lambda w, total: total + w * T.sum(point.build(*xs)), [T.constant(np.array(weights))], T.constant(0.0)
    )
    last: Variable = totals[-1]
    return last


@law(
    sample=25,
    point=st.sampled_from(SINGULAR_POINTS),
    weights=st.lists(st.sampled_from([-1.5, 0.5, 2.0]), min_size=1, max_size=3),
    place=st.sampled_from(["alone", "of rows", "in a state"]),
    mode=MODES,
    second=st.booleans(),
)
def a_singular_point_has_the_derivative_of_the_table(
    point: SingularPoint, weights: list[float], place: str, mode: Mode, second: bool
) -> None:
    """At a singular point both modes give the derivative that the documentation promises, and the second is no NaN."""
    if point.steep and min(weights) < 0:
        weights = [abs(weight) for weight in weights]  # not inf - inf
    at = [np.asarray(number, "float64") for number in point.at]
    xs = _symbols(at)
    cost = _repeated(point, xs, weights, place)
    found = scanviz.grad(cost, xs, disconnected_inputs="ignore")
    along = [
        np.where(np.isfinite(array), 1.0 + np.arange(array.size).reshape(array.shape), 0.0) for array in at
    ]
    results = [*found, scanviz.Rop(cost, xs, along, disconnected_outputs="ignore")]
    if second and not point.steep:
        inner = sum((T.sum(g * v) for g, v in zip(found, along, strict=True)), T.constant(0.0))
        results += scanviz.grad(inner, xs, disconnected_inputs="ignore")
    f = scanviz.function(xs, results, mode=mode, on_unused_input="ignore")
    computed = f(*at)
    expected = [np.asarray(g, float) * sum(weights) for g in point.gradients]
    for mine, theirs in zip(computed, expected, strict=False):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    pushed = sum(float(np.sum(g * v)) for g, v in zip(expected, along, strict=True))
    np.testing.assert_allclose(computed[len(at)], pushed, rtol=1e-12, atol=1e-12)
    for derivative in computed[len(at) + 1 :]:
        assert not np.isnan(derivative).any(), derivative


@law(sample=20, case=guarded_loops(), seed=st.integers(0, 99), mode=MODES)
def guarded_elements_do_not_poison_the_gradient(case: GuardedLoop, seed: int, mode: Mode) -> None:
    """The gradient of a guarded function is that of its unguarded elements, by a complex step, in both modes."""
    x, w = T.matrix("x"), T.scalar("w")
    cost = case.cost(x, w)
    gradients = scanviz.grad(cost, [x, w], disconnected_inputs="ignore")
    rng = np.random.default_rng(seed)
    along = np.asarray(rng.normal(size=case.rows.shape)), float(rng.normal())
    # forward: a bad element may have an infinite tangent
    good = np.where(case.alive, along[0], 0.0)
    pushed = scanviz.Rop(cost, [x, w], [good, np.asarray(along[1])])
    f = scanviz.function([x, w], [cost, *gradients, pushed], mode=mode, on_unused_input="ignore")
    with np.errstate(all="ignore"):
        value, of_rows, of_weight, tangent = f(case.rows, case.weight)
    plain = case.plain(case.rows, case.weight)
    np.testing.assert_allclose(value, plain, rtol=1e-9)
    slope = case.slope(along[0], along[1])
    found = float(np.sum(of_rows * along[0]) + of_weight * along[1])
    np.testing.assert_allclose(found, slope, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(tangent, case.slope(good, along[1]), rtol=1e-7, atol=1e-7)


_ELEMENTWISE = [
    declaration
    for declaration in declarations()
    if isinstance(declaration, ElementwiseDeclaration) and _gives_floats(declaration)
]
_NUMBERS = st.sampled_from([-1000.0, -2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0, 1000.0])


@law(
    sample=25,
    inner=st.sampled_from(_ELEMENTWISE),
    outer=st.sampled_from(_ELEMENTWISE),
    numbers=st.lists(_NUMBERS, min_size=3, max_size=3),
    selects=st.sampled_from(["where", "index", "ifelse", "loop"]),
    tier=TIERS,
)
def elements_not_selected_have_derivative_zero(
    inner: ElementwiseDeclaration,
    outer: ElementwiseDeclaration,
    numbers: list[float],
    selects: str,
    tier: str,
) -> None:
    """Elements not selected have derivative exactly 0 for any two operations and any numbers."""
    x = T.vector("x")

    def function(given: Variable) -> Variable:
        first = inner(*_arguments(inner, given, given * 0.5 + 1.0))
        return outer(*_arguments(outer, first, given))

    nothing = T.constant(np.zeros(len(numbers), bool))
    if selects == "where":
        chosen = T.where(nothing, function(x), 0.0)
    elif selects == "index":
        chosen = T.concatenate([function(x), T.ones((1,))])[-1]
    elif selects == "ifelse":
        chosen = scanviz.ifelse(T.constant(False), function(x), T.zeros_like(x))
    else:
        rows, _ = scanviz.scan(lambda x_t: function(x_t), x)
        chosen = T.concatenate([rows, T.ones((1,))])[-1]
    gradient = scanviz.grad(T.sum(chosen), x, disconnected_inputs="ignore")
    (found,) = scanviz.function([x], [gradient], mode=tier, on_unused_input="ignore")(np.array(numbers))
    np.testing.assert_array_equal(found, 0.0)


@law(
    sample=40,
    size=st.integers(0, 8),
    cuts=st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
    known=st.booleans(),
    axis=st.sampled_from([0, 1]),
    beyond=st.none() | st.integers(-1, 1),
)
def gradients_of_slices_sum_the_weights_of_each_element(
    size: int, cuts: list[int | None], order: Random, known: bool, axis: int, beyond: int | None
) -> None:
    """The gradient of weighted slices of an array, adjacent or not, sums the weights at each element."""
    end = None if beyond is None else max(0, size + beyond)
    parts = [slice(first, last) for first, last in pairwise([None, *cuts, end])]
    order.shuffle(parts)
    keys = [(slice(None),) * axis + (part,) for part in parts]
    shape = (size, 2) if axis == 0 else (2, size)
    x = T.tensor("float64", shape if known else (None, None), "x")
    cost = sum((T.sum(T.exp(x[key])) * float(2**k) for k, key in enumerate(keys)), T.constant(0.0))
    value, wanted = np.zeros(shape), np.zeros(shape)
    for k, key in enumerate(keys):
        wanted[key] += 2**k
    for mode in (PLAIN, Mode("numpy", "all")):
        found = scanviz.function([x], scanviz.grad(cost, x), mode=mode)(value)
        np.testing.assert_array_equal(found, wanted)
