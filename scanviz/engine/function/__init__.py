"""``function``: from inputs and outputs of a graph to something that can be called."""

from scanviz.engine.function.arguments import In, Out
from scanviz.engine.function.build import function
from scanviz.engine.function.callable import Function

__all__ = ["Function", "In", "Out", "function"]
