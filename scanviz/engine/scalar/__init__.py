"""The scalar expression language of elementwise operations: one element's formula, for every way to compute it.

A formula (:mod:`~scanviz.engine.scalar.formula`) is written once over :mod:`~scanviz.engine.scalar.expression`; given dtypes it is
a block of lines (:mod:`~scanviz.engine.scalar.blocks`), which NumPy, LLVM and CUDA print in their own ways, and which derivatives
are derived from.
"""
