"""Compile inputs and outputs of a graph into a callable function."""

import copyreg
from typing import Any

from scanviz.engine.function.arguments import In, Out
from scanviz.engine.function.build import function, specify_function
from scanviz.engine.function.callable import Function
from scanviz.engine.function.forgotten import ForgottenUpdateWarning


def _reduced(function: Function) -> tuple[Any, ...]:
    """Return how pickle rebuilds a function."""
    from scanviz.engine.function.pickling import reduce_function  # seldom needed

    return reduce_function(function)


copyreg.pickle(Function, _reduced)

__all__ = ["ForgottenUpdateWarning", "Function", "In", "Out", "function", "specify_function"]
