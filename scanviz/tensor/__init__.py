"""Symbolic NumPy under NumPy's names: ``from scanviz import tensor as T``."""

from scanviz.engine.graph.nodes import Variable as TensorVariable  # noqa: F401  # public
from scanviz.engine.graph.types import TensorType  # noqa: F401  # public
from scanviz.tensor import axes as _axes
from scanviz.tensor import constructors as _constructors
from scanviz.tensor import creation as _creation
from scanviz.tensor import effects as _effects
from scanviz.tensor import einstein as _einstein
from scanviz.tensor import elementwise as _elementwise
from scanviz.tensor import gradient as _gradient
from scanviz.tensor import indexing as _indexing
from scanviz.tensor import joining as _joining
from scanviz.tensor import linalg, nnet, random  # noqa: F401  # public
from scanviz.tensor import methods as _methods
from scanviz.tensor import numpy_functions as _numpy_functions
from scanviz.tensor import padding as _padding
from scanviz.tensor import products as _products
from scanviz.tensor import quantiles as _quantiles
from scanviz.tensor import reductions as _reductions
from scanviz.tensor import shapes as _shapes
from scanviz.tensor import sorting as _sorting
from scanviz.tensor import spacing as _spacing
from scanviz.tensor import stacking as _stacking
from scanviz.tensor import statistics as _statistics
from scanviz.tensor import variadic as _variadic
from scanviz.tensor.axes import *  # noqa: F403
from scanviz.tensor.constructors import *  # noqa: F403  # the public names of each part
from scanviz.tensor.creation import *  # noqa: F403
from scanviz.tensor.effects import *  # noqa: F403
from scanviz.tensor.einstein import *  # noqa: F403
from scanviz.tensor.elementwise import *  # noqa: F403
from scanviz.tensor.gradient import *  # noqa: F403
from scanviz.tensor.indexing import *  # noqa: F403
from scanviz.tensor.joining import *  # noqa: F403
from scanviz.tensor.linalg import *  # noqa: F403
from scanviz.tensor.nnet import log_softmax, relu, softmax  # noqa: F401  # public
from scanviz.tensor.padding import *  # noqa: F403
from scanviz.tensor.products import *  # noqa: F403
from scanviz.tensor.quantiles import *  # noqa: F403
from scanviz.tensor.reductions import *  # noqa: F403
from scanviz.tensor.shapes import *  # noqa: F403
from scanviz.tensor.sorting import *  # noqa: F403
from scanviz.tensor.spacing import *  # noqa: F403
from scanviz.tensor.stacking import *  # noqa: F403
from scanviz.tensor.statistics import *  # noqa: F403
from scanviz.tensor.variadic import *  # noqa: F403

_PARTS = (
    _axes,
    _constructors,
    _creation,
    _einstein,
    _effects,
    _elementwise,
    _gradient,
    _indexing,
    _joining,
    linalg,
    _padding,
    _products,
    _quantiles,
    _reductions,
    _shapes,
    _sorting,
    _spacing,
    _stacking,
    _statistics,
    _variadic,
)
__all__ = sorted(
    {name for part in _PARTS for name in part.__all__}
    | {"TensorType", "TensorVariable", "linalg", "log_softmax", "nnet", "random", "relu", "softmax"}
)
_numpy_functions.PUBLIC.update({"": lambda: __all__, "linalg.": lambda: linalg.__all__})
del _methods


def __dir__() -> list[str]:
    return sorted(__all__)
