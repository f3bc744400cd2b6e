"""Arrays of the shape of another one, filled with one value."""

from __future__ import annotations

from typing import Any

from scanviz.engine.graph.nodes import Constant, Variable, tensor_type
from scanviz.engine.graph.types import BOOLEAN, TensorType, canonical_dtype
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.shape import ConstantOf, alloc, dimension
from scanviz.engine.ops.support import as_value, as_variable


def filled_like(value: Any, number: Any, dtype: object = None) -> Variable:
    """Return an array of the shape of ``value`` filled with a number, in its dtype unless another is given."""
    variable = as_variable(value)
    kind: TensorType = tensor_type(variable)
    wanted = kind.dtype if dtype is None else canonical_dtype(dtype)
    strong = wanted if not isinstance(number, Variable) else None
    fill = cast((as_value if wanted == BOOLEAN else as_variable)(number, strong), wanted)
    if kind.ndim == 0:
        return ConstantOf(fill.value, wanted, variable) if isinstance(fill, Constant) else fill
    return alloc(fill, [dimension(variable, axis) for axis in range(kind.ndim)])
