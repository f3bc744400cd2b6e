"""Sweeps through a graph: cotangents from outputs to inputs, tangents from inputs to outputs.

:mod:`~scanviz.engine.gradient.sweeps.reverse` is the file to read first.  Rows define what one operation does to them.
"""
