"""``function``: from inputs and outputs of a graph to something that can be called."""

from scanviz.engine.function import pickling  # noqa: F401  # registers how functions are pickled
from scanviz.engine.function.arguments import In, Out
from scanviz.engine.function.build import function, plan_function
from scanviz.engine.function.callable import Function
from scanviz.engine.function.forgotten import ForgottenUpdateWarning

__all__ = ["ForgottenUpdateWarning", "Function", "In", "Out", "function", "plan_function"]
