"""A sound graph passes; a node whose type is not what its op infers, or a free leaf, is named."""

import pytest

from scanviz import tensor as T
from scanviz.engine.errors import InternalError
from scanviz.engine.graph.declaration import declared
from scanviz.engine.graph.nodes import Apply, rebuild
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.graph.types import TensorType


def test_a_sound_graph_passes():
    x, y = T.matrix("x"), T.vector("y")
    typecheck([x, y], [T.tanh(x @ y) + 1, x])


def test_a_free_leaf_is_named_unless_the_graph_may_be_open():
    x, y = T.vector("x"), T.vector("y")
    with pytest.raises(InternalError, match="`y` is computed by nothing"):
        typecheck([x], [x + y])
    typecheck([x], [x + y], closed=False)


@pytest.mark.parametrize(
    "types",
    [[TensorType("float32", (None,))], [TensorType("float64", (None, None))], [TensorType("float64", (4,))]],
    ids=str,
)
def test_a_wrong_dtype_rank_or_size_is_found(types):
    x = T.tensor("float64", (3,), "x")
    wrong = Apply(T.tanh(x).owner.op, [x], types).outputs[0]
    with pytest.raises(InternalError, match="wrong type"):
        typecheck([x], [T.exp(wrong)])


def test_a_wrong_number_of_outputs_is_found():
    x = T.vector("x")
    wrong = Apply(T.tanh(x).owner.op, [x], [x.type, x.type])
    with pytest.raises(InternalError, match="gives 1 outputs, its node has 2"):
        typecheck([x], [wrong.outputs[0]])


def test_a_type_may_know_less_than_its_op_infers():
    x = T.tensor("float64", (3,), "x")
    vague = Apply(T.tanh(x).owner.op, [x], [TensorType("float64", (None,))])
    typecheck([x], list(vague.outputs))


def test_types_that_were_inferred_are_not_inferred_again(monkeypatch):
    x = T.vector("x")
    outputs = [T.tanh(x) + 1]

    def infer(op, inputs):
        raise AssertionError(f"{op} is asked again")

    for name in ("tanh", "add"):
        monkeypatch.setattr(declared(name), "infer", infer)
    typecheck([x], outputs)


def test_a_node_of_a_wrong_type_is_found_over_rebuilt_inputs_too():
    x, y = T.vector("x"), T.vector("y")
    wrong = Apply(T.tanh(x).owner.op, [x], [TensorType("float32", (None,))])
    moved = rebuild(wrong, [y])
    assert not moved.inferred and rebuild(T.tanh(x).owner, [y]).inferred
    with pytest.raises(InternalError, match="wrong type"):
        typecheck([y], moved.outputs)
