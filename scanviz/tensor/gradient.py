"""Derivatives under the names of old scripts: ``T.grad``, ``T.Lop``, ``T.Rop``, ``T.jacobian``, ``T.hessian``."""

from scanviz.engine.gradient.grad import grad
from scanviz.engine.gradient.jacobian import hessian, jacobian
from scanviz.engine.gradient.operators import Lop, Rop

__all__ = ["Lop", "Rop", "grad", "hessian", "jacobian"]
