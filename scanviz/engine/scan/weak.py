"""Weak initial states: a Python number takes the dtype that the step returns.

The step is called once, with the number's usual dtype.  Then the step is retyped, on paper, with the number at the least
dtype of its kind, Python numbers in the step staying weak: if it returns something larger, that is the dtype the state has, and
the step is rebuilt for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Apply, Variable, rebuild, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration, retyped_inputs

_LEAST = {bool: "bool", int: "int8", float: "float16"}


def usual_type(value: bool | int | float) -> TensorType:
    """Return the type a Python number has on its own."""
    return TensorType({bool: "bool", int: "int64", float: config.floatX}[type(value)])


def retype(outputs: Sequence[Variable], mapping: Mapping[Variable, Variable]) -> list[Variable]:
    """Return a graph with variables replaced by ones of other dtypes, Python numbers beside them staying weak."""

    def again(node: Apply, inputs: Sequence[Variable]) -> Apply:
        declaration = node.op.declaration
        fitting = (
            retyped_inputs(declaration, inputs) if isinstance(declaration, ElementwiseDeclaration) else inputs
        )
        return rebuild(node, fitting)

    return replace(outputs, mapping, rebuild_node=again, check=False)


def weak_dtypes(
    weak: Mapping[Variable, tuple[bool | int | float, Variable]], outputs: Sequence[Variable]
) -> dict[Variable, str]:
    """Return for each weak state's variable the dtype it takes.

    Parameters
    ----------
    weak : mapping
        State's variable in the step → (the Python number, what the step returns for that state).
    outputs : sequence of Variable
        All outputs of the step.
    """
    least = {
        variable: Variable(tensor_type(variable).with_dtype(_LEAST[type(number)]), variable.name)
        for variable, (number, _) in weak.items()
    }
    chosen = {variable: tensor_type(variable).dtype for variable in weak}
    try:
        tried = dict(zip(outputs, retype(list(outputs), least), strict=True))
    except (ScanvizError, OverflowError, ValueError, TypeError):
        return chosen  # some operation has no meaning in the least dtype: the usual one stays
    for variable, (number, returned) in weak.items():
        dtype = tensor_type(tried.get(returned, returned)).dtype
        chosen[variable] = (
            dtype if dtype != _LEAST[type(number)] or type(number) is bool else tensor_type(variable).dtype
        )
    return chosen
