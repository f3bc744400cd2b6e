"""How many inputs each operation takes: declared, and looked at in one place."""

import pytest
from msgspec.structs import replace

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError, ScanvizTypeError
from scanviz.engine.graph.declaration import Op, declarations
from scanviz.engine.graph.nodes import Variable, build
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.random import DrawParameters
from scanviz.engine.program.lower import lower
from scanviz.engine.program.verify import verify_types

DECLARED = list(declarations())
FIXED = [each for each in DECLARED if not callable(each.arity)]


def some(count):
    return [Variable(TensorType("float64", (2, 2)), f"x{k}") for k in range(count)]


@pytest.mark.parametrize("declaration", FIXED, ids=lambda each: each.name)
def test_a_wrong_number_of_inputs_is_refused_before_their_types_are_checked(declaration):
    least, most = Op(declaration).arity
    for count in [*range(least), *(range(most + 1, most + 4) if most is not None else ())]:
        with pytest.raises(
            ScanvizTypeError, match=f"{declaration.name} takes a different number of inputs"
        ) as caught:
            Op(declaration).infer(some(count))
        assert caught.value.found == count


x, k, m = T.matrix("x"), T.lscalar("k"), T.matrix("m") > 0


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (x[k], 2),
        (x[k : k + 1, None, ::2], 3),
        (x[m], 2),
        (x[[0, 1], k], 3),
        (T.set_subtensor(x[k], 1.0), 3),
        (T.inc_subtensor(x[m], 1.0), 3),
        (T.set_subtensor(x[:, 0], 1.0), 2),
    ],
)
def test_an_index_has_one_input_for_each_unknown_number(made, count):
    assert made.owner.op.arity == (count, count) == (len(made.owner.inputs),) * 2
    for inputs in (made.owner.inputs[:-1], [*made.owner.inputs, k]):
        with pytest.raises(ScanvizTypeError, match="a different number of inputs"):
            build(made.owner.op, inputs)


def test_a_draw_has_its_state_sizes_and_parameters_as_inputs():
    draws = {each.name: each for each in DECLARED if each.name.startswith("draw_")}
    assert Op(draws["draw_normal"], DrawParameters(2, "float64")).arity == (5, 5)
    assert Op(draws["draw_choice"], DrawParameters(1, "int64")).arity == (
        3,
        4,
    )  # probabilities may be missing


def test_a_program_with_too_few_operands_is_refused():
    v = T.vector("v")
    program = lower([v], [T.dot(v, v)], "f")
    (instruction,) = program.instructions
    changed = replace(instruction, inputs=instruction.inputs[:1])
    with pytest.raises(ScanvizError, match="dot"):
        verify_types(replace(program, instructions=(changed,)))
