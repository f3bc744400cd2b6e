"""Backends: tiers that run a Program.  :mod:`scanviz.engine.backends.base` has the protocol.

``reference`` calls NumPy instruction by instruction; it is the oracle of the others.  ``numpy`` generates Python source, ``native``
machine code, ``cupy`` source for a GPU.  ``auto`` begins on NumPy and changes to machine code where that pays.
"""
