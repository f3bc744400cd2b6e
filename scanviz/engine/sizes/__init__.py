"""Symbolic sizes: one type, its facts and comparisons, and all arithmetic on it.

A size is an int or a :class:`~scanviz.engine.sizes.polynomial.Polynomial` of :mod:`~scanviz.engine.sizes.polynomial`, and
:mod:`~scanviz.engine.sizes.dims` calculates with them.  Graphs become sizes and sizes graphs in :mod:`scanviz.engine.ops.sizes`.
"""
