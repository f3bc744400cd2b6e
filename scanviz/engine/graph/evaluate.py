"""Evaluating a graph without loops directly, node by node: for constant folding and for tests of single ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import MissingInputError
from scanviz.engine.graph.nodes import Constant, Variable, describe
from scanviz.engine.graph.traversal import toposort


def evaluate(outputs: Variable | Sequence[Variable], givens: Mapping[Variable, Any] | None = None) -> Any:
    """Return the values of ``outputs`` for given values of inputs, computed by each op's NumPy meaning.

    Parameters
    ----------
    outputs : Variable or sequence of Variable
        The variables to compute; a single variable gives a single array.
    givens : mapping of Variable to array_like
        Values of the inputs.

    Raises
    ------
    MissingInputError
        If a variable has no value.
    """
    wanted = [outputs] if isinstance(outputs, Variable) else list(outputs)
    values: dict[Variable, Any] = {variable: np.asarray(value) for variable, value in (givens or {}).items()}

    def value_of(variable: Variable) -> Any:
        if variable in values:
            return values[variable]
        if isinstance(variable, Constant):
            return variable.value
        raise MissingInputError(f"`{describe(variable)}` has no value", fix="give it in `givens`")

    with np.errstate(all="ignore"):
        for node in toposort(wanted, values.keys()):
            results = node.op.perform([value_of(variable) for variable in node.inputs])
            values.update(zip(node.outputs, results, strict=True))
    results = [value_of(variable) for variable in wanted]
    return results[0] if isinstance(outputs, Variable) else results
