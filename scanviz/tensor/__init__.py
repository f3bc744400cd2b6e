"""Symbolic NumPy under NumPy's names: ``from scanviz import tensor as T``.

What a plain loop seldom needs is imported when it is first used, so that ``import scanviz`` stays fast.
"""

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from scanviz.engine.graph.nodes import Variable as TensorVariable  # noqa: F401  # public
from scanviz.engine.graph.syntax import LAZY
from scanviz.engine.graph.types import TensorType  # noqa: F401  # public
from scanviz.tensor import constructors as _constructors
from scanviz.tensor import elementwise as _elementwise

if TYPE_CHECKING:
    from scanviz.engine.gradient.grad import grad as grad
    from scanviz.engine.gradient.jacobian import hessian as hessian
    from scanviz.engine.gradient.jacobian import jacobian as jacobian
    from scanviz.engine.gradient.operators import Lop as Lop
    from scanviz.engine.gradient.operators import Rop as Rop
    from scanviz.engine.ops.assign import inc_subtensor as inc_subtensor
    from scanviz.engine.ops.assign import set_subtensor as set_subtensor
    from scanviz.engine.ops.control import ifelse as ifelse
    from scanviz.engine.ops.creation import arange as arange
    from scanviz.engine.ops.creation import eye as eye
    from scanviz.engine.ops.decompose import expm as expm
    from scanviz.engine.ops.decompose import svdvals as svdvals
    from scanviz.engine.ops.effects import Assert as Assert
    from scanviz.engine.ops.effects import Print as Print
    from scanviz.engine.ops.join import concatenate as concatenate
    from scanviz.engine.ops.join import repeat as repeat
    from scanviz.engine.ops.join import roll as roll
    from scanviz.engine.ops.join import split as split
    from scanviz.engine.ops.neural import log_softmax as log_softmax
    from scanviz.engine.ops.neural import softmax as softmax
    from scanviz.engine.ops.reduce import argmax as argmax
    from scanviz.engine.ops.reduce import argmin as argmin
    from scanviz.engine.ops.reduce import cumprod as cumprod
    from scanviz.engine.ops.reduce import cumsum as cumsum
    from scanviz.engine.ops.shape import alloc as alloc
    from scanviz.engine.ops.shape import dimshuffle as dimshuffle
    from scanviz.engine.ops.shape import shape as shape
    from scanviz.engine.ops.size_checks import specify_shape as specify_shape
    from scanviz.engine.ops.sort import argsort as argsort
    from scanviz.engine.ops.sort import bincount as bincount
    from scanviz.engine.ops.sort import searchsorted as searchsorted
    from scanviz.engine.ops.sort import sort as sort
    from scanviz.tensor import linalg as linalg
    from scanviz.tensor import nnet as nnet
    from scanviz.tensor import random as random
    from scanviz.tensor.constructors import *  # noqa: F403
    from scanviz.tensor.creation import *  # noqa: F403
    from scanviz.tensor.einstein import *  # noqa: F403
    from scanviz.tensor.elementwise import *  # noqa: F403
    from scanviz.tensor.indexing import *  # noqa: F403
    from scanviz.tensor.joining import *  # noqa: F403
    from scanviz.tensor.linalg import *  # noqa: F403
    from scanviz.tensor.nnet import relu as relu
    from scanviz.tensor.padding import *  # noqa: F403
    from scanviz.tensor.products import *  # noqa: F403
    from scanviz.tensor.quantiles import *  # noqa: F403
    from scanviz.tensor.reductions import *  # noqa: F403
    from scanviz.tensor.shapes import *  # noqa: F403
    from scanviz.tensor.spacing import *  # noqa: F403
    from scanviz.tensor.statistics import *  # noqa: F403
    from scanviz.tensor.variadic import *  # noqa: F403

