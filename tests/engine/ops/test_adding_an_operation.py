"""One declaration is all that a new elementwise operation needs: everything above follows from it."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode, function, scan
from scanviz import tensor as T
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.ops.elementwise_declaration import CHEAP, elementwise
from scanviz.engine.rewrites.cost import cost_of
from scanviz.engine.scalar.blocks import text_of
from scanviz.engine.scalar.expression import primitive, select, x, y
from scanviz.engine.scalar.formula import Formula, floats
from scanviz.testing import verify_grad
from tests.support.internals import temporary_declarations

BENT = floats(select(x > 0, x * y + primitive("log1p", x * x), primitive("expm1", x)))


@pytest.fixture
def bent():
    """Return an operation that is declared for one test."""
    with temporary_declarations():
        yield elementwise("bent", BENT, "A bent line, steeper by the second.", like=np.hypot)


def plain(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return np.where(a > 0, a * b + np.log1p(a * a), np.expm1(a))


def test_a_new_operation_follows_numpys_dtypes_and_shapes(bent):
    assert bent(T.vector("v"), 2.0).type.dtype == "float64"
    assert bent(T.fvector("v"), 2.0).type.dtype == "float32" and bent(T.fvector("v"), 2.0).type.ndim == 1
    assert bent(T.ivector("v"), T.fvector("w")).type.dtype == "float64"
    with pytest.raises(scanviz.ScanvizError, match="bent takes 2 arguments"):
        bent(T.vector("v"))


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_both_tiers_run_a_new_operation_in_and_outside_loops(bent, mode, dtype):
    a, b = T.tensor(dtype, (None, 3), "a"), T.tensor("float64", (3,), "b")
    rng = np.random.default_rng(5)
    given = (rng.normal(size=(4, 3)) * 3).astype(dtype), rng.normal(size=3)
    rows, _ = scan(lambda r, s: bent(r, s) * 0.5, a, outputs_info=b)
    states, held = [], given[1]
    for row in given[0]:
        held = plain(row, held) * 0.5
        states.append(held)
    numbers, _ = scan(lambda r, s: bent(r[0], s), a, outputs_info=b[0])
    single, one = [], given[1][0]
    for row in given[0]:
        one = plain(row[0], one)
        single.append(one)
    f = function([a, b], [bent(a, b), rows, numbers], mode=mode)
    for found, wanted in zip(f(*given), [plain(*given), np.array(states), np.array(single)], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_new_operation_has_derivatives_in_both_modes(bent):
    points = [np.array([-1.5, 0.7, 2.0]), np.array([0.3, -0.4, 1.1])]
    verify_grad(bent, points)


def test_the_gradient_of_a_new_operation_passes_through_loops(bent):
    a = T.vector("a")
    rows, _ = scan(lambda r, s: bent(s, r), a, outputs_info=T.constant(0.3))
    verify_grad(
        lambda a: scan(lambda r, s: bent(s, r), a, outputs_info=T.constant(0.3))[0][-1],
        [np.array([0.2, 0.9, -0.4])],
    )
    assert function([a], T.grad(rows[-1], a))([0.2, 0.9]).shape == (2,)


def test_rewrites_move_fold_and_count_a_new_operation(bent):
    m = T.matrix("m")
    kept, _ = scan(lambda r, s: s * 0.5 + T.dot(bent(r, 2.0), r), m, outputs_info=T.constant(0.0))
    f = function([m], kept, mode=Mode("numpy"))
    assert "bent" in {
        instruction.op.name for instruction in f.program.instructions
    }  # of all rows at once, before the loop
    folded = function([], bent(T.constant(1.0), 2.0))
    assert not folded.program.instructions and float(folded()) == pytest.approx(2 + np.log(2))
    assert str(cost_of([bent(T.vector("v"), 2.0)]).flops) == "10·v.shape[0]"


def test_a_new_operation_has_a_printed_form_and_a_row_for_each_backend(bent):
    assert str(bent(T.vector("v"), T.vector("w"))) == "bent(v, w)"
    assert text_of(bent.block("float32", "float32")[1], "bent").startswith("bent(%0: float32, %1: float32)\n")
    assert bent in CUPY


def test_elementwise_accepts_facts_and_formulas_for_other_dtypes():
    with temporary_declarations():
        doubled = elementwise(
            "doubled", Formula(x + x, x + x, x + x), "Twice.", like=np.negative, facts=CHEAP
        )
        v = T.lvector("v")
        assert function([v], doubled(v))([1, 2]).tolist() == [2, 4]
        assert str(cost_of([doubled(v)]).flops) == "v.shape[0]"


def test_temporary_declarations_are_removed(bent):
    from scanviz.engine.graph.declaration import declared

    assert declared("bent") is bent
    with temporary_declarations():
        elementwise("bent_again", BENT, "Again.", like=np.hypot)
    with pytest.raises(scanviz.ScanvizError, match="bent_again"):
        declared("bent_again")


@pytest.mark.parametrize("mode", ["numpy", "native", "auto", "reference"])
@pytest.mark.parametrize("make", [np.ndarray.tolist, np.ma.array])
def test_a_function_returns_arrays_for_scalar_results_of_an_operation(make, mode):
    with temporary_declarations():
        made = Declaration(
            "made",
            "user",
            arity=1,
            doc="The same numbers.",
            infer=lambda op, inputs: (inputs[0].type,),
            perform=lambda op, values: (make(values[0]),),
            shapes=lambda op, dims: (dims.shapes[0],),
        )
        x = T.matrix("x")
        assert type(function([x], build_one(Op(made), x), mode=mode)(np.eye(2))) is np.ndarray
        chosen = T.ifelse(x[0, 0] > 0, build_one(Op(made), x), x)
        assert type(function([x], chosen, mode=mode)(np.eye(2))) is np.ndarray
