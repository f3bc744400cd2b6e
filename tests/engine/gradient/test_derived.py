"""Derivatives that follow from formulas, and the reasons for which others are written by hand."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError, ScanvizNotImplementedError
from scanviz.engine.gradient.partials import PARTIALS, _derived, has_pole, is_steep, operation_of, partials_of
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration, elementwise
from scanviz.engine.scalar.expression import bits, cast, from_bits, primitive, select, x, y
from scanviz.engine.scalar.formula import floats
from tests.support.internals import temporary_declarations
from tests.support.special_values import special_numbers


def inputs_of(declaration):
    """Return vectors that an operation of floats takes, None where it gives none."""
    kinds = {"where": ["bool"], "polygamma": ["int64"]}.get(declaration.name, [])
    kinds += ["float64"] * (declaration.arity - len(kinds))
    found = [T.tensor(kind, (None,), f"x{k}") for k, kind in enumerate(kinds)]
    try:
        return found if declaration(*found).type.dtype == "float64" else None
    except ScanvizError:
        return None


def is_one_primitive(declaration):
    block = declaration.block(*(each.type.dtype for each in inputs_of(declaration)))[1]
    lines = [line for line in block.lines if line.op not in ("constant", "cast")]
    return len(lines) == 1 and operation_of(lines[0], block) is declaration


FLOATING = [each for each in declarations() if isinstance(each, ElementwiseDeclaration) and inputs_of(each)]
BY_HAND = [each for each in FLOATING if each in PARTIALS and not is_one_primitive(each)]
DERIVED = [each for each in FLOATING if each not in PARTIALS]


def factors_of(term, given):
    """Return the number of operations of a derivative and the variables that it reads."""
    if term is None:
        return 0, set()
    nodes = toposort([term])
    return len(nodes), {each for node in nodes for each in node.inputs if each in given} | (
        {term} & set(given)
    )


def values(term, given, numbers):
    if term is None:
        return np.zeros_like(numbers[0])
    with np.errstate(all="ignore"):
        return np.asarray(evaluate([term], dict(zip(given, numbers, strict=True)))[0])


@pytest.mark.parametrize("declaration", BY_HAND, ids=lambda each: each.name)
def test_a_derivative_is_written_by_hand_for_a_reason(declaration):
    inputs = inputs_of(declaration)
    t, output = T.vector("t"), T.vector("y")
    given = [*inputs, t, output]
    axes = np.meshgrid(*[special_numbers("float64")] * declaration.arity)
    numbers = [axis.ravel() for axis in axes]
    with np.errstate(all="ignore"):
        made = declaration.function(*numbers)
    numbers += [np.ones_like(numbers[0]), made]
    reasons = []
    for position, by_hand in enumerate(PARTIALS[declaration]):
        hand = None if by_hand is None else by_hand(t, *inputs, output)
        try:
            derived = _derived(declaration, position, t, *inputs, output)
        except ScanvizNotImplementedError:
            reasons.append("no formula of operations that have derivatives")
            continue
        (mine, read), (other, read_there) = factors_of(hand, given), factors_of(derived, given)
        if other > mine:
            reasons.append("fewer operations")
        if read_there - read:
            reasons.append("reads less")
        if not np.array_equal(values(hand, given, numbers), values(derived, given, numbers), equal_nan=True):
            reasons.append("conventions at special points")
    assert reasons, f"{declaration.name}: what its formula gives is as good"


def test_all_other_derivatives_follow_from_formulas():
    assert {each.name for each in DERIVED} == {"deg2rad", "positive", "rad2deg", "square"}
    for each in DERIVED:
        (v,) = inputs_of(each)
        node = each(v).owner
        (count, read) = factors_of(
            _derived(each, 0, t := T.vector("t"), v, node.outputs[0]), [v, t, node.outputs[0]]
        )
        assert count <= 2 and node.outputs[0] not in read
        assert not has_pole(node) and not is_steep(node)


def test_poles_of_a_formula_are_those_of_its_operations():
    v = T.vector("v")
    with temporary_declarations():
        rooted = elementwise("rooted", floats(primitive("sqrt", x) * 2), "Twice the root.", like=np.exp)
        tame = elementwise("tame", floats(primitive("tanh", x) * 2), "Twice the tangent.", like=np.exp)
        assert is_steep(rooted(v).owner) and has_pole(rooted(v).owner)
        assert not is_steep(tame(v).owner) and not has_pole(tame(v).owner)
        gradient = T.grad(T.where(v > 0, rooted(v), v).sum(), v)
        assert gradient.eval({v: [-1.0, 0.0, 1.0]}).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "formula",
    [from_bits(bits(x)) * 2, primitive("remainder", x, x + 1)],
    ids=["bits", "remainder"],
)
def test_a_formula_without_a_derivative_is_an_error_with_its_name(formula):
    v = T.vector("v")
    with temporary_declarations():
        odd = elementwise("odd_one", floats(formula), "Odd.", like=np.exp)
        with pytest.raises(ScanvizNotImplementedError, match="odd_one.*no derivative"):
            T.grad(odd(v).sum(), v)


def test_a_derivative_passes_selections_and_casts():
    a, b = T.vector("a"), T.vector("b", dtype="float32")
    product = select(x < y, x * x * y, cast(cast(y, "float32"), "float64") * 3)
    with temporary_declarations():
        mixed = elementwise("mixed_one", floats(product), "Mixed.", like=np.add)
        found = T.grad(mixed(a, b).sum(), [a, b])
        numbers = {a: [1.0, 5.0], b: np.array([2.0, 3.0], "float32")}
        assert [each.eval(numbers).tolist() for each in found] == [[4.0, 0.0], [1.0, 3.0]]
        assert found[1].type.dtype == "float32"
    assert e.where in PARTIALS


@pytest.mark.parametrize("declaration", FLOATING, ids=lambda each: each.name)
def test_the_facts_about_slopes_agree_with_the_derivatives(declaration):
    inputs = inputs_of(declaration)
    node = declaration(*inputs).owner
    axes = np.meshgrid(*[np.linspace(-2.3, 2.2, 10)] * declaration.arity)
    numbers = [
        axis.ravel() > 0 if v.type.dtype == "bool" else axis.ravel().astype(v.type.dtype)
        for axis, v in zip(axes, inputs, strict=True)
    ]
    with np.errstate(all="ignore"):
        made = declaration.function(*numbers)
    given = [*inputs, node.outputs[0], t := T.vector("t")]
    found = [
        values(partial(t, *inputs, node.outputs[0]), given, [*numbers, made, np.ones_like(made)])
        for partial in partials_of(node)
        if partial is not None
    ]
    units = all(np.isin(each[np.isfinite(each)], [0, 1, -1, 0.5]).all() for each in found)
    assert units or not declaration.facts.unit_slope
    some_zero = any((each == 0).any() and (each != 0).any() for each in found)
    assert some_zero or not declaration.facts.selects or declaration is e.multiply_no_nan
