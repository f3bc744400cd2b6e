"""Programs as generated Python that calls an array library, shared by NumPy and CuPy.

A :class:`~scanviz.engine.backends.source.emitter.Library` says how an instruction is written and where arrays come from; names,
loops, stamps and planned memory are written here.
"""