_PARTS = (_constructors, _elementwise)
# Files that are imported when one of their names is first used; tests/tensor/test_later.py compares these with theirs.
_LAZY = {
    "creation": (
        "diag", "diagonal", "full", "full_like", "identity", "ones", "ones_like", "tri", "tril", "triu", "zeros", "zeros_like",
    ),
    "einstein": ("einsum",),
    "indexing": ("flatnonzero", "nonzero", "ravel_multi_index", "take", "take_along_axis", "unravel_index"),
    "joining": ("append", "column_stack", "dstack", "flip", "hstack", "stack", "tile", "vstack"),
    "linalg": ("trace",),
    "linalg.decompositions": ("eigh", "eigvalsh", "lstsq", "matrix_power", "pinv", "qr", "svd"),
    "linalg.norms": ("norm",),
    "nnet": ("relu",),
    "padding": ("pad",),
    "products": ("cross", "inner", "kron", "outer", "vdot"),
    "quantiles": ("median", "percentile", "quantile"),
    "reductions": ("all", "any", "max", "min", "prod", "sum"),
    "shapes": (
        "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "expand_dims", "flatten", "matrix_transpose", "moveaxis", "ravel",
        "reshape", "shape_padleft", "shape_padright", "size", "squeeze", "swapaxes", "transpose",
    ),
    "spacing": ("diff", "linspace"),
    "statistics": ("logsumexp", "mean", "std", "var"),
    "variadic": ("clip", "divmod", "round", "switch", "where"),
    ".engine.gradient.grad": ("grad",),
    ".engine.gradient.jacobian": ("hessian", "jacobian"),
    ".engine.gradient.operators": ("Lop", "Rop"),
    ".engine.ops.assign": ("inc_subtensor", "set_subtensor"),
    ".engine.ops.control": ("ifelse",),
    ".engine.ops.creation": ("arange", "eye"),
    ".engine.ops.decompose": ("expm", "svdvals"),
    ".engine.ops.effects": ("Assert", "Print"),
    ".engine.ops.factorise": ("cholesky", "det", "inv", "slogdet", "solve", "solve_triangular"),
    ".engine.ops.join": ("concatenate", "repeat", "roll", "split"),
    ".engine.ops.linalg": ("batched_dot", "dot", "matmul", "tensordot"),
    ".engine.ops.neural": ("log_softmax", "softmax"),
    ".engine.ops.reduce": ("argmax", "argmin", "cumprod", "cumsum"),
    ".engine.ops.shape": ("alloc", "dimshuffle", "shape"),
    ".engine.ops.size_checks": ("specify_shape",),
    ".engine.ops.sort": ("argsort", "bincount", "searchsorted", "sort"),
}  # fmt: skip
_FILES = {
    **dict.fromkeys(_constructors.__all__, "constructors"),
    **dict.fromkeys(_elementwise.__all__, "elementwise"),
    **{name: file for file, names in _LAZY.items() for name in names},
}
_MODULES = ("linalg", "nnet", "random")
# Of those files what gives Python's operators and methods of variables their meaning, as `graph.syntax` names them.
_MEANINGS = {
    "creation": ("method:diagonal", "method:ones_like", "method:zeros_like"),
    "indexing": ("iterate", "method:nonzero", "method:take"),
    "linalg": ("method:trace",),
    "methods": (
        "attribute:T", "attribute:broadcastable", "attribute:dtype", "attribute:mT", "attribute:ndim",
        "function_call", "function_name", "method:copy", "method:eval", "numpy_array", "numpy_function", "numpy_ufunc",
    ),
    "reductions": ("method:all", "method:any", "method:max", "method:min", "method:prod", "method:sum"),
    "shapes": (
        "attribute:shape", "attribute:size", "method:flatten", "method:ravel", "method:reshape", "method:squeeze",
        "method:swapaxes", "method:transpose",
    ),
    "statistics": ("method:mean", "method:std", "method:var"),
    "variadic": ("method:clip", "method:round", "round"),
    ".engine.ops.index": ("getitem",),
    ".engine.ops.join": ("method:repeat",),
    ".engine.ops.linalg": ("matmul", "method:dot"),
    ".engine.ops.reduce": ("method:argmax", "method:argmin", "method:cumprod", "method:cumsum"),
    ".engine.ops.shape": ("method:dimshuffle",),
    ".engine.ops.sort": ("method:argsort", "method:searchsorted", "method:sort"),
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


LAZY.update({name: partial(_file, file) for file, names in _MEANINGS.items() for name in names})
