"""clone replaces variables and keeps the rest; equal_computations compares graphs whatever they are called."""

import numpy as np
import pytest

import scanviz
from scanviz import clone, equal_computations
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.traversal import toposort


def sums(x, start=0.0):
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.constant(start), name="sums")
    return h


def test_inputs_and_results_are_replaced_by_variables_numbers_and_arrays():
    x, y = T.vector("x"), T.vector("y")
    twice = x * 2
    last = sums(twice)[-1] + y.sum()
    assert clone(last, {x: y}).eval({y: [1.0, 2.0]}) == 9.0
    assert clone(last, {twice: [1.0, 1.0], y: x}).eval({x: [5.0]}) == 7.0
    assert clone(last, [(x, np.arange(3)), (y, [0.5])]).eval() == 6.5


def test_replacements_are_made_at_once():
    x, y = T.scalar("x"), T.scalar("y")
    swapped = clone(x - y, {x: y, y: x})
    assert scanviz.function([x, y], swapped)(1.0, 5.0) == 4.0


def test_clone_shares_unreplaced_nodes_and_keeps_names_lines_and_ids():
    x, y, w = T.vector("x"), T.vector("y"), T.vector("w")
    shared_part = T.exp(w)
    named = x * shared_part
    named.name = "product"
    fresh = clone(named, {x: y})
    assert fresh.owner.inputs[1] is shared_part and fresh.name == "product" and named.owner.inputs[0] is x
    assert fresh.owner.node_id == named.owner.node_id and fresh.owner.provenance is named.owner.provenance


def test_a_graph_built_before_a_loop_is_cloned_over_variables_of_its_step():
    x, w, a, b = T.matrix("x"), T.vector("w"), T.vector("a"), T.vector("b")
    energy = T.tanh(a) + sums(b * T.exp(w))[-1]

    def steps(step):
        h, _ = scanviz.scan(step, x, T.zeros(2), name="steps")
        return scanviz.function([x, w], h)(np.arange(6.0).reshape(3, 2) / 6, np.array([0.5, 1.0]))

    found = steps(lambda x_t, h: clone(energy, {a: x_t, b: h}))
    np.testing.assert_array_equal(found, steps(lambda x_t, h: T.tanh(x_t) + sums(h * T.exp(w))[-1]))
    total = (T.exp(a) * w + b).sum()
    found = steps(lambda x_t, h: scanviz.scan(lambda h_i: clone(total, {a: x_t, b: x_t + h_i}), h)[0])
    np.testing.assert_allclose(
        found, steps(lambda x_t, h: scanviz.scan(lambda h_i: (T.exp(x_t) * w + x_t + h_i).sum(), h)[0])
    )


def test_clone_keeps_the_structure_of_its_argument():
    x = T.scalar("x")
    assert clone(x) is x
    as_list, as_tuple, as_dict = clone([x + 1], {x: 1.0}), clone((x,), {x: 2.0}), clone({"a": x}, {x: 3.0})
    assert isinstance(as_list, list) and as_list[0].eval() == 2.0
    assert isinstance(as_tuple, tuple) and as_tuple[0].eval() == 2.0
    assert as_dict["a"].eval() == 3.0


@pytest.mark.parametrize(
    ("mapping", "kind", "text"),
    [
        (lambda x: {x: T.matrix("m")}, ScanvizTypeError, "`m` cannot replace `x`"),
        (lambda x: {x: T.fvector("f")}, ScanvizTypeError, "T.cast(f, 'float64')"),
        (
            lambda x: {T.vector("other"): x},
            ScanvizValueError,
            "does not read `other`, which is to be replaced",
        ),
        (lambda x: {"x": x}, ScanvizTypeError, "a dict of variables"),
        (lambda x: [x], ScanvizTypeError, "clone: replace must be a dict or a list of pairs"),
    ],
)
def test_a_replacement_that_cannot_be_made_is_refused(mapping, kind, text):
    x = T.vector("x")
    with pytest.raises(kind) as caught:
        clone(x * 2, mapping(x))
    assert text in str(caught.value) and "test_clone.py" in str(caught.value)


def test_loops_without_names_on_two_lines_are_equal_where_messages_name_them():
    x, h = T.vector("x"), T.vector("h")
    first, _ = scanviz.scan(lambda s: s * x, outputs_info=h, n_steps=1)
    second, _ = scanviz.scan(lambda s: s * x, outputs_info=h, n_steps=1)
    assert "state_shape" in {node.op.name for node in toposort([first])}
    assert equal_computations(first, second)


def test_equal_computations_ignores_names():
    x, y = T.vector("x"), T.vector("y")
    assert equal_computations(sums(x), sums(y), x, y) and equal_computations([x * 2], [x * 2])
    assert not equal_computations(sums(x), sums(x, 1.0)) and not equal_computations([x], [x, x])
    assert not equal_computations(x, T.fvector("f"), x, T.fvector("f"))
    with pytest.raises(ScanvizValueError, match="the same number of inputs"):
        equal_computations(x, y, [x], [])
    with pytest.raises(ScanvizTypeError, match="given by its results"):
        equal_computations(3.0, x)
