"""Symbolic NumPy under NumPy's names: ``from scanviz import tensor as T``.

What a plain loop seldom needs is imported when it is first used, so that ``import scanviz`` stays fast.
"""

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from scanviz.engine.graph.nodes import Variable as TensorVariable  # noqa: F401  # public
from scanviz.engine.graph.syntax import LATER
from scanviz.engine.graph.types import TensorType  # noqa: F401  # public
from scanviz.tensor import constructors as _constructors
from scanviz.tensor import elementwise as _elementwise

if TYPE_CHECKING:
    from scanviz.engine.gradient.grad import grad  # noqa: F401
    from scanviz.engine.gradient.jacobian import hessian, jacobian  # noqa: F401
    from scanviz.engine.gradient.operators import Lop, Rop  # noqa: F401
    from scanviz.engine.ops.effects import Assert, Print  # noqa: F401
    from scanviz.tensor import linalg, nnet, random  # noqa: F401
    from scanviz.tensor.axes import *  # noqa: F403
    from scanviz.tensor.constructors import *  # noqa: F403
    from scanviz.tensor.creation import *  # noqa: F403
    from scanviz.tensor.einstein import *  # noqa: F403
    from scanviz.tensor.elementwise import *  # noqa: F403
    from scanviz.tensor.filling import *  # noqa: F403
    from scanviz.tensor.indexing import *  # noqa: F403
    from scanviz.tensor.joining import *  # noqa: F403
    from scanviz.tensor.linalg import *  # noqa: F403
    from scanviz.tensor.nnet import log_softmax, relu, softmax  # noqa: F401
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

_PARTS = (_constructors, _elementwise)
# Files that are imported when one of their names is first used; tests/tensor/test_later.py compares these with theirs.
_LATER = {
    "axes": (
        "atleast_1d", "atleast_2d", "atleast_3d", "dimshuffle", "expand_dims", "matrix_transpose", "moveaxis", "shape_padleft",
        "shape_padright", "squeeze", "swapaxes", "transpose",
    ),
    "creation": ("arange", "diag", "diagonal", "eye", "identity", "tri", "tril", "triu"),
    "einstein": ("einsum",),
    "filling": ("alloc", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"),
    "indexing": (
        "flatnonzero", "ifelse", "inc_subtensor", "nonzero", "ravel_multi_index", "set_subtensor", "take", "take_along_axis",
        "unravel_index",
    ),
    "joining": ("concatenate", "flip", "repeat", "roll", "split", "stack", "tile"),
    "linalg": (
        "cholesky", "det", "eigh", "eigvalsh", "expm", "inv", "lstsq", "matrix_power", "norm", "pinv", "qr", "slogdet", "solve",
        "solve_triangular", "svd", "svdvals", "trace",
    ),
    "nnet": ("log_softmax", "relu", "softmax"),
    "padding": ("pad",),
    "products": ("batched_dot", "cross", "dot", "inner", "kron", "matmul", "outer", "tensordot", "vdot"),
    "quantiles": ("median", "percentile", "quantile"),
    "reductions": ("all", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "min", "prod", "sum"),
    "shapes": ("broadcast_to", "flatten", "ravel", "reshape", "shape", "size", "specify_shape"),
    "sorting": ("argsort", "bincount", "searchsorted", "sort"),
    "spacing": ("diff", "linspace"),
    "stacking": ("append", "column_stack", "dstack", "hstack", "vstack"),
    "statistics": ("logsumexp", "mean", "std", "var"),
    "variadic": ("clip", "divmod", "round", "switch", "where"),
}  # fmt: skip
_OF_THE_ENGINE = {
    "gradient.grad": ("grad",),
    "gradient.jacobian": ("hessian", "jacobian"),
    "gradient.operators": ("Lop", "Rop"),
    "ops.effects": ("Assert", "Print"),
}
_FILES = {
    **{name: f".engine.{file}" for file, names in _OF_THE_ENGINE.items() for name in names},
    **dict.fromkeys(_constructors.__all__, "constructors"),
    **dict.fromkeys(_elementwise.__all__, "elementwise"),
    **{name: file for file, names in _LATER.items() for name in names},
}
_MODULES = ("linalg", "nnet", "random")
# Of those files what gives Python's operators and methods of variables their meaning, as `graph.syntax` names them.
_MEANINGS = {
    "axes": ("method:dimshuffle", "method:squeeze", "method:swapaxes", "method:transpose"),
    "creation": ("method:diagonal",),
    "filling": ("method:ones_like", "method:zeros_like"),
    "indexing": ("iterate", "method:nonzero", "method:take"),
    "joining": ("method:repeat",),
    "linalg": ("method:trace",),
    "methods": (
        "attribute:T", "attribute:broadcastable", "attribute:dtype", "attribute:mT", "attribute:ndim", "method:copy", "method:eval",
    ),
    "products": ("matmul", "method:dot"),
    "reductions": (
        "method:all", "method:any", "method:argmax", "method:argmin", "method:cumprod", "method:cumsum", "method:max", "method:min",
        "method:prod", "method:sum",
    ),
    "shapes": ("attribute:shape", "attribute:size", "method:flatten", "method:ravel", "method:reshape"),
    "sorting": ("method:argsort", "method:searchsorted", "method:sort"),
    "statistics": ("method:mean", "method:std", "method:var"),
    "variadic": ("method:clip", "method:round", "round"),
}  # fmt: skip

__all__ = sorted(
    {name for part in _PARTS for name in part.__all__} | {*_FILES, *_MODULES, "TensorType", "TensorVariable"}
)


def _file(name: str) -> Any:
    return importlib.import_module(f".{name}", __name__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _file(name)  # which is an attribute from then on
    if name not in _FILES:
        from scanviz.engine.other_names import missing

        raise missing(__name__, name)
    found = globals()[name] = getattr(_file(_FILES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


def _numpy_functions() -> None:
    """Import what NumPy's functions do with a variable; its messages say what there is here."""
    _file("numpy_functions").PUBLIC.update({"": lambda: __all__, "linalg.": lambda: _file("linalg").__all__})


LATER["getitem"] = partial(importlib.import_module, "scanviz.engine.ops.index")
LATER.update({name: partial(_file, file) for file, names in _MEANINGS.items() for name in names})
LATER.update(
    dict.fromkeys(
        ("function_call", "function_name", "numpy_array", "numpy_function", "numpy_ufunc"), _numpy_functions
    )
)
