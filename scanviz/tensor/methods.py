"""Attributes and methods of variables that are no function of their own: ``x.T``, ``x.mT``, ``x.ndim``, ``x.eval()``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.options import pairs
from scanviz.engine.ops.shape import transpose


@meaning("attribute:T")
def _transposed(x: Variable) -> Variable:
    return transpose(x)


@meaning("attribute:mT")
def _matrices_transposed(x: Variable) -> Variable:
    from scanviz.tensor.axes import matrix_transpose  # when it is used, like all of that file

    return matrix_transpose(x)


@meaning("attribute:ndim")
def _ndim(x: Variable) -> int:
    return tensor_type(x).ndim


@meaning("attribute:dtype")
def _dtype(x: Variable) -> str:
    return tensor_type(x).dtype


@meaning("attribute:broadcastable")
def _broadcastable(x: Variable) -> tuple[bool, ...]:
    return tuple(size == 1 for size in tensor_type(x).shape)


@meaning("method:copy")
def _copy(x: Variable, name: str | None = None) -> Variable:
    return e.positive(x, name=name) if tensor_type(x).dtype != "bool" else e.logical_or(x, x, name=name)


@meaning("method:eval")
def _eval(x: Variable, /, givens: Mapping[Variable, Any] | None = None) -> Any:
    """Compile and call at once: the value of a variable for given values of its inputs."""
    from scanviz.engine.function import (
        Function,
        specify_function,
    )  # above the tensor layer's own imports, so that graphs alone stay light

    values = dict(pairs(givens, "eval: the values of inputs"))
    for key in values:
        if not isinstance(key, Variable):
            raise ScanvizTypeError.here(
                "eval takes values of variables",
                found=repr(key),
                fix=f"eval({{{key}: …}}), with the variable itself as the key",
            )
    return Function(specify_function(list(values), x, on_unused_input="ignore"))(*values.values())
