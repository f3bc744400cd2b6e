"""Symbolic NumPy under NumPy's names: ``from scanviz import tensor as T``.

What a plain loop seldom needs is imported when it is first used, so that ``import scanviz`` stays fast.
"""

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from scanviz.engine.graph.nodes import Variable as TensorVariable  # noqa: F401  # public
from scanviz.engine.graph.syntax import LATER
from scanviz.engine.graph.types import TensorType  # noqa: F401  # public
from scanviz.tensor import axes as _axes
from scanviz.tensor import constructors as _constructors
from scanviz.tensor import elementwise as _elementwise
from scanviz.tensor import indexing as _indexing
from scanviz.tensor import methods as _methods
from scanviz.tensor import numpy_functions as _numpy_functions
from scanviz.tensor import products as _products
from scanviz.tensor import reductions as _reductions
from scanviz.tensor import shapes as _shapes
from scanviz.tensor.axes import *  # noqa: F403
from scanviz.tensor.constructors import *  # noqa: F403  # the public names of each part
from scanviz.tensor.elementwise import *  # noqa: F403
from scanviz.tensor.indexing import *  # noqa: F403
from scanviz.tensor.products import *  # noqa: F403
from scanviz.tensor.reductions import *  # noqa: F403
from scanviz.tensor.shapes import *  # noqa: F403

if TYPE_CHECKING:
    from scanviz.tensor import linalg, nnet, random  # noqa: F401
    from scanviz.tensor.creation import *  # noqa: F403
    from scanviz.tensor.effects import *  # noqa: F403
    from scanviz.tensor.einstein import *  # noqa: F403
    from scanviz.tensor.gradient import *  # noqa: F403
    from scanviz.tensor.joining import *  # noqa: F403
    from scanviz.tensor.linalg import *  # noqa: F403
    from scanviz.tensor.nnet import log_softmax, relu, softmax  # noqa: F401
    from scanviz.tensor.padding import *  # noqa: F403
    from scanviz.tensor.quantiles import *  # noqa: F403
    from scanviz.tensor.sorting import *  # noqa: F403
    from scanviz.tensor.spacing import *  # noqa: F403
    from scanviz.tensor.stacking import *  # noqa: F403
    from scanviz.tensor.statistics import *  # noqa: F403
    from scanviz.tensor.variadic import *  # noqa: F403

_PARTS = (
    _axes,
    _constructors,
    _elementwise,
    _indexing,
    _products,
    _reductions,
    _shapes,
)
# Files that are imported when one of their names is first used; tests/tensor/test_later.py compares these with theirs.
_LATER = {
    "creation": (
        "alloc", "arange", "diag", "diagonal", "eye", "full", "full_like", "identity", "ones", "ones_like", "tri", "tril", "triu",
        "zeros", "zeros_like",
    ),
    "effects": ("Assert", "Print"),
    "einstein": ("einsum",),
    "gradient": ("Lop", "Rop", "grad", "hessian", "jacobian"),
    "joining": ("concatenate", "flip", "repeat", "roll", "split", "stack", "tile"),
    "linalg": (
        "cholesky", "det", "eigh", "eigvalsh", "expm", "inv", "lstsq", "matrix_power", "norm", "pinv", "qr", "slogdet", "solve",
        "solve_triangular", "svd", "svdvals", "trace",
    ),
    "nnet": ("log_softmax", "relu", "softmax"),
    "padding": ("pad",),
    "quantiles": ("median", "percentile", "quantile"),
    "sorting": ("argsort", "bincount", "searchsorted", "sort"),
    "spacing": ("diff", "linspace"),
    "stacking": ("append", "column_stack", "dstack", "hstack", "vstack"),
    "statistics": ("logsumexp", "mean", "std", "var"),
    "variadic": ("clip", "divmod", "round", "switch", "where"),
}  # fmt: skip
_FILES = {name: file for file, names in _LATER.items() for name in names}
_MODULES = ("linalg", "nnet", "random")
_METHODS = {
    "creation": ("diagonal", "ones_like", "zeros_like"),
    "joining": ("repeat",),
    "linalg": ("trace",),
    "sorting": ("argsort", "searchsorted", "sort"),
    "statistics": ("mean", "std", "var"),
    "variadic": ("clip", "round"),
}

__all__ = sorted(
    {name for part in _PARTS for name in part.__all__} | {*_FILES, *_MODULES, "TensorType", "TensorVariable"}
)


def _file(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _file(name)  # which is an attribute from then on
    if name not in _FILES:
        from scanviz.tensor.other_names import missing

        raise missing(__name__, name)
    found = globals()[name] = getattr(_file(_FILES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


LATER["round"] = partial(_file, "variadic")
LATER.update({f"method:{name}": partial(_file, file) for file, names in _METHODS.items() for name in names})
_numpy_functions.PUBLIC.update({"": lambda: __all__, "linalg.": lambda: _file("linalg").__all__})
del _methods
