"""Backends: what runs a Program. See :mod:`scanviz.engine.backends.base` for what one must offer.

``reference`` calls NumPy instruction by instruction and is what others are tested against; ``numpy`` writes Python source,
``native`` machine code, ``cupy`` source for a GPU; ``auto`` begins on NumPy and changes to machine code where that pays.
"""
