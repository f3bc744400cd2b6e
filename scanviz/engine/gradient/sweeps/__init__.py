"""Through a graph: cotangents from its outputs to its inputs, tangents from its inputs to its outputs.

:mod:`~scanviz.engine.gradient.sweeps.reverse` is the file to read first.  Rows say what one operation does to them.
"""
