"""Indexing and assignment under NumPy's and Theano's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops.assign import inc_subtensor, set_subtensor
from scanviz.engine.ops.control import ifelse
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import flattened
from scanviz.engine.ops.support import as_variable

__all__ = ["ifelse", "inc_subtensor", "set_subtensor", "take"]

meaning("getitem")(getitem)


@meaning("iterate")
def _iterate(x: Variable) -> Iterator[Variable]:
    """Unpack a variable whose first size is known."""
    kind = tensor_type(x)
    if kind.ndim == 0 or kind.shape[0] is None:
        raise ScanvizTypeError(
            f"`{describe(x)}` cannot be iterated over: how many rows it has is not known while the graph is built",
            where=user_line(),
            fix="scan(fn, sequences=x), or x[0], x[1], …",
        )
    return iter([getitem(x, k) for k in range(kind.shape[0])])


@meaning("method:take")
def take(x: Any, indices: Any, axis: int | None = None) -> Variable:
    """Rows at integer indices along an axis, or elements of the flattened array.

    Parameters
    ----------
    x : array_like
        Any tensor.
    indices : int or integer array_like
        Which ones.
    axis : int, optional
        Along which axis; None takes from the flattened array.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.take([10, 20, 30], [2, 0]).eval()
    array([30, 10])
    """
    variable = as_variable(x)
    if axis is None:
        return getitem(flattened(variable), indices)
    place = axis % max(tensor_type(variable).ndim, 1)
    return getitem(variable, (*(slice(None),) * place, indices))
