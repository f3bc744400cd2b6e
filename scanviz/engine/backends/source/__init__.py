"""Programs as generated Python that calls an array library, shared by NumPy and CuPy.

A :class:`~scanviz.engine.backends.source.emitter.Library` writes instructions and allocates arrays; names, loops,
stamps and planned memory are written here.
"""
